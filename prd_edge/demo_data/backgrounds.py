"""What the objects lie on. Each function fills (height, width, 3) with values from 0 to 1."""

from __future__ import annotations

import colorsys
from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from PIL import Image

from prd_edge.demo_data.mesh import Array

Background = Callable[[Generator, int, int], Array]


def tone(rng: Generator) -> Array:
    """A colour that a table may have: mostly muted."""
    hue, value = rng.random(), rng.uniform(0.2, 0.95)
    return _rgb(hue, 0.5 * rng.random() ** 2, value)


def smooth_noise(rng: Generator, height: int, width: int, cells: tuple[int, int]) -> Array:
    """Random values at (rows, columns) of cells, blended smoothly over the picture."""
    coarse = Image.fromarray(rng.random(cells, dtype=np.float32))
    return np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC), dtype=np.float32)


def plain(rng: Generator, height: int, width: int) -> Array:
    return np.broadcast_to(tone(rng), (height, width, 3))


def gradient(rng: Generator, height: int, width: int) -> Array:
    return _blend(rng, smooth_noise(rng, height, width, (2, 2)))


def speckle(rng: Generator, height: int, width: int) -> Array:
    """Stone, terrazzo, anti-slip mat."""
    grain = int(rng.integers(1, 4))
    coarse = smooth_noise(rng, height, width, (height // grain, width // grain))
    return _near(rng, coarse - 0.5, rng.uniform(0.1, 0.35))


def wood(rng: Generator, height: int, width: int) -> Array:
    long, short = int(rng.integers(2, 5)), int(rng.integers(10, 30))
    waves = smooth_noise(rng, height, width, (short, long))
    fibre = smooth_noise(rng, height, width, (height // 2, 6))
    value = np.sin(9 * waves) * 0.3 + 0.5 * fibre
    brown = _rgb(rng.uniform(0.05, 0.11), rng.uniform(0.3, 0.6), 1.0)
    return (rng.uniform(0.35, 0.75) + 0.25 * value)[..., None] * brown


def fabric(rng: Generator, height: int, width: int) -> Array:
    down, right = _positions(height, width)
    pitch = rng.uniform(1.2, 2.8)
    weave = np.sin(pitch * down) * np.sin(pitch * right)
    folds = smooth_noise(rng, height, width, (4, 4)) - 0.5
    return _near(rng, 0.25 * weave + folds, rng.uniform(0.15, 0.35))


def tiles(rng: Generator, height: int, width: int) -> Array:
    side, joint = rng.uniform(25, 70), rng.uniform(1.5, 4)
    down, right = _positions(height, width)
    shift = rng.uniform(0, side, 2)
    gap = np.minimum((down + shift[0]) % side, (right + shift[1]) % side) < joint
    cloud = smooth_noise(rng, height, width, (6, 6))
    return np.where(gap[..., None], tone(rng), _near(rng, cloud - 0.5, 0.1))


def brushed(rng: Generator, height: int, width: int) -> Array:
    """Sheet metal with fine lines."""
    lines = smooth_noise(rng, height, width, (height, 3)) - 0.5
    sheen = smooth_noise(rng, height, width, (2, 4)) - 0.5
    value: Array = rng.uniform(0.4, 0.75) + 0.18 * lines + 0.4 * sheen
    return value[..., None] * (0.9 + 0.1 * tone(rng))


def marble(rng: Generator, height: int, width: int) -> Array:
    cloud = smooth_noise(rng, height, width, (4, 4))
    cloud = cloud + 0.5 * smooth_noise(rng, height, width, (9, 9))
    return _blend(rng, np.abs(np.sin(5 * cloud)) ** 0.5)


def stripes(rng: Generator, height: int, width: int) -> Array:
    """Printed paper, corrugated board, a striped cloth."""
    down, right = _positions(height, width)
    angle, period = rng.uniform(0, np.pi), rng.uniform(6, 40)
    wave = np.sin((down * np.cos(angle) + right * np.sin(angle)) * 2 * np.pi / period)
    return _blend(rng, np.clip(0.5 + rng.uniform(0.5, 3) * wave, 0, 1))


FAMILIAR: tuple[Background, ...] = (plain, gradient, speckle, wood, fabric)
UNSEEN: tuple[Background, ...] = (tiles, brushed, marble, stripes)


def _positions(height: int, width: int) -> tuple[Array, Array]:
    """How far down and how far right, to be combined by broadcasting."""
    return np.arange(height, dtype=np.float32)[:, None], np.arange(width, dtype=np.float32)


def _rgb(hue: float, saturation: float, value: float) -> Array:
    return np.array(colorsys.hsv_to_rgb(hue, saturation, value), dtype=np.float32)


def _blend(rng: Generator, share: Array) -> Array:
    first, second = tone(rng), tone(rng)
    return first + share[..., None] * (second - first)


def _near(rng: Generator, change: Array, amount: float) -> Array:
    return tone(rng) * (1 + 2 * amount * change[..., None])

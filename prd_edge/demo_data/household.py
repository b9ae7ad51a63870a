"""What a kitchen or a kiosk sorts; drawn like the hardware."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from prd_edge.demo_data.hardware import thread
from prd_edge.demo_data.mesh import Array, Material, Mesh, join, lathe, slab, tube


def bottle(rng: Generator, body: Material, cap: Material) -> Mesh:
    radius, neck = rng.uniform(0.3, 0.42), rng.uniform(0.1, 0.16)
    low, high, shoulder = rng.uniform(-0.7, -0.5), rng.uniform(-0.25, 0.05), rng.uniform(0.1, 0.4)
    bend = np.linspace(0, np.pi, 9)
    slope = neck + (radius - neck) * (1 + np.cos(bend)) / 2
    rise = shoulder + rng.uniform(0.25, 0.45) * bend / np.pi
    foot = [(0, -1), (radius * 0.92, -1), (radius, -0.95), (radius, low)]
    top = [(radius, high), *zip(slope, rise, strict=True), (neck, 0.85)]
    wide = neck * 1.25
    lid = [(neck, 0.82), (wide, 0.82), (wide, 1.0), (wide * 0.9, 1.03), (0, 1.03)]
    return join(_banded(foot, top, body, _either(rng, body, cap)), lathe(lid, cap))


def mug(rng: Generator, body: Material, band: Material) -> Mesh:
    radius, height, wall = rng.uniform(0.55, 0.72), rng.uniform(1.1, 1.6), 0.06
    base = radius * rng.uniform(0.75, 1.0)

    def side(level: Array) -> Array:
        return base + (radius - base) * level / height

    level = np.linspace(0.05, height, 8)
    outside = [(0, 0), (base * 0.95, 0), *zip(side(level), level, strict=True)]
    inside = [*zip(side(level) - wall, level, strict=True)][::-1]
    split = int(rng.integers(3, 8))
    cup = [*outside, *inside, (0, 0.06)]
    bend = np.linspace(-np.pi / 2, np.pi / 2, 13)
    level = height * (rng.uniform(0.48, 0.58) + 0.3 * np.sin(bend))
    away = side(level) - 0.03 + rng.uniform(0.3, 0.45) * np.cos(bend) ** 0.7
    handle = tube(np.stack([away, 0 * bend, level], axis=1), rng.uniform(0.06, 0.09), body)
    return join(_banded(cup[:split], cup[split:], body, _either(rng, body, band)), handle)


def bowl(rng: Generator, body: Material, band: Material) -> Mesh:
    """Some are deep and steep enough to pass for a mug whose handle is out of sight."""
    height, foot = rng.uniform(0.5, 1.2), rng.uniform(0.3, 0.6)
    share = np.linspace(0.0, 1.0, 13)
    radius = foot + (1 - foot) * np.sin(share * np.pi / 2) ** rng.uniform(0.7, 1.2)
    rise = height * share**1.4
    outside = [(0, -0.06), (foot, -0.06), *zip(radius, rise, strict=True)]
    inside = [*zip(radius - 0.06, rise + 0.03, strict=True)][::-1]
    cup, split = [*outside, *inside, (0, 0.03)], int(rng.integers(8, 14))
    return _banded(cup[:split], cup[split:], body, _either(rng, body, band))


def light_bulb(rng: Generator, glass: Material, metal: Material) -> Mesh:
    radius, neck = rng.uniform(0.5, 0.62), rng.uniform(0.2, 0.26)
    bend = np.linspace(np.pi * 0.72, 0, 25)
    globe = zip(radius * np.sin(bend), 1 - radius + radius * np.cos(bend), strict=True)
    profile = [(neck, -0.45), (neck * 1.05, -0.25), *globe]
    base = [(0, -0.98), (neck * 0.4, -0.97), (neck * 0.6, -0.88), (neck * 0.9, -0.85)]
    base += [*thread((neck, neck), (-0.83, -0.45), 4, 0.12), (neck, -0.42)]
    return join(lathe(profile, glass, segments=60), lathe(base, metal, segments=24, lead=0.05))


def spoon(rng: Generator, metal: Material, _: Material) -> Mesh:
    length, width, depth = rng.uniform(0.36, 0.44), rng.uniform(0.22, 0.3), rng.uniform(0.1, 0.2)
    share = np.linspace(0.0, 1.0, 7)
    under = [*zip(share, depth * share**2 - 0.03, strict=True)]
    inside = [*zip(0.97 * share, depth * share**2, strict=True)][::-1]
    scoop = lathe([*under, *inside], metal, segments=36).scaled(length, width, 1.0)
    return join(scoop, _handle(rng, metal, length * 0.93, depth - 0.06)).moved(x=-0.6)


def fork(rng: Generator, metal: Material, _: Material) -> Mesh:
    half, tines, lift = rng.uniform(0.17, 0.23), int(rng.integers(3, 5)), rng.uniform(0.05, 0.14)

    def edges(along: Array, centre: float, width: Array) -> list[Array]:
        rise = lift * (along / 0.4) ** 2
        return [np.stack([along, centre + side * width, rise], axis=1) for side in (1, -1)]

    root = rng.uniform(-0.1, 0.0)
    pitch = 2 * half / (tines - 0.35)
    along = np.linspace(-0.5, root, 7)
    width = 0.325 * pitch * np.linspace(0.6, 1.0, 7)
    centres = -half + pitch * (np.arange(tines) + 0.325)
    parts = [slab(edges(along, centre, width), 0.05, metal) for centre in centres]
    along = np.linspace(root, 0.42, 9)
    width = half * np.cos(np.linspace(0, 1.35, 9))
    palm = slab(edges(along, 0.0, width), 0.05, metal)
    return join(*parts, palm, _handle(rng, metal, 0.34, lift * 0.75)).moved(x=-0.6)


def _handle(rng: Generator, metal: Material, start: float, height: float) -> Mesh:
    """The same for fork and spoon: only the working end tells them apart."""
    share = np.linspace(0, 1, 12)
    along = start + (1.75 - start) * share
    half = rng.uniform(0.045, 0.06) + rng.uniform(0.02, 0.06) * share**2
    half[-1] *= 0.6
    bend = height * (1 - share) ** 2 + rng.uniform(0.0, 0.1) * np.sin(np.pi * share)
    edges = [np.stack([along, side * half, bend], axis=1) for side in (1, -1)]
    return slab(edges, 0.06, metal)


def _banded(
    lower: list[tuple[float, float]],
    upper: list[tuple[float, float]],
    body: Material,
    band: Material,
) -> Mesh:
    """A turned body with a belt of another material between its two parts."""
    belt = lathe([lower[-1], upper[0]], band)
    return join(lathe(lower, body), belt, lathe(upper, body))


def _either(rng: Generator, first: Material, second: Material) -> Material:
    return first if rng.random() < 0.5 else second

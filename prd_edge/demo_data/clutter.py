"""What lies about on a table, and what lies over the object that matters."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from prd_edge.demo_data.mesh import Array, Material, Mesh, lathe, rotation, slab, tube
from prd_edge.demo_data.objects import at_rest, random_material
from prd_edge.demo_data.render import Camera


def scattered(rng: Generator, count: int) -> list[Mesh]:
    """Blocks, balls, cones and cables around an object of two units, seldom in its way."""
    things = []
    for _ in range(count):
        angle, away = rng.uniform(0, 2 * np.pi), rng.uniform(1.4, 2.4)
        thing = _any_thing(rng, rng.uniform(0.2, 0.45))
        turned = at_rest(thing.turned(rotation(2, rng.uniform(0, 2 * np.pi))))
        things.append(turned.moved(away * np.cos(angle), away * np.sin(angle)))
    return things


def cover(rng: Generator, subject: Mesh, camera: Camera) -> Mesh:
    """A cable or a strip between camera and subject.

    It crosses some point of the subject at about right angles to the way there from the middle:
    so it never hides a long thing from end to end.
    """
    seen = subject.quads.reshape(-1, 3) @ camera.axes.T
    low, high = seen.min(axis=0), seen.max(axis=0)
    reach = float((high - low)[:2].max()) / 2
    material = random_material(rng)
    if rng.random() < 0.5:
        thing = tube(_wave(rng, 2.2 * reach), reach * rng.uniform(0.05, 0.12), material, segments=8)
    else:
        thing = _strip(2 * reach, reach * rng.uniform(0.08, 0.18), 0.03, material)
    point = seen[rng.integers(len(seen))]
    away_x, away_y, _ = point - (low + high) / 2
    turn = rotation(2, np.arctan2(away_x, -away_y) + rng.uniform(-0.4, 0.4))
    in_front = thing.turned(turn).moved(point[0], point[1], high[2] + 0.1)
    return in_front.turned(camera.axes.T)


def _any_thing(rng: Generator, size: float) -> Mesh:
    material = random_material(rng)
    match rng.integers(4):
        case 0:
            return _strip(size, size * rng.uniform(0.3, 1), size * rng.uniform(0.1, 1), material)
        case 1:
            bend = np.linspace(-np.pi / 2, np.pi / 2, 17)
            profile = size * np.stack([np.cos(bend), np.sin(bend)], axis=1)
            return lathe(profile, material, segments=32)
        case 2:
            return lathe([(size * 0.6, 0), (0, size * 1.6)], material, segments=24)
        case _:
            return tube(_wave(rng, size * 2), size * rng.uniform(0.1, 0.2), material, segments=8)


def _strip(length: float, half: float, thickness: float, material: Material) -> Mesh:
    """In several pieces: the painter sorts faces by their middles, so none may be too long."""
    along = np.linspace(-length, length, 12)
    edges = [np.stack([along, 0 * along + side], axis=1) for side in (half, -half)]
    return slab(edges, thickness, material)


def _wave(rng: Generator, length: float) -> Array:
    along = np.linspace(-1, 1, 16)
    swing = 0.15 * length * rng.uniform(0.2, 1.0) * np.sin(3 * along + rng.uniform(0, 6))
    return np.stack([length * along, swing, 0 * along], axis=1)

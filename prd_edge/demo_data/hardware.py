"""What a workshop sorts: one small function draws one kind of object.

Each is about two units long, takes its proportions from the random stream, and gets two
materials from outside, so that no colour belongs to a class.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from prd_edge.demo_data.mesh import Array, Material, Mesh, closed, join, lathe, slab


def circle(radius: float, count: int) -> Array:
    angle = np.arange(count) * 2 * np.pi / count
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def hexagon(across: float, count: int) -> Array:
    """A hexagon of `count` points at even angles, a multiple of six; `across` is to a corner."""
    angle = np.arange(count) * 2 * np.pi / count
    reach: Array = across * np.cos(np.pi / 6) / np.cos(angle % (np.pi / 3) - np.pi / 6)
    return reach[:, None] * circle(1.0, count)


def ring(outer: Array, inner: Array, thickness: float, material: Material) -> Mesh:
    return slab([closed(inner), closed(outer)], thickness, material, ring=True)


def thread(
    radii: tuple[float, float], heights: tuple[float, float], turns: int, depth: float
) -> list[tuple[float, float]]:
    """The zigzag profile of a thread, from the first radius and height to the second."""
    height = np.linspace(*heights, 2 * turns + 1)
    radius = np.linspace(*radii, 2 * turns + 1)
    radius[1::2] *= 1 - depth
    return list(zip(radius.tolist(), height.tolist(), strict=True))


def battery(rng: Generator, sleeve: Material, end: Material) -> Mesh:
    radius, split = rng.uniform(0.28, 0.42), rng.uniform(0.25, 0.6)
    body = lathe([(radius, -1), (radius, split)], sleeve)
    collar = lathe([(radius, split), (radius, 0.93), (radius * 0.93, 0.96)], end)
    steel = Material((0.75, 0.75, 0.74), gloss=0.6, metal=0.8)
    bottom = lathe([(0, -1), (radius * 0.95, -1), (radius, -0.97)], steel)
    tip = [(radius * 0.93, 0.96), (0.36 * radius, 0.96), (0.34 * radius, 1.09), (0, 1.1)]
    return join(body, collar, bottom, lathe(tip, steel))


def bolt(rng: Generator, metal: Material, _: Material) -> Mesh:
    """A hexagon head and a thick, straight, blunt shaft."""
    radius = rng.uniform(0.17, 0.26)
    head, height = radius * rng.uniform(1.7, 2.1), radius * rng.uniform(1.1, 1.5)
    plain = rng.uniform(0.0, 0.5)
    wound = thread((radius, radius), (-0.95, 0.8 - plain), int(rng.integers(11, 17)), 0.16)
    shaft = [(0.0, -1.0), (radius * 0.8, -1.0), *wound, (radius, 0.82)]
    top = 0.8 + height
    cap = [(0, 0.8), (head, 0.8), (head, top - 0.05), (head * 0.88, top), (0, top)]
    return join(lathe(shaft, metal, segments=24), lathe(cap, metal, segments=6))


def screw(rng: Generator, metal: Material, _: Material) -> Mesh:
    """A countersunk head with a cross, and a thin shaft that ends in a point."""
    radius = rng.uniform(0.13, 0.2)
    head = radius * rng.uniform(2.0, 2.5)
    wound = thread((radius, radius), (-0.6, rng.uniform(0.2, 0.6)), int(rng.integers(9, 14)), 0.3)
    shaft = [(0.0, -1.1), (radius * 0.5, -0.85), *wound, (radius * 0.85, 0.65)]
    cone = [(radius * 0.85, 0.65), (head, 0.96), (head, 1.0), (head * 0.66, 1.04)]
    face = lathe([(head * share, 1.04) for share in np.linspace(0.66, 0, 13)], metal, segments=72)
    off_axis = np.abs(face.quads.mean(axis=1)[:, :2]).min(axis=1)
    recess = np.where(off_axis < head * 0.1, 0.1, 1.0)[:, None]
    face = replace(face, colour=face.colour * recess)
    return join(lathe(shaft, metal, segments=24, lead=0.06), lathe(cone, metal), face)


def hex_nut(rng: Generator, metal: Material, _: Material) -> Mesh:
    hole = rng.uniform(0.48, 0.6)
    thickness = rng.uniform(0.4, 0.75)
    body = ring(hexagon(1.0, 36), circle(hole, 36), thickness, metal)
    wound = thread((hole, hole), (0.0, thickness * 0.9), 4, 0.12)
    return join(body, lathe(wound[::-1], metal))


def washer(rng: Generator, metal: Material, _: Material) -> Mesh:
    hole = rng.uniform(0.4, 0.62)
    return ring(circle(1.0, 48), circle(hole, 48), rng.uniform(0.06, 0.22), metal)


def gear(rng: Generator, metal: Material, hub: Material) -> Mesh:
    teeth, depth = int(rng.integers(9, 17)), rng.uniform(0.14, 0.24)
    step = np.array([0.0, 0.18, 0.32, 0.68, 0.82]) - 0.25
    level = 1 - depth * np.array([1.0, 1.0, 0.0, 0.0, 1.0])
    angle = (2 * np.pi / teeth * (np.arange(teeth)[:, None] + step)).ravel()
    direction = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    outer = np.tile(level, teeth)[:, None] * direction
    hole, thickness = rng.uniform(0.15, 0.4), rng.uniform(0.18, 0.4)
    body = ring(outer, hole * direction, thickness, metal)
    if rng.random() < 0.5:
        return body
    rim = hole + rng.uniform(0.1, 0.2)
    raised = ring(circle(rim, 30), circle(hole, 30), 0.15, hub)
    return join(body, raised.moved(z=thickness))


def key(rng: Generator, metal: Material, _: Material) -> Mesh:
    thickness, bow = 0.09, rng.uniform(0.36, 0.46)
    stretch = np.array([rng.uniform(0.8, 1.1), rng.uniform(0.9, 1.15)])
    outline = hexagon(bow, 30) if rng.random() < 0.35 else circle(bow, 30)
    head = ring(outline * stretch, circle(bow * rng.uniform(0.3, 0.55), 30), thickness, metal)
    half = rng.uniform(0.1, 0.15)
    along = np.linspace(bow * 0.8, 1.6, 26)
    cut = half * np.repeat(rng.uniform(-0.3, 1.0, 13), 2)
    cut[:6] = half
    cut[-2:] = -0.2 * half
    upper = np.stack([along, np.full(26, half)], axis=1)
    lower = np.stack([along, -cut], axis=1)
    return join(head, slab([upper, lower], thickness, metal)).moved(x=-0.6)

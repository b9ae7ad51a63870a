"""The classes of the demo, and what any object may be made of and how it may lie.

Four pairs are look-alikes on purpose: bolt and screw, washer and hex nut, mug and bowl, fork
and spoon. All classes share one range of materials.
"""

from __future__ import annotations

import colorsys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from prd_edge.demo_data import hardware, household
from prd_edge.demo_data.mesh import Material, Mesh, rotation


@dataclass(frozen=True)
class ObjectKind:
    build: Callable[[Generator, Material, Material], Mesh]
    stands: float = 1.0  # how often it stands as built; else it lies on its side


OBJECTS: dict[str, ObjectKind] = {
    "battery": ObjectKind(hardware.battery, stands=0.4),
    "bolt": ObjectKind(hardware.bolt, stands=0.1),
    "bottle": ObjectKind(household.bottle, stands=0.7),
    "bowl": ObjectKind(household.bowl),
    "fork": ObjectKind(household.fork),
    "gear": ObjectKind(hardware.gear),
    "hex-nut": ObjectKind(hardware.hex_nut),
    "key": ObjectKind(hardware.key),
    "light-bulb": ObjectKind(household.light_bulb, stands=0.1),
    "mug": ObjectKind(household.mug, stands=0.9),
    "screw": ObjectKind(hardware.screw, stands=0.1),
    "spoon": ObjectKind(household.spoon),
    "washer": ObjectKind(hardware.washer),
}


def random_object(name: str, rng: Generator) -> Mesh:
    """One specimen of the class at rest on the table, turned to any side."""
    kind = OBJECTS[name]
    mesh = kind.build(rng, random_material(rng), random_material(rng))
    if rng.random() > kind.stands:
        spin = rotation(2, rng.uniform(0, 2 * np.pi))
        mesh = mesh.turned(rotation(0, np.pi / 2 + rng.uniform(-0.15, 0.15)) @ spin)
    return at_rest(mesh.turned(rotation(2, rng.uniform(0, 2 * np.pi))))


def at_rest(mesh: Mesh) -> Mesh:
    """The mesh over the origin, its lowest point on the table."""
    low, high = mesh.quads.min(axis=(0, 1)), mesh.quads.max(axis=(0, 1))
    x, y, _ = -(low + high) / 2
    return mesh.moved(x, y, -low[2])


def random_material(rng: Generator) -> Material:
    """Steel, yellow metal, or anything that can be painted, glazed or moulded."""
    choice = rng.random()
    if choice < 0.3:
        return Material(_colour(rng, (0.5, 0.7), (0.0, 0.08), (0.55, 0.95)), 0.6, 0.85)
    if choice < 0.45:
        return Material(_colour(rng, (0.04, 0.14), (0.35, 0.65), (0.6, 0.95)), 0.55, 0.8)
    if choice < 0.6:
        return Material(_colour(rng, (0.0, 1.0), (0.0, 0.15), (0.12, 0.95)), rng.uniform(0.05, 0.5))
    return Material(_colour(rng, (0.0, 1.0), (0.3, 0.8), (0.3, 0.85)), rng.uniform(0.05, 0.6))


def _colour(
    rng: Generator,
    hue: tuple[float, float],
    saturation: tuple[float, float],
    value: tuple[float, float],
) -> tuple[float, float, float]:
    return colorsys.hsv_to_rgb(rng.uniform(*hue), rng.uniform(*saturation), rng.uniform(*value))

"""Solid shapes as sheets of four-sided faces.

Every solid here is a grid of points folded in space: a profile turned round an axis, a circle
pulled along a path, a plate between two edges. Faces look outward when the columns run
counter-clockwise round the direction of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Material:
    """What a surface does with light."""

    colour: tuple[float, float, float]  # 0 to 1
    gloss: float = 0.3  # strength and sharpness of highlights
    metal: float = 0.0  # how much of the light is mirrored rather than scattered


@dataclass(frozen=True)
class Mesh:
    """F faces, in painter's units: x right, y away, z up."""

    quads: Array  # (F, 4, 3)
    colour: Array  # (F, 3)
    gloss: Array  # (F,)
    metal: Array  # (F,)

    def turned(self, rotation: Array) -> Mesh:
        return replace(self, quads=self.quads @ rotation.T)

    def moved(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Mesh:
        return replace(self, quads=self.quads + np.array([x, y, z]))

    def scaled(self, x: float, y: float, z: float) -> Mesh:
        return replace(self, quads=self.quads * np.array([x, y, z]))

    def only(self, wanted: NDArray[np.bool_]) -> Mesh:
        parts = (self.quads, self.colour, self.gloss, self.metal)
        return Mesh(*(part[wanted] for part in parts))


def join(*meshes: Mesh) -> Mesh:
    return Mesh(
        quads=np.concatenate([mesh.quads for mesh in meshes]),
        colour=np.concatenate([mesh.colour for mesh in meshes]),
        gloss=np.concatenate([mesh.gloss for mesh in meshes]),
        metal=np.concatenate([mesh.metal for mesh in meshes]),
    )


def rotation(axis: int, angle: float) -> Array:
    """The matrix that turns by `angle` radians round axis 0, 1 or 2."""
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(3)
    matrix[first, first] = matrix[second, second] = np.cos(angle)
    matrix[first, second], matrix[second, first] = -np.sin(angle), np.sin(angle)
    return matrix


def sheet(points: Array, material: Material) -> Mesh:
    """The faces between neighbours of a (rows, columns, 3) grid of points."""
    corners = (points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1])
    quads = np.stack(corners, axis=2).reshape(-1, 4, 3)
    count = len(quads)
    return Mesh(
        quads=quads,
        colour=np.tile(np.array(material.colour), (count, 1)),
        gloss=np.full(count, material.gloss),
        metal=np.full(count, material.metal),
    )


def lathe(profile: ArrayLike, material: Material, *, segments: int = 48, lead: float = 0.0) -> Mesh:
    """(radius, height) pairs turned round the z axis, from the bottom up.

    `lead` is the rise in one turn, which makes rings into a thread.
    """
    radius, height = np.asarray(profile, dtype=float).T
    angle = np.linspace(0, 2 * np.pi, segments + 1)
    rise = height[:, None] + lead * angle / (2 * np.pi)
    flat = radius[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return sheet(np.concatenate([flat, rise[..., None]], axis=-1), material)


def tube(path: ArrayLike, radius: ArrayLike, material: Material, *, segments: int = 10) -> Mesh:
    """A circle pulled along a path of 3-D points; the ends are closed."""
    points = np.asarray(path, dtype=float)
    along = np.gradient(points, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    # Any direction that the path never takes will do to hang the circles on.
    reference = np.eye(3)[np.argmin(np.abs(along).max(axis=0))]
    side = np.cross(along, reference)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    other = np.cross(along, side)
    angle = np.linspace(0, 2 * np.pi, segments + 1)[:, None]
    circle = np.cos(angle) * side[:, None] + np.sin(angle) * other[:, None]
    reach = np.broadcast_to(np.asarray(radius, dtype=float), len(points))[:, None, None]
    return sheet(_closed_ends(points[:, None] + reach * circle), material)


def slab(
    edges: Sequence[ArrayLike], thickness: float, material: Material, *, ring: bool = False
) -> Mesh:
    """A plate between a left and a right edge, as seen when walking along; chamfered on top.

    Edges are 2-D, or 3-D to bend the plate. A ring runs counter-clockwise: its left edge is the
    hole.
    """
    left, right = (np.asarray(edge, dtype=float) for edge in edges)
    near, far = (np.pad(edge, ((0, 0), (0, 3 - edge.shape[1]))) for edge in (left, right))
    up = np.array([0.0, 0.0, thickness])
    across = far - near
    width = np.linalg.norm(across, axis=1, keepdims=True) + 1e-9
    inset = across / width * np.minimum(0.3 * thickness, 0.3 * width)
    shoulder = 0.7 * up
    section = [near, near + shoulder, near + inset + up, far - inset + up, far + shoulder, far]
    points = np.stack([*section, near], axis=1)
    return sheet(points if ring else _closed_ends(points), material)


def closed(outline: Array) -> Array:
    """The outline with its first point again at the end."""
    return np.concatenate([outline, outline[:1]])


def _closed_ends(points: Array) -> Array:
    """One more row at each end, drawn together to a point."""
    first, last = (np.broadcast_to(row[:-1].mean(axis=0), row.shape) for row in points[[0, -1]])
    return np.concatenate([first[None], points, last[None]])

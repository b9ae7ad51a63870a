"""Camera, light and painter: from solids to a picture, with shadows on the table."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from prd_edge.demo_data.mesh import Array, Mesh, rotation

DISTANCE = 6.0  # camera to object, in object sizes: some perspective, no fish-eye


@dataclass(frozen=True)
class Light:
    direction: Array  # unit vector towards the lamp
    colour: Array  # (3,), around 1
    ambient: float  # light from everywhere, as a share of all light
    softness: float  # blur of shadows, as a share of the picture


@dataclass(frozen=True)
class Camera:
    """Looks at the origin from `elevation` radians above the table."""

    elevation: float
    roll: float
    scale: float = 1.0  # pixels per unit
    centre: tuple[float, float] = (0.0, 0.0)  # pixels

    @property
    def axes(self) -> Array:
        """Rows: right, up, towards the camera."""
        sine, cosine = np.sin(self.elevation), np.cos(self.elevation)
        level = np.array([[1.0, 0.0, 0.0], [0.0, sine, cosine], [0.0, -cosine, sine]])
        axes: Array = rotation(2, self.roll) @ level
        return axes

    def project(self, points: Array) -> tuple[Array, Array]:
        """Pixel positions (…, 2) and nearness to the camera (…)."""
        seen = points @ self.axes.T
        nearness = np.minimum(seen[..., 2], 0.8 * DISTANCE)
        flat = seen[..., :2] * (DISTANCE / (DISTANCE - nearness))[..., None]
        return np.array(self.centre) + self.scale * flat * np.array([1.0, -1.0]), nearness

    def zoomed(self, factor: float) -> Camera:
        """The same view in pixels of another size."""
        x, y = self.centre
        return replace(self, scale=factor * self.scale, centre=(factor * x, factor * y))

    def framing(self, mesh: Mesh, size: float, centre: tuple[float, float]) -> Camera:
        """This camera, moved so that the mesh is `size` pixels long and sits at `centre`."""
        flat, _ = Camera(self.elevation, self.roll).project(mesh.quads)
        low, high = flat.min(axis=(0, 1)), flat.max(axis=(0, 1))
        scale = size / float((high - low).max())
        middle = scale * (low + high) / 2
        moved = (centre[0] - float(middle[0]), centre[1] - float(middle[1]))
        return Camera(self.elevation, self.roll, scale, moved)


def paint(picture: Image.Image, mesh: Mesh, camera: Camera, light: Light) -> None:
    """Draw the faces that the camera sees, far ones first."""
    position = camera.axes[2] * DISTANCE
    facing = ((position - mesh.quads[:, 0]) * _normals(mesh.quads)).sum(axis=1) > 0
    mesh = mesh.only(facing)
    flat, nearness = camera.project(mesh.quads)
    colours = _shade(mesh, position, light)
    order = np.argsort(nearness.mean(axis=1))
    draw = ImageDraw.Draw(picture)
    corners = flat.reshape(-1, 8)[order].tolist()
    for polygon, colour in zip(corners, colours[order].tolist(), strict=True):
        draw.polygon(polygon, fill=tuple(colour))


def shadow(mesh: Mesh, camera: Camera, light: Light, size: tuple[int, int]) -> Array:
    """1 where the lamp reaches the table, 0 where the mesh is in the way; (height, width)."""
    lit = mesh.quads[_normals(mesh.quads) @ light.direction > 0]
    ground = lit.copy()
    ground[..., :2] -= lit[..., 2:] * light.direction[:2] / light.direction[2]
    ground[..., 2] = 0.0
    coarse = (size[0] // 2, size[1] // 2)  # a blurred shape needs few pixels
    mask = Image.new("L", coarse, 255)
    draw = ImageDraw.Draw(mask)
    for polygon in camera.zoomed(0.5).project(ground)[0].reshape(-1, 8).tolist():
        draw.polygon(polygon, fill=0)
    mask = mask.filter(ImageFilter.GaussianBlur(light.softness * coarse[0]))
    return np.asarray(mask.resize(size, Image.Resampling.BILINEAR), dtype=np.float32) / 255


def _shade(mesh: Mesh, position: Array, light: Light) -> NDArray[np.uint8]:
    """What a camera at this position sees of each face: one colour."""
    normals, towards = _normals(mesh.quads), _unit(position - mesh.quads.mean(axis=1))
    # More of the ambient light comes from above than from below.
    scattered = light.ambient * (0.75 + 0.25 * normals[:, 2])
    scattered += (1.2 - light.ambient) * np.maximum(normals @ light.direction, 0)
    mirrored = 2 * (normals * towards).sum(axis=1)[:, None] * normals - towards
    lamp = np.maximum(mirrored @ light.direction, 0)
    # A room to mirror: pale above, dark below, with windows.
    room = 0.35 + 0.35 * mirrored[:, 2] + 0.25 * np.sin(4 * mirrored[:, 0] + 2 * mirrored[:, 2])
    polished = 0.3 * scattered + room + 0.5 * lamp**4
    body = scattered + mesh.metal * (polished - scattered)
    highlight = 0.8 * mesh.gloss * lamp ** (6 + 40 * mesh.gloss)
    shown: Array = (mesh.colour * body[:, None] + highlight[:, None]) * light.colour
    return (255 * np.clip(shown, 0, 1)).astype(np.uint8)


def _normals(quads: Array) -> Array:
    return _unit(np.cross(quads[:, 2] - quads[:, 0], quads[:, 3] - quads[:, 1]))


def _unit(vectors: Array) -> Array:
    length: Array = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))
    return vectors / (length + 1e-12)

"""One photograph: a table, an object, what lies about, and what a camera does to it."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.random import Generator
from PIL import Image, ImageFilter

from prd_edge.demo_data.backgrounds import FAMILIAR, UNSEEN, Background, smooth_noise
from prd_edge.demo_data.clutter import cover, scattered
from prd_edge.demo_data.mesh import Array, Mesh, join
from prd_edge.demo_data.objects import random_object
from prd_edge.demo_data.render import Camera, Light, paint, shadow

SIZES = (  # width, height
    (224, 224),
    (240, 180),
    (180, 240),
    (256, 192),
    (192, 256),
    (208, 208),
    (192, 192),
)
FINER = 2  # drawn larger, then reduced, for smooth edges


@dataclass(frozen=True)
class Conditions:
    """How far photographs may differ from one another."""

    backgrounds: tuple[Background, ...]
    elevation: tuple[float, float]  # degrees above the table
    roll: float  # degrees either way
    fill: tuple[float, float]  # length of the object, as a share of the shorter side
    off_centre: float  # share of the side, either way
    clutter: int  # at most so many things about
    covered: float  # how often something lies over the object
    exposure: tuple[float, float]
    blur: float  # at most, in pixels
    noise: float  # at most, as a share of white


TRAINING = Conditions(
    backgrounds=FAMILIAR,
    elevation=(30, 75),
    roll=12,
    fill=(0.6, 0.9),
    off_centre=0.07,
    clutter=3,
    covered=0.2,
    exposure=(0.8, 1.2),
    blur=1.0,
    noise=0.03,
)
HELD_OUT = Conditions(
    backgrounds=FAMILIAR + UNSEEN,
    elevation=(26, 82),
    roll=22,
    fill=(0.55, 0.95),
    off_centre=0.1,
    clutter=4,
    covered=0.25,
    exposure=(0.7, 1.3),
    blur=1.3,
    noise=0.04,
)


def any_size(rng: Generator) -> tuple[int, int]:
    return SIZES[rng.integers(len(SIZES))]


def photograph(
    name: str, size: tuple[int, int], conditions: Conditions, rng: Generator
) -> Image.Image:
    """An object of the named class, seen under the conditions."""
    width, height = size
    subject, light = random_object(name, rng), _any_light(rng)
    camera = _any_view(subject, size, conditions, rng)
    things = [subject, *scattered(rng, int(rng.integers(conditions.clutter + 1)))]
    if rng.random() < conditions.covered:
        things.append(cover(rng, subject, camera))
    everything = join(*things)

    table = conditions.backgrounds[rng.integers(len(conditions.backgrounds))](rng, height, width)
    darkness = rng.uniform(0.3, 0.7) * (1 - shadow(everything, camera, light, size))
    picture = _as_image(table * (1 - darkness[..., None]))
    picture = picture.resize((FINER * width, FINER * height), Image.Resampling.BILINEAR)
    paint(picture, everything, camera.zoomed(FINER), light)
    return _developed(picture.reduce(FINER), conditions, light, rng)


def _any_light(rng: Generator) -> Light:
    azimuth, height = rng.uniform(0, 2 * np.pi), np.radians(rng.uniform(35, 75))
    flat = np.cos(height)
    warm = rng.uniform(-0.1, 0.1)
    return Light(
        direction=np.array([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(height)]),
        colour=np.array([1 + warm, 1.0, 1 - warm]),
        ambient=rng.uniform(0.3, 0.55),
        softness=rng.uniform(0.01, 0.05),
    )


def _any_view(
    subject: Mesh, size: tuple[int, int], conditions: Conditions, rng: Generator
) -> Camera:
    elevation, roll = rng.uniform(*conditions.elevation), conditions.roll * rng.uniform(-1, 1)
    middle_x, middle_y = size * (0.5 + conditions.off_centre * rng.uniform(-1, 1, 2))
    length = min(size) * rng.uniform(*conditions.fill)
    camera = Camera(np.radians(elevation), np.radians(roll))
    return camera.framing(subject, length, (middle_x, middle_y))


def _developed(
    picture: Image.Image, conditions: Conditions, light: Light, rng: Generator
) -> Image.Image:
    """Focus, uneven light, exposure, sensor noise, and now and then a poor codec."""
    picture = picture.filter(ImageFilter.GaussianBlur(conditions.blur * rng.random() ** 2))
    width, height = picture.size
    lit = 0.8 + 0.4 * smooth_noise(rng, height, width, (2, 2))
    lit *= rng.uniform(*conditions.exposure)
    grain = rng.standard_normal((height, width), dtype=np.float32)
    grain *= conditions.noise * rng.random()
    values = np.asarray(picture) * (lit / 255)[..., None]
    values *= light.colour
    values += grain[..., None]
    picture = _as_image(values)
    if rng.random() < 0.25:
        squeezed = BytesIO()
        picture.save(squeezed, "JPEG", quality=int(rng.integers(25, 60)))
        picture = Image.open(squeezed).convert("RGB")
    return picture


def _as_image(values: Array) -> Image.Image:
    return Image.fromarray((np.clip(values, 0, 1) * np.float32(255)).astype(np.uint8))

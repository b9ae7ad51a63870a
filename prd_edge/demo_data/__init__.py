"""Two sessions of pictures and a test set, drawn here, so that the demo needs no download.

Nothing is copied from anywhere: solids of thirteen everyday objects are posed, lit and
photographed by the modules beside this one, with numpy and Pillow alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from prd_edge.demo_data.scene import HELD_OUT, SIZES, TRAINING, Conditions, any_size, photograph
from prd_edge.errors import InvalidInputError

SESSION_1 = ("battery", "bolt", "bottle", "gear", "key", "mug", "washer")
RETURNING = "mug"  # comes back in session 2, next to the bowl that looks like it
SESSION_2 = ("bowl", "fork", "hex-nut", "light-bulb", RETURNING, "screw", "spoon")
CLASSES = tuple(sorted({*SESSION_1, *SESSION_2}))

JPEG_QUALITY = 85


@dataclass(frozen=True)
class DemoData:
    """Where the pictures are: one folder a split, in it one folder a class."""

    session_1: Path
    session_2: Path
    test: Path
    images: int


@dataclass(frozen=True)
class _Plan:
    """One picture to be drawn."""

    split: str
    name: str
    index: int
    conditions: Conditions


def write_demo_data(
    target: Path,
    *,
    seed: int = 0,
    train_per_class: int = 20,
    test_per_class: int = 15,
    on_progress: Callable[[int, int], None] | None = None,
) -> DemoData:
    """Draw both sessions and the test set into `target`, a new or empty folder.

    The same seed gives the same pictures, with the same numpy and Pillow. `on_progress` is told
    after each picture how many are done, of how many.
    """
    for option, value, least in (
        ("seed", seed, 0),
        ("train_per_class", train_per_class, 1),
        ("test_per_class", test_per_class, 1),
    ):
        if value < least:
            raise InvalidInputError(f"{option} is {value}; it must be at least {least}")
    _require_empty(target)
    plans = [
        *_plans("session-1", SESSION_1, train_per_class, TRAINING),
        *_plans("session-2", SESSION_2, train_per_class, TRAINING),
        *_plans("test", CLASSES, test_per_class, HELD_OUT),
    ]
    for done, plan in enumerate(plans, start=1):
        _write(target, plan, seed)
        if on_progress is not None:
            on_progress(done, len(plans))
    return DemoData(target / "session-1", target / "session-2", target / "test", len(plans))


def write_session(target: Path, names: Sequence[str], per_class: int) -> Path:
    """Draw some classes of the first session alone; returns the session's folder."""
    for plan in _plans("session-1", names, per_class, TRAINING):
        _write(target, plan, seed=0)
    return target / "session-1"


def sample_images(count: int, seed: int = 0) -> list[NDArray[np.uint8]]:
    """Pictures of changing classes and sizes, for checks that need real-looking input."""
    images = []
    for index in range(count):
        name, size = CLASSES[index % len(CLASSES)], SIZES[index % len(SIZES)]
        rng = _stream(seed, "sample", name, index)
        images.append(np.array(photograph(name, size, HELD_OUT, rng)))
    return images


def _plans(split: str, names: Sequence[str], per_class: int, conditions: Conditions) -> list[_Plan]:
    return [_Plan(split, name, index, conditions) for name in names for index in range(per_class)]


def _write(target: Path, plan: _Plan, seed: int) -> None:
    rng = _stream(seed, plan.split, plan.name, plan.index)
    picture = photograph(plan.name, any_size(rng), plan.conditions, rng)
    path = target / plan.split / plan.name / f"{plan.name}-{plan.index:03}.jpg"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.save(path, quality=JPEG_QUALITY)
    except OSError as error:
        raise _unusable(target, error) from error


def _stream(seed: int, split: str, name: str, index: int) -> np.random.Generator:
    """A picture's own random numbers: no picture depends on which others are drawn."""
    return np.random.default_rng([seed, crc32(split.encode()), crc32(name.encode()), index])


def _require_empty(target: Path) -> None:
    try:
        in_use = target.exists() and (not target.is_dir() or any(target.iterdir()))
    except OSError as error:
        raise _unusable(target, error) from error
    if in_use:
        raise InvalidInputError(
            f"{target} exists and is not an empty folder; name one that does not exist yet, or "
            "empty it first"
        )


def _unusable(target: Path, error: OSError) -> InvalidInputError:
    return InvalidInputError(
        f"cannot write the demo images to {target}: {error.strerror or error}; name a folder that "
        "you may write to, on a disk with some 10 MB free"
    )

"""Pictures to fit an export on, or to check it with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prd_edge.demo_data import sample_images
from prd_edge.errors import ImageError, NoUsableDataError
from prd_edge.images import decode

Picture = NDArray[np.uint8]  # decoded, (H, W, 3)

_DEMO = 26  # two of each kind
_MOST = 500


def demo_pictures() -> list[Picture]:
    return sample_images(_DEMO)


def read_pictures(folder: Path) -> list[Picture]:
    """Those below a folder that can be read, in a fixed order, at most 500 of them."""
    if not folder.is_dir():
        raise NoUsableDataError(f"no folder {folder}; give one with pictures in it")
    found = list(islice(_readable(folder), _MOST))
    if not found:
        raise NoUsableDataError(f"{folder} holds no picture that can be read; give one that does")
    return found


def _readable(folder: Path) -> Iterator[Picture]:
    paths = sorted(
        Path(parent) / name
        for parent, _, names in os.walk(folder)
        for name in names
        if not name.startswith(".")
    )
    # Not class by class: a few of each say more than all of the first.
    order = np.random.default_rng(0).permutation(len(paths))
    for index in order:
        try:
            yield decode(paths[index])
        except ImageError:
            continue

"""Pictures to fit an export on, or to check it with. Decoded one at a time: they may be large."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prd_edge.demo_data import sample_images
from prd_edge.errors import ImageError, NoUsableDataError
from prd_edge.images import decode

Picture = NDArray[np.uint8]  # decoded, (H, W, 3)

_DEMO = 26  # two of each kind
_MOST_TO_FIT = 100
_MOST_TO_CHECK = 500


def demo_pictures() -> list[Picture]:
    return sample_images(_DEMO)


@dataclass(frozen=True)
class Pictures:
    """The first of some files that can be read; at least one. Can be gone through again."""

    folder: Path
    paths: tuple[Path, ...]
    most: int

    def __iter__(self) -> Iterator[Picture]:
        count = 0
        for count, picture in enumerate(islice(self._readable(), self.most), start=1):  # noqa: B007
            yield picture
        if not count:
            raise NoUsableDataError(
                f"{self.folder} holds no pictures that can be read; give a folder that does"
            )

    def _readable(self) -> Iterator[Picture]:
        for path in self.paths:
            try:
                yield decode(path)
            except ImageError:
                continue


def pictures_to_fit(folder: Path, *, all_of_them: bool) -> Pictures:
    """All below a folder, or every other one, if others are to be left to check with."""
    return Pictures(folder, _files(folder)[:: 1 if all_of_them else 2], _MOST_TO_FIT)


def pictures_to_check(folder: Path, *, fitted_on: bool = False) -> Pictures:
    """All below a folder, or those that were not fitted on."""
    return Pictures(folder, _files(folder)[1::2] if fitted_on else _files(folder), _MOST_TO_CHECK)


def _files(folder: Path) -> tuple[Path, ...]:
    """All visible ones below a folder, in an order that is fixed but not class by class: a few of
    each say more than all of the first."""
    if not os.path.isdir(folder):  # unlike Path's, never raises
        raise NoUsableDataError(f"no folder {folder}; give one with pictures in it")
    paths = []
    for parent, directories, names in os.walk(folder):
        directories[:] = [name for name in directories if not name.startswith(".")]
        paths += [Path(parent) / name for name in names if not name.startswith(".")]
    paths.sort()
    order = np.random.default_rng(0).permutation(len(paths))
    return tuple(paths[index] for index in order)

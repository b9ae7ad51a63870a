"""A session as the learner sees it: random views of pictures, from memory or made anew.

Three ways to hold one, all in memory only and gone when the session ends:

- `CachedViews`: trunk features of a few views of each picture, in half precision, with what the
  snapshot said of them. The usual way.
- `RecomputedViews`: the pictures are read again for every mini-batch, when views do not fit.
- `Squares`: preprocessed pixels, for an encoder that is trained whole and has no trunk.

`plain` gives the pictures themselves, all looks at one after another: (B L, …).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from prd_edge.learn.augment import random_views
from prd_edge.learn.learner import Views

FEWEST_VIEWS = 2


class View(NamedTuple):
    """Trunk features, and what the snapshot says in the dimensions that are trained."""

    features: np.ndarray  # float16 (C, h, w); (L, C, h, w) of the picture's own looks
    snapshot: np.ndarray | None  # float32 (D_t,)

    def size(self) -> int:
        return self.features.nbytes + (0 if self.snapshot is None else self.snapshot.nbytes)


class ViewStorage:
    """Grows picture by picture within a budget of bytes; gives up views when it gets tight.

    A view of all pictures is one array, so that giving it up frees its memory. The arrays are
    made for the most pictures there can be, but a system gives memory only to what is touched.
    """

    def __init__(self, budget: float, pictures: int | None) -> None:
        self._budget = budget
        self._pictures = pictures
        self._features: list[np.ndarray] = []  # one a view, the plain one first: (N, C, h, w)
        self._snapshots: list[np.ndarray | None] = []  # (N, D_t)
        self._count = 0
        self.is_full = False

    @property
    def random_views(self) -> int:
        return max(len(self._features) - 1, 0)

    def add(self, views: Sequence[View]) -> None:
        """The plain view of a picture, then its random ones."""
        if self.is_full:
            return
        if self._count == 0:
            self._allocate(views)
        while (self._count + 1) * self._row_bytes() > self._budget:
            if self.random_views <= FEWEST_VIEWS:
                break
            self._features.pop()
            self._snapshots.pop()
        fits = (self._count + 1) * self._row_bytes() <= self._budget
        if not fits or self._count == len(self._features[0]) or len(views) <= self.random_views:
            self._features, self._snapshots, self.is_full = [], [], True
            return
        for kept, snapshots, view in zip(self._features, self._snapshots, views, strict=False):
            kept[self._count] = view.features
            if snapshots is not None and view.snapshot is not None:
                snapshots[self._count] = view.snapshot
        self._count += 1

    def rows(self, rows: np.ndarray, classes: Tensor) -> CachedViews:
        """Views of the pictures that arrived at these positions."""
        return CachedViews(
            [torch.from_numpy(view) for view in self._features],
            [None if own is None else torch.from_numpy(own) for own in self._snapshots],
            torch.from_numpy(rows),
            classes,
        )

    def _allocate(self, views: Sequence[View]) -> None:
        row = sum(view.size() for view in views[: 1 + FEWEST_VIEWS])
        most = int(self._budget // row) + 1
        rows = most if self._pictures is None else min(most, self._pictures)
        for view in views:
            self._features.append(np.empty((rows, *view.features.shape), np.float16))
            own = view.snapshot
            self._snapshots.append(own if own is None else np.empty((rows, *own.shape), np.float32))

    def _row_bytes(self) -> int:
        return sum(
            features[0].nbytes + (0 if snapshots is None else snapshots[0].nbytes)
            for features, snapshots in zip(self._features, self._snapshots, strict=True)
        )


class CachedViews:
    def __init__(
        self,
        features: list[Tensor],
        snapshots: list[Tensor | None],
        rows: Tensor,
        classes: Tensor,
    ) -> None:
        self._features = features  # by view, the plain one first: float16 (pictures, C, h, w)
        self._snapshots = snapshots  # by view: (pictures, D_t)
        self._rows = rows  # (N,), of the pictures that belong to it
        self._classes = classes  # (N,)

    def __len__(self) -> int:
        return len(self._classes)

    def views(self, samples: Tensor, generator: Generator) -> Views:
        """Two different random views of each sample."""
        first, second = two_of(len(self._features) - 1, len(samples), generator)
        chosen = 1 + torch.cat([first, second])  # (2B,)
        both = torch.cat([samples, samples])
        rows = self._rows[both]
        features = torch.empty(len(both), *self._features[1].shape[1:], dtype=torch.float16)
        known = self._snapshots[1]
        snapshots = None if known is None else torch.empty(len(both), known.shape[1])
        for view in range(1, len(self._features)):
            places = (chosen == view).nonzero().squeeze(1)
            features[places] = self._features[view][rows[places]]
            own = self._snapshots[view]
            if snapshots is not None and own is not None:
                snapshots[places] = own[rows[places]]
        return Views(as_input(features), self._classes[both], snapshots)

    def plain(self, samples: Tensor) -> Tensor:
        return as_input(self._features[0][self._rows[samples]].flatten(0, 1))


class RecomputedViews:
    """Reads its pictures again every time: slow, and small."""

    def __init__(
        self,
        look: Callable[[Sequence[tuple[int, int | None]]], list[View]],
        rows: np.ndarray,
        classes: Tensor,
    ) -> None:
        """`look` gives a view of each (picture, seed): the plain one where there is no seed."""
        self._look = look
        self._rows = torch.from_numpy(rows)
        self._classes = classes

    def __len__(self) -> int:
        return len(self._classes)

    def views(self, samples: Tensor, generator: Generator) -> Views:
        both = torch.cat([samples, samples])
        seeds = torch.randint(2**62, both.shape, generator=generator)
        found = self._look(list(zip(self._rows[both].tolist(), seeds.tolist(), strict=True)))
        snapshots = [view.snapshot for view in found if view.snapshot is not None]
        return Views(
            _joined(found),
            self._classes[both],
            torch.from_numpy(np.stack(snapshots)) if snapshots else None,
        )

    def plain(self, samples: Tensor) -> Tensor:
        looks = self._look([(row, None) for row in self._rows[samples].tolist()])
        return as_input(torch.from_numpy(np.concatenate([own.features for own in looks])))


@dataclass(frozen=True)
class Squares:
    images: Tensor  # uint8 (pictures, L, S, S, 3): the looks at each
    classes: Tensor  # (N,)
    rows: Tensor | None = None  # (N,), of the pictures that belong to it; all where there are none

    def __len__(self) -> int:
        return len(self.classes)

    def views(self, samples: Tensor, generator: Generator) -> Views:
        both = torch.cat([samples, samples])
        return Views(random_views(self._looks(both)[:, 0], generator), self.classes[both])

    def plain(self, samples: Tensor) -> Tensor:
        return self._looks(samples).flatten(0, 1)

    def _looks(self, samples: Tensor) -> Tensor:
        return self.images[samples if self.rows is None else self.rows[samples]]


PreparedSession = CachedViews | RecomputedViews | Squares


def two_of(views: int, samples: int, generator: Generator) -> tuple[Tensor, Tensor]:
    """Two different views, counted from 0, for each sample."""
    first = torch.randint(views, (samples,), generator=generator)
    step = torch.randint(1, max(views, 2), (samples,), generator=generator)
    return first, (first + step) % views


def as_input(features: Tensor) -> Tensor:
    """Float, in the memory layout that convolutions on a CPU like best."""
    return features.float().contiguous(memory_format=torch.channels_last)


def _joined(views: list[View]) -> Tensor:
    return as_input(torch.from_numpy(np.stack([view.features for view in views])))

"""Pictures kept after their session, for methods that are allowed to. The device is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor, nn

from incremental.ground import Ground
from prd_edge.learn.learner import SessionData, Views


class Buffer:
    """At most so many pictures of each class, chosen at random, by their rows."""

    def __init__(self, per_class: int, seed: int) -> None:
        self.per_class = per_class
        self.random = np.random.default_rng(seed)
        self.rows = np.zeros(0, int)
        self.classes = np.zeros(0, int)
        self.bytes = 0

    def add(self, part: Any, rows: np.ndarray, classes: np.ndarray) -> None:
        """A class that comes back keeps what it has."""
        for own in np.setdiff1d(classes, self.classes):
            chosen = self.random.permutation(rows[classes == own])[: self.per_class]
            self.keep(part, chosen, own)

    def keep(self, part: Any, rows: np.ndarray, own: int) -> None:
        self.rows = np.concatenate([self.rows, rows])
        self.classes = np.concatenate([self.classes, np.full(len(rows), own)])
        self.bytes += len(rows) * part.squares[0].nbytes

    def beside(
        self,
        ground: Ground,
        part: Any,
        rows: np.ndarray,
        classes: np.ndarray,
        snapshot: nn.Module | None = None,
    ) -> SessionData:
        """A session of which half of every mini-batch comes from here, once there is something."""
        if not len(self.rows):
            return ground.session(part, rows, classes, snapshot)
        both = np.concatenate([rows, self.rows]), np.concatenate([classes, self.classes])
        return Replayed(ground.session(part, *both, snapshot), len(rows))


class Replayed:
    def __init__(self, data: SessionData, new: int) -> None:
        self._data = data  # the session's samples, then those of the buffer
        self._new = new

    def __len__(self) -> int:
        return self._new

    def views(self, samples: Tensor, generator: Generator) -> Views:
        old = len(self._data) - self._new
        replayed = self._new + torch.randint(old, samples.shape, generator=generator)
        return self._data.views(torch.cat([samples, replayed]), generator)


def new_and_replayed(views: Views) -> tuple[slice, slice]:
    """Where the two halves of a mini-batch of one view are."""
    half = len(views.classes) // 2
    return slice(0, half), slice(half, None)

"""What a method trains: a network, the inputs it takes, and for how long.

There are two: pixels and a network from scratch (pixels.py), as in the paper, and features of
frozen stages and the stages behind them (methods/trained.py), as on a device. Methods know neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from torch import Generator, Tensor, nn, randperm

from prd_edge.learn.learner import SessionData, Views, batches_an_epoch
from prd_edge.learn.recipes import Recipe


class Ground(Protocol):
    @property
    def width(self) -> int:
        """Of the last features, in which classes are told apart."""
        ...

    @property
    def contrasted(self) -> int:
        """Of all features that the network gives; the last ones come last."""
        ...

    def network(self, seed: int) -> nn.Module: ...

    def session(
        self, part: Any, rows: np.ndarray, classes: np.ndarray, snapshot: nn.Module | None = None
    ) -> SessionData:
        """`snapshot`: the network as it is now, where the method will ask what it says."""
        ...

    def features(self, network: nn.Module, part: Any, rows: np.ndarray) -> Tensor:
        """The last features of pictures as they are: (N,) to (N, width)."""
        ...

    def recipe(self, pictures: int, known: int) -> Recipe: ...

    def images(self, pictures: int, known: int) -> int:
        """How many to learn from, each counted as often as it is seen."""
        ...


def one_view_batches(
    data: SessionData, images: int, batch_size: int, generator: Generator
) -> Iterator[Views]:
    """One view of each picture, in batches, until so many have been seen."""
    for _ in range(max(1, round(images / len(data)))):
        order = randperm(len(data), generator=generator)[:images]
        for samples in order.tensor_split(batches_an_epoch(len(order), batch_size)):
            inputs, classes, _ = data.views(samples, generator)
            yield Views(*(both[: len(both) // 2] for both in (inputs, classes)))

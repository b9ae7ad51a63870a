"""The last stages of the encoder, trained on features of the frozen ones, which are on disk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Generator, Tensor

from incremental.data import START, Part
from prd_edge.encoders.wheel_weights import read_wheel_weights
from prd_edge.learn.encoders import Tail, load_module
from prd_edge.learn.learner import Views
from prd_edge.learn.recipes import EDGE, PAPER, Recipe
from prd_edge.learn.session_views import as_input, two_of

HEAD = 1280
WIDTH = 2304  # of all parts that the trained stages make
_AT_A_TIME = 32


def fresh_tail() -> Tail:
    encoder = load_module("efficientnet_lite0", read_wheel_weights())
    encoder.requires_grad_(False)
    tail = Tail(encoder, START)
    tail.requires_grad_(True)
    tail.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return tail.eval()


class TailGround:
    width = HEAD
    contrasted = WIDTH

    def network(self, seed: int) -> Tail:
        return fresh_tail()

    def session(
        self,
        part: Part,
        rows: np.ndarray,
        classes: np.ndarray,
        snapshot: Tail | None = None,
    ) -> CachedSession:
        """The snapshot is asked in every step instead."""
        return CachedSession(part, rows, classes)

    def features(self, network: Tail, part: Part, rows: np.ndarray) -> Tensor:
        return torch.from_numpy(outputs(network, part, rows))

    def recipe(self, pictures: int, known: int) -> Recipe:
        epochs = max(1, round(self.images(pictures, known) / pictures))
        return replace(PAPER, epochs=epochs, batch_size=EDGE.batch_size)

    def images(self, pictures: int, known: int) -> int:
        """In the first session as many as prd-edge learns from in a small one; later fewer, since
        more only makes rivals forget more."""
        return 2400 if known == 0 else 900


class CachedSession:
    """A session's random views as the learner takes them."""

    def __init__(self, part: Part, rows: np.ndarray, classes: np.ndarray) -> None:
        assert part.views is not None
        self._views = part.views
        self._looks = part.looks
        self._rows = rows
        self._classes = torch.from_numpy(classes)

    def __len__(self) -> int:
        return len(self._rows)

    def views(self, samples: Tensor, generator: Generator) -> Views:
        first, second = two_of(self._views.shape[1], len(samples), generator)
        both = torch.cat([samples, samples])
        chosen = torch.cat([first, second]).numpy()
        features = self._views[self._rows[both.numpy()], chosen]
        return Views(as_input(torch.from_numpy(features)), self._classes[both])

    def plain(self, samples: Tensor) -> Tensor:
        looks = torch.from_numpy(self._looks[self._rows[samples.numpy()]])
        return as_input(looks.flatten(0, 1))


@torch.inference_mode()
def outputs(tail: Tail, part: Part, rows: np.ndarray, width: int = HEAD) -> np.ndarray:
    """The last features of the tail, the mean over all looks: (N,) to (N, width)."""
    found = []
    for some in np.array_split(rows, max(1, len(rows) // _AT_A_TIME)):
        looks = torch.from_numpy(part.looks[some])  # (n, L, C, h, w)
        values = tail(as_input(looks.flatten(0, 1)))[:, -width:]
        found.append(values.view(*looks.shape[:2], width).mean(dim=1).numpy())
    return np.concatenate(found)

"""An encoder cut in two: a frozen trunk that onnxruntime runs once, a tail that torch trains.

Of a picture as it is, one run gives what the tail learns from and the embedding; of a random view,
what the tail learns from and, where it is needed, what the snapshot says of it: the tail as it was
before it was trained.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from prd_edge.inference import open_graph, run_outputs
from prd_edge.learn.cut import Cut
from prd_edge.learn.encoders import AnchoredEncoder, Encoder, StagedEncoder, Tail
from prd_edge.learn.onnx_writer import write_onnx

_NAME = "the encoder's trunk"


class Look(NamedTuple):
    features: np.ndarray  # float16: (L, C, h, w) of a picture's looks, (C, h, w) of a view
    output: np.ndarray | None  # float32: (D,) of a picture, (D_t,) of a view


class _Whole(nn.Module):
    """Features that enter the tail, and the embedding."""

    def __init__(self, encoder: Encoder, start: str) -> None:
        super().__init__()
        self.encoder = encoder
        self.start = start

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        return self.encoder.cut(images, self.start)


class _Features(nn.Module):
    """Features that enter the tail."""

    def __init__(self, encoder: StagedEncoder, start: str) -> None:
        super().__init__()
        self.encoder = encoder
        self.start = start

    def forward(self, images: Tensor) -> Tensor:
        features, _ = self.encoder.run(self.encoder.normalise(images), stop=self.start)
        return features


class _Snapshot(nn.Module):
    """The same, and the parts of the embedding that the tail makes of them."""

    def __init__(self, features: _Features, tail: Tail, embedded: slice) -> None:
        super().__init__()
        self.features = features
        self.tail = tail
        self.embedded = embedded

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        features = self.features(images)
        return features, torch.cat(self.tail.parts(features)[self.embedded], dim=1)


class Trunk:
    """The encoder as it is now, in onnxruntime; safe to call from many threads."""

    def __init__(self, cut: Cut, *, snapshot: bool) -> None:
        encoder = cut.encoder
        base = encoder.anchor if isinstance(encoder, AnchoredEncoder) else encoder
        features = _Features(base, cut.start)
        # What a fresh copy says need not be run to know.
        self._plain = _opened(_Whole(base if cut.is_fresh else encoder, cut.start))
        embedded = slice(-1, None) if isinstance(encoder, AnchoredEncoder) else slice(None)
        self._view = _opened(_Snapshot(features, cut.tail, embedded) if snapshot else features)

    def plain(self, looks: np.ndarray) -> Look:
        """A preprocessed picture, uint8 (L, S, S, 3), with its embedding."""
        features, embeddings = self._plain(looks)
        return Look(features.astype(np.float16), embeddings.mean(axis=0))

    def view(self, square: np.ndarray) -> Look:
        """A random view of one, uint8 (1, S, S, 3), with what the snapshot says of it."""
        features, *output = (values[0] for values in self._view(square))
        return Look(features.astype(np.float16), output[0] if output else None)


def _opened(module: nn.Module) -> Callable[[np.ndarray], list[np.ndarray]]:
    """The module in onnxruntime: images (N, S, S, 3) to its outputs (N, …)."""
    module.eval()
    with torch.inference_mode():
        outputs = module(torch.zeros(1, 32, 32, 3, dtype=torch.uint8))
    outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
    shapes = {
        f"output_{i}": ["N", output.shape[1], *("h", "w")[: output.ndim - 2]]
        for i, output in enumerate(outputs)
    }
    session = open_graph(write_onnx(module, shapes), _NAME, threads=1)
    return lambda images: run_outputs(session, _NAME, list(shapes), images)

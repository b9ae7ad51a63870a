"""An encoder cut in two: a frozen trunk that onnxruntime runs once, a tail that torch trains.

One run gives what the tail learns from, and what the whole encoder said before it was trained:
the picture's embedding, which for a random view is the answer of the frozen snapshot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import onnxruntime
import torch
from torch import Tensor, nn

from prd_edge.inference import open_graph
from prd_edge.learn.encoders import Encoder
from prd_edge.learn.onnx_writer import write_onnx


class TrunkOutput(NamedTuple):
    features: np.ndarray  # float16 (C, h, w)
    embedding: np.ndarray | None  # float32 (D,), where it was asked for


class _TrunkModule(nn.Module):
    def __init__(self, encoder: Encoder, start: str) -> None:
        super().__init__()
        self.encoder = encoder
        self.start = start

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        return self.encoder.cut(images, self.start)


class Trunk:
    """The encoder as it is now, in onnxruntime; safe to call from many threads."""

    def __init__(self, encoder: Encoder, start: str) -> None:
        module = _TrunkModule(encoder, start).eval()
        with torch.inference_mode():
            features, embedding = module(torch.zeros(1, 32, 32, 3, dtype=torch.uint8))
        shapes = {
            "features": ["N", features.shape[1], "h", "w"],
            "embedding": ["N", embedding.shape[1]],
        }
        self._session = open_graph(write_onnx(module, shapes), "the encoder's trunk", threads=1)
        self._only_what_is_asked = onnxruntime.RunOptions()
        self._only_what_is_asked.only_execute_path_to_fetches = True

    def __call__(self, square: np.ndarray, *, embedding: bool) -> TrunkOutput:
        """uint8 (1, S, S, 3)."""
        wanted = ["features", "embedding"] if embedding else ["features"]
        found = self._session.run(wanted, {"image": square}, self._only_what_is_asked)
        return TrunkOutput(found[0][0].astype(np.float16), found[1][0] if embedding else None)

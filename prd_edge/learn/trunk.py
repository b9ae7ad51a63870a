"""An encoder cut in two: a frozen trunk that onnxruntime runs once, a tail that torch trains.

Training sees the trunk's outputs only. They are kept in memory, in half precision, for a few
random views of each picture, and are gone when the session ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor, nn

from prd_edge.inference import open_graph
from prd_edge.learn.encoders import StagedEncoder
from prd_edge.learn.learner import Views
from prd_edge.learn.onnx_writer import write_onnx


class TrunkOutput(NamedTuple):
    """What the tail needs of one view."""

    features: np.ndarray  # float16 (C, h, w)
    early: np.ndarray  # float32 (E,), parts of the embedding pooled within the trunk


class _TrunkModule(nn.Module):
    def __init__(self, encoder: StagedEncoder, stop: str) -> None:
        super().__init__()
        self.encoder = encoder
        self.stop = stop

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        features, early = self.encoder.run(self.encoder.normalise(images), stop=self.stop)
        return features, *early


class Trunk:
    """The stages before `stop`, in onnxruntime; safe to call from many threads."""

    def __init__(self, encoder: StagedEncoder, stop: str) -> None:
        module = _TrunkModule(encoder, stop).eval()
        with torch.inference_mode():
            features, *early = module(torch.zeros(1, 32, 32, 3, dtype=torch.uint8))
        self._outputs = ["features", *(f"early_{i}" for i in range(len(early)))]
        shapes = [["N", features.shape[1], "h", "w"], *(["N", part.shape[1]] for part in early)]
        graph = write_onnx(module, dict(zip(self._outputs, shapes, strict=True)))
        self._session = open_graph(graph, "the encoder's trunk", threads=1)

    def __call__(self, square: np.ndarray) -> TrunkOutput:
        """uint8 (1, S, S, 3)."""
        features, *early = self._session.run(self._outputs, {"image": square})
        empty = np.zeros(0, np.float32)
        return TrunkOutput(
            features[0].astype(np.float16), np.concatenate([empty, *(e[0] for e in early)])
        )


class TailInput(NamedTuple):
    features: Tensor  # float16 (B, C, h, w)
    early: Tensor  # (B, E)


class Tail(nn.Module):
    """The stages from `start` on: (B, C, h, w) and the early parts to embeddings (B, D).

    Batch normalisation keeps the statistics it has: a session is too small to measure new ones.
    """

    def __init__(self, encoder: StagedEncoder, start: str) -> None:
        super().__init__()
        self.encoder = encoder
        self.start = start
        encoder.requires_grad_(False)
        for _, modules in encoder.between(start):
            for module in modules:
                module.requires_grad_(True)

    def train(self, mode: bool = True) -> Tail:
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
        return self

    def forward(self, inputs: TailInput) -> Tensor:
        x = inputs.features.float().contiguous(memory_format=torch.channels_last)
        _, late = self.encoder.run(x, start=self.start)
        return torch.cat([inputs.early, *late], dim=1)


class CachedViews:
    """A session as the tail learns from it: V views of each of N pictures, the first one plain."""

    def __init__(self, views: list[list[TrunkOutput]], classes: Tensor) -> None:
        self.features = torch.from_numpy(
            np.stack([np.stack([v.features for v in own]) for own in views])
        )  # (N, V, C, h, w)
        self.early = torch.from_numpy(np.stack([np.stack([v.early for v in own]) for own in views]))
        self.classes = classes  # (N,)

    def __len__(self) -> int:
        return len(self.classes)

    def views(self, samples: Tensor, generator: Generator) -> Views:
        """Two different random views of each sample."""
        random = self.features.shape[1] - 1
        first = torch.randint(random, samples.shape, generator=generator)
        step = torch.randint(1, max(random, 2), samples.shape, generator=generator)
        chosen = 1 + torch.cat([first, (first + step) % random])
        both = torch.cat([samples, samples])
        inputs = TailInput(self.features[both, chosen], self.early[both, chosen])
        return Views(inputs, self.classes[both])

    def plain(self, samples: Tensor) -> TailInput:
        return TailInput(self.features[samples, 0], self.early[samples, 0])

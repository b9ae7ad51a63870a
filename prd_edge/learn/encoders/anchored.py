"""A frozen encoder with a second, trainable copy of its last stages beside the first.

    embedding = [every part of the anchor, the copy's last part]

The copy's earlier parts help to train it; in the embedding they add nothing to its last one.

What the anchor says of a picture never changes, so neither does what is known in its dimensions;
a session can only add to it.
"""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import Tensor, nn

from prd_edge.learn.encoders.staged import StagedEncoder
from prd_edge.learn.encoders.tail import Tail


class AnchoredEncoder(nn.Module):
    def __init__(self, anchor: StagedEncoder, start: str) -> None:
        super().__init__()
        self.anchor = anchor
        self.start = start
        self.adapted = Tail(deepcopy(anchor), start)

    def forward(self, images: Tensor) -> Tensor:
        """uint8 images (N, S, S, 3) to embeddings (N, D)."""
        return self.cut(images, self.start)[1]

    def cut(self, images: Tensor, start: str) -> tuple[Tensor, Tensor]:
        """The features (N, C, h, w) that enter the copied stages, and the embedding (N, D)."""
        features, embedding = self.anchor.cut(images, start)
        return features, torch.cat([embedding, self.adapted.parts(features)[-1]], dim=1)

    @torch.inference_mode()
    def part_widths(self) -> tuple[int, ...]:
        """Widths of the embedding's parts. Call it in evaluation mode."""
        images = torch.zeros(1, 32, 32, 3, dtype=torch.uint8)
        features, _ = self.anchor.cut(images, self.start)
        return *self.anchor.part_widths(), self.adapted.parts(features)[-1].shape[1]

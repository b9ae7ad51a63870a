"""A frozen encoder with a second, trainable copy of its last stages beside the first.

    embedding = [each part before the copied stages, ½ (anchor's + copy's) of each part in them]

What the anchor says of a picture never changes, so half of every number that training can reach
stays as it was. The mean has as many dimensions as the anchor, and does better than both one
beside the other (docs/results.md).
"""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import Tensor, nn

from prd_edge.learn.encoders.staged import StagedEncoder
from prd_edge.learn.encoders.tail import Tail

COPYS_SHARE = 0.5  # in the mean


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
        features, early = self.anchor.run(self.anchor.normalise(images), stop=start)
        _, late = self.anchor.run(features, start=start)
        means = [
            (1 - COPYS_SHARE) * own + COPYS_SHARE * copys
            for own, copys in zip(late, self.adapted.parts(features), strict=True)
        ]
        return features, torch.cat([*early, *means], dim=1)

    def part_widths(self) -> tuple[int, ...]:
        """Widths of the embedding's parts. Call it in evaluation mode."""
        return self.anchor.part_widths()

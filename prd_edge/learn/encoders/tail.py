"""The last stages of an encoder, as a session trains them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from prd_edge.learn.encoders.staged import StagedEncoder

# They draw from the random state of the app, so that a seed would not settle the result.
_RANDOM = ("Dropout", "StochasticDepth")


class Tail(nn.Module):
    """Stages from `start` on: features (B, C, h, w) to the parts pooled in them (B, D_t).

    The modules are the encoder's own: training the tail trains the encoder. Batch normalisation
    keeps the statistics it has, because a session is too small to measure new ones; an encoder
    that is trained whole has none worth keeping. That one takes images (B, S, S, 3).
    """

    def __init__(self, encoder: StagedEncoder, start: str) -> None:
        super().__init__()
        stages = list(encoder.between(start))
        self.is_whole = start == next(iter(encoder.stages))
        self.normalise = encoder.normalise
        self.stages = nn.ModuleList(nn.ModuleList(modules) for _, modules in stages)
        self.names = [name for name, _ in stages]
        self.pools = encoder.pools

    def train(self, mode: bool = True) -> Tail:
        super().train(mode)
        for module in self.modules():
            frozen = isinstance(module, nn.BatchNorm2d) and not self.is_whole
            if frozen or type(module).__name__ in _RANDOM:
                module.eval()
        return self

    def forward(self, inputs: Tensor) -> Tensor:
        x = self.normalise(inputs) if self.is_whole else inputs
        return torch.cat(self.parts(x), dim=1)

    def parts(self, x: Tensor) -> list[Tensor]:
        """Each (B, C_s)."""
        parts = []
        for name, modules in zip(self.names, self.stages, strict=True):
            for module in modules:  # type: ignore[attr-defined]
                x = module(x)
            parts += self.pools(name, x)
        return parts

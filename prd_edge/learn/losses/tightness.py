"""Prototype learning without contrasts: each prototype follows its own class, and nothing else."""

from __future__ import annotations

import torch.nn.functional as F  # noqa: N812
from torch import Tensor


def prototype_tightness(prototypes: Tensor, features: Tensor, classes: Tensor) -> Tensor:
    """Turn each sample's own prototype towards it.

        L_p(X) = −1/|X| Σ_i cos(p_{y_i}, sg[f(x_i)])

    The stop-gradient keeps the encoder out of it; without a contrast no other prototype moves.
    `prototypes` (C, D), `features` (B, D), `classes` (B,) the rows of the samples' prototypes.
    """
    return -F.cosine_similarity(prototypes[classes], features.detach(), dim=1).mean()

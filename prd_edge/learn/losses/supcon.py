"""Supervised contrastive learning (Khosla et al. 2020), the term that shapes the encoder."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor


def supervised_contrastive(z: Tensor, labels: Tensor, *, temperature: float = 0.1) -> Tensor:
    """Pull views of one class together, push the others away.

        L_sc(X) = −1/|X| Σ_i 1/|A(i)| Σ_{p ∈ A(i)} log h(z_p, z_i) / Σ_{a ≠ i} h(z_a, z_i)

    with z = g∘f(x) and h(a, b) = exp(cos(a, b) / τ). A(i) are the other views of x_i and of its
    class. `z` (B, K) holds all views, one after another, `labels` (B,) their classes. A view
    without any positive adds nothing.
    """
    z = F.normalize(z, dim=1)
    itself = torch.eye(len(z), dtype=torch.bool, device=z.device)  # (B, B)
    similarity = (z @ z.T / temperature).masked_fill(itself, -torch.inf)  # (B, B)
    log_share = similarity - similarity.logsumexp(dim=1, keepdim=True)  # (B, B)
    positive = (labels[:, None] == labels[None, :]) & ~itself  # (B, B)
    count = positive.sum(dim=1)  # (B,)
    over_positives = log_share.masked_fill(~positive, 0.0).sum(dim=1) / count.clamp(min=1)
    return -over_positives.mean()

"""Elastic weight consolidation (Kirkpatrick et al. 2017): weights that mattered hardly move."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from incremental.methods.fine_tuning import FineTuning
from incremental.methods.trained import CachedSession, images_of
from prd_edge.learn.learner import Views

_STRENGTH = 5000.0
_FISHER_BATCHES = 10


class Ewc(FineTuning):
    """L = CE + λ/2 Σ_i F_i (θ_i − θ*_i)², F the squared gradients of the log-likelihood, summed
    over the sessions."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.fisher = [torch.zeros_like(p) for p in self.tail.parameters()]
        self.anchors = [p.detach().clone() for p in self.tail.parameters()]

    def loss(self, views: Views, known: int) -> Tensor:
        loss = super().loss(views, known)
        if known:
            for p, fisher, anchor in zip(
                self.tail.parameters(), self.fisher, self.anchors, strict=True
            ):
                loss = loss + 0.5 * _STRENGTH * (fisher * (p - anchor).square()).sum()
        return loss

    def end(self, data: CachedSession) -> None:
        parameters = list(self.tail.parameters())
        for number, views in enumerate(data.batches(images_of(0), self.generator)):
            if number == _FISHER_BATCHES:
                break
            loss = F.cross_entropy(self.logits(views.inputs), views.classes)
            gradients = torch.autograd.grad(loss, parameters)
            for fisher, gradient in zip(self.fisher, gradients, strict=True):
                fisher.add_(gradient.square(), alpha=1 / _FISHER_BATCHES)
        self.anchors = [p.detach().clone() for p in parameters]

    def state_bytes(self) -> int:
        return super().state_bytes() + 8 * sum(fisher.numel() for fisher in self.fisher)

"""Elastic weight consolidation (Kirkpatrick et al. 2017): weights that mattered hardly move."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from incremental.ground import Ground, one_view_batches
from incremental.methods.fine_tuning import FineTuning
from incremental.streams import Session, Stream
from prd_edge.learn.learner import SessionData, Views

_FISHER_BATCHES = 10


class Ewc(FineTuning):
    """L = CE + λ/2 Σ_i F_i (θ_i − θ*_i)², F the squared gradients of the loss of a few mini-batches
    (of each as a whole, not of each picture: λ is larger by about their size), summed over the
    sessions; θ are the network's weights."""

    def __init__(self, seed: int, ground: Ground, strength: float = 5000.0) -> None:
        super().__init__(seed, ground)
        self.strength = strength  # λ
        self.fisher = [torch.zeros_like(p) for p in self.network.parameters()]
        self.anchors = [p.detach().clone() for p in self.network.parameters()]

    def loss(self, views: Views, known: int) -> Tensor:
        loss = super().loss(views, known)
        if known:
            for p, fisher, anchor in zip(
                self.network.parameters(), self.fisher, self.anchors, strict=True
            ):
                loss = loss + 0.5 * self.strength * (fisher * (p - anchor).square()).sum()
        return loss

    def end(self, stream: Stream, session: Session, data: SessionData) -> None:
        parameters = list(self.network.parameters())
        recipe = self.ground.recipe(len(data), 0)
        images = self.ground.images(len(data), 0)
        batches = one_view_batches(data, images, recipe.batch_size, self.generator)
        for views, _ in zip(batches, range(_FISHER_BATCHES), strict=False):
            loss = F.cross_entropy(self.logits(views.inputs), views.classes)
            gradients = torch.autograd.grad(loss, parameters)
            for fisher, gradient in zip(self.fisher, gradients, strict=True):
                fisher.add_(gradient.square(), alpha=1 / _FISHER_BATCHES)
        self.anchors = [p.detach().clone() for p in parameters]

    def state_bytes(self) -> int:
        return super().state_bytes() + 8 * sum(fisher.numel() for fisher in self.fisher)

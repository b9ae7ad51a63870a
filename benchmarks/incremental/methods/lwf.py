"""Learning without forgetting (Li & Hoiem 2017): the old classes' answers to new pictures stay."""

from __future__ import annotations

from copy import deepcopy

import torch
import torch.nn.functional as F
from torch import Tensor

from incremental.methods.fine_tuning import FineTuning
from prd_edge.learn.learner import SessionData, Views
from prd_edge.learn.recipes import PAPER

_SOFTNESS = 2.0


class Lwf(FineTuning):
    """L = CE over new classes + T² KL(softmax(z_old / T) ‖ softmax(z / T)) over the others.

    New classes do not compete with old ones, whose weights would only be pushed away; a class that
    comes back does in mini-batches that have it.
    """

    def begin(self, data: SessionData, known: int) -> None:
        self.snapshot = deepcopy(self.network).requires_grad_(False)
        self.old_weights = self.weights.detach()[:known].clone()

    @torch.no_grad()
    def old_logits(self, inputs: Tensor) -> Tensor:
        """What the snapshot says of old classes."""
        said = self.snapshot(inputs)[:, -self.ground.width :]
        return F.normalize(said) @ F.normalize(self.old_weights).T / PAPER.temperature

    def loss(self, views: Views, known: int) -> Tensor:
        logits = self.logits(views.inputs)
        own = torch.unique(views.classes)
        among = torch.full((logits.shape[1],), -torch.inf)
        among[known:] = 0.0
        among[own] = 0.0
        loss = F.cross_entropy(logits + among, views.classes)
        if not known:
            return loss
        old = self.old_logits(views.inputs)
        log_p = (logits[:, :known] / _SOFTNESS).log_softmax(dim=1)
        return loss + _SOFTNESS**2 * F.kl_div(
            log_p, (old / _SOFTNESS).softmax(dim=1), reduction="batchmean"
        )

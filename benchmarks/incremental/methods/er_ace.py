"""ER-ACE (Caccia et al. 2022): new classes compete among themselves until they are replayed."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from incremental.methods.er import Er
from incremental.replay import new_and_replayed
from prd_edge.learn.learner import Views


class ErAce(Er):
    """L = CE(new, among the classes of the new half) + CE(replayed, among all classes)."""

    def loss(self, views: Views, known: int) -> Tensor:
        new, replayed = new_and_replayed(views)
        logits = self.logits(views.inputs)
        among = torch.full((logits.shape[1],), -1e9)
        among[views.classes[new]] = 0.0
        return F.cross_entropy(logits[new] + among, views.classes[new]) + F.cross_entropy(
            logits[replayed], views.classes[replayed]
        )

"""ER-AML (Caccia et al. 2022): new pictures shape the features, replayed ones the classifier."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from incremental.methods.er import Er
from incremental.replay import new_and_replayed
from prd_edge.learn.learner import Views
from prd_edge.learn.losses import supervised_contrastive
from prd_edge.learn.recipes import PAPER


class ErAml(Er):
    """L = L_sc(new) + CE(replayed, among all classes): new pictures are contrasted with each other,
    and push no old class away."""

    def loss(self, views: Views, known: int) -> Tensor:
        new, replayed = new_and_replayed(views)
        features = self.network(views.inputs)[:, -self.ground.width :]
        return supervised_contrastive(
            features[new], views.classes[new], temperature=PAPER.temperature
        ) + F.cross_entropy(self.compared(features[replayed]), views.classes[replayed])

"""iCaRL (Rebuffi et al. 2017): old answers are distilled, classes are the means of what is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from incremental.methods.base import unit
from incremental.methods.er import Er
from incremental.methods.lwf import Lwf
from incremental.streams import Session, Stream
from prd_edge.learn.learner import SessionData, Views


class Icarl(Er):
    """L = Σ_c BCE(σ(z_c), t_c), t_c what the snapshot said of old classes, 1 or 0 of new ones.

    score_c(x) = cos(f(x), mean of the unit features of what is kept of c); kept are, one after
    another, the pictures that bring their mean nearest to that of the class (herding).
    """

    begin, old_logits = Lwf.begin, Lwf.old_logits

    def data(self, stream: Stream, session: Session, classes: np.ndarray) -> SessionData:
        self.session_classes = classes
        rows = np.concatenate([session.rows, self.buffer.rows])
        return self.ground.session(
            stream.train, rows, np.concatenate([classes, self.buffer.classes])
        )

    def loss(self, views: Views, known: int) -> Tensor:
        logits = self.logits(views.inputs)
        targets = F.one_hot(views.classes, logits.shape[1]).float()
        if known:
            targets[:, :known] = self.old_logits(views.inputs).sigmoid()
            # A class that comes back is taught by its new pictures.
            returning = torch.isin(views.classes, torch.from_numpy(self.session_classes))
            targets[returning, views.classes[returning]] = 1.0
        return F.binary_cross_entropy_with_logits(logits, targets) * logits.shape[1]

    def end(self, stream: Stream, session: Session, data: SessionData) -> None:
        features = unit(self.features(stream.train, session.rows))
        for own in np.setdiff1d(self.session_classes, self.buffer.classes):
            places = np.flatnonzero(self.session_classes == own)
            chosen = places[_herded(features[places], self.buffer.per_class)]
            self.buffer.keep(stream.train, session.rows[chosen], own)
        kept = unit(self.features(stream.train, self.buffer.rows))
        self.means = np.stack(
            [kept[self.buffer.classes == c].mean(axis=0) for c in range(len(self.labels))]
        )

    def scores(self, part: Any, rows: np.ndarray) -> np.ndarray:
        return unit(self.features(part, rows)) @ unit(self.means).T


def _herded(features: np.ndarray, count: int) -> list[int]:
    wanted = features.mean(axis=0)
    chosen: list[int] = []
    total = np.zeros_like(wanted)
    for n in range(1, min(count, len(features)) + 1):
        gaps = np.linalg.norm(wanted - (total + features) / n, axis=1)
        gaps[chosen] = np.inf
        chosen.append(int(gaps.argmin()))
        total += features[chosen[-1]]
    return chosen

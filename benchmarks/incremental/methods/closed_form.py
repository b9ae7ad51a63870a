"""PRD's losses with prd-edge's closed form, on a network from scratch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from incremental.ground import Ground
from incremental.methods.base import unit
from incremental.methods.prd import Prd
from incremental.streams import Session, Stream
from prd_edge.bank import PrototypeBank
from prd_edge.learn.transport import transported
from prd_edge.readout import Readout


class ClosedForm(Prd):
    """Of the recipe `edge` all that needs no trained encoder: prototypes are class means, old ones
    follow by a ridge map, and the nearest is found in the metric of one shared covariance."""

    def __init__(self, seed: int, ground: Ground) -> None:
        super().__init__(seed, ground)
        self.bank = PrototypeBank.empty(ground.width)
        self.readout: Readout | None = None

    def learn(self, stream: Stream, session: Session) -> None:
        before = unit(self.features(stream.train, session.rows))
        # In the order in which the labels came; the bank's is its own.
        known = [self.bank.index(label) for label in self.labels]
        self.prototypes = torch.from_numpy(self.bank.prototypes()[known]).float()
        super().learn(stream, session)
        after = unit(self.features(stream.train, session.rows))
        if known:
            self.bank = transported(self.bank, before, after, slice(0, self.ground.width))
        self.bank = self.bank.add(after, [str(label) for label in session.labels])
        self.readout = Readout.of(self.bank)

    def scores(self, part: Any, rows: np.ndarray) -> np.ndarray:
        assert self.readout is not None
        scores = self.readout.scores(unit(self.features(part, rows)))
        return scores[:, [self.readout.labels.index(label) for label in self.labels]]

    def state_bytes(self) -> int:
        kept = {**self.bank.prototype_tensors(), **self.bank.covariance_tensors()}
        return sum(tensor.nbytes for tensor in kept.values())

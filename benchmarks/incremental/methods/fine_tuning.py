"""Fine-tuning: cross-entropy over all classes seen so far, nothing done against forgetting."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from incremental.data import Part
from incremental.methods.base import rows_of
from incremental.methods.trained import (
    HEAD,
    CachedSession,
    fresh_tail,
    images_of,
    outputs,
)
from incremental.streams import Session, Stream
from prd_edge.learn.learner import Views
from prd_edge.learn.recipes import EDGE


class FineTuning:
    """L = CE(cos(f(x), w_c) / τ, y)."""

    def __init__(self, seed: int) -> None:
        self.labels: list[str] = []
        self.tail = fresh_tail()
        self.weights = torch.zeros(0, HEAD)
        self.generator = torch.Generator().manual_seed(seed)

    def learn(self, stream: Stream, session: Session) -> None:
        known = len(self.labels)
        classes = rows_of(session.labels, self.labels)
        data = CachedSession(stream.train, session.rows, classes)
        fresh = torch.randn(len(self.labels) - known, HEAD, generator=self.generator)
        self.weights = torch.cat([self.weights, F.normalize(fresh, dim=1)]).requires_grad_()
        self.begin(data, known)
        parameters = [*self.tail.parameters(), self.weights]
        optimiser = torch.optim.SGD(parameters, lr=EDGE.learning_rate, momentum=EDGE.momentum)
        self.tail.train()
        for views in data.batches(images_of(known), self.generator):
            optimiser.zero_grad(set_to_none=True)
            self.loss(views, known).backward()
            optimiser.step()
        self.tail.eval()
        self.weights = self.weights.detach()
        self.end(data)

    def logits(self, inputs: Tensor) -> Tensor:
        features = self.tail(inputs)[:, -HEAD:]
        return F.normalize(features) @ F.normalize(self.weights).T / EDGE.temperature

    def begin(self, data: CachedSession, known: int) -> None:
        """Before a session is learned."""

    def loss(self, views: Views, known: int) -> Tensor:
        return F.cross_entropy(self.logits(views.inputs), views.classes)

    def end(self, data: CachedSession) -> None:
        """After it."""

    def scores(self, part: Part, rows: np.ndarray) -> np.ndarray:
        features = torch.from_numpy(outputs(self.tail, part, rows))
        return (F.normalize(features) @ F.normalize(self.weights).T).numpy()

    def state_bytes(self) -> int:
        return 4 * self.weights.numel()

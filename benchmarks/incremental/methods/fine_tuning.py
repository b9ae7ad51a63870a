"""Fine-tuning: cross-entropy over all classes seen so far, nothing done against forgetting."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from incremental.ground import Ground, one_view_batches
from incremental.methods.base import rows_of
from incremental.streams import Session, Stream
from prd_edge.learn.learner import SessionData, Views
from prd_edge.learn.recipes import PAPER


class FineTuning:
    """L = CE(cos(f(x), w_c) / τ, y)."""

    def __init__(self, seed: int, ground: Ground) -> None:
        self.labels: list[str] = []
        self.ground = ground
        self.network = ground.network(seed)
        self.weights = torch.zeros(0, ground.width)
        self.generator = torch.Generator().manual_seed(seed)

    def learn(self, stream: Stream, session: Session) -> None:
        known = len(self.labels)
        classes = rows_of(session.labels, self.labels)
        data = self.data(stream, session, classes)
        shape = (len(self.labels) - known, self.ground.width)
        fresh = torch.randn(*shape, generator=self.generator)
        self.weights = torch.cat([self.weights, F.normalize(fresh, dim=1)]).requires_grad_()
        self.begin(data, known)
        recipe = self.ground.recipe(len(data), known)
        parameters = [*self.network.parameters(), self.weights]
        optimiser = torch.optim.SGD(parameters, lr=recipe.learning_rate, momentum=recipe.momentum)
        self.network.train()
        images = self.ground.images(len(data), known)
        for views in one_view_batches(data, images, recipe.batch_size, self.generator):
            optimiser.zero_grad(set_to_none=True)
            self.loss(views, known).backward()
            optimiser.step()
        self.network.eval()
        self.weights = self.weights.detach()
        self.end(stream, session, data)

    def data(self, stream: Stream, session: Session, classes: np.ndarray) -> SessionData:
        return self.ground.session(stream.train, session.rows, classes)

    def logits(self, inputs: Tensor) -> Tensor:
        return self.compared(self.network(inputs)[:, -self.ground.width :])

    def compared(self, features: Tensor) -> Tensor:
        return F.normalize(features) @ F.normalize(self.weights).T / PAPER.temperature

    def begin(self, data: SessionData, known: int) -> None:
        """Before a session is learned."""

    def loss(self, views: Views, known: int) -> Tensor:
        return F.cross_entropy(self.logits(views.inputs), views.classes)

    def end(self, stream: Stream, session: Session, data: SessionData) -> None:
        """After it."""

    def features(self, part: Any, rows: np.ndarray) -> np.ndarray:
        return self.ground.features(self.network, part, rows).numpy()

    def scores(self, part: Any, rows: np.ndarray) -> np.ndarray:
        return self.compared(torch.from_numpy(self.features(part, rows))).numpy()

    def state_bytes(self) -> int:
        return 4 * self.weights.numel()

"""PRD as the paper has it: trained in place, prototypes by gradient, cosine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from incremental.ground import Ground
from incremental.methods.base import rows_of, unit
from incremental.replay import Buffer
from incremental.streams import Session, Stream
from prd_edge.learn.learner import learn_session


class Prd:
    """L = L_sc + α L_p + β L_d; score_c(x) = cos(f(x), p_c).

    With replay half of every mini-batch comes from M pictures of each earlier class, and all three
    losses are of both halves.
    """

    def __init__(self, seed: int, ground: Ground, kept: int = 0, **changes: object) -> None:
        """`changes`: of the recipe."""
        self.labels: list[str] = []
        self.seed = seed
        self.ground = ground
        self.changes = changes
        self.network = ground.network(seed)
        self.prototypes = torch.zeros(0, ground.width)
        self.sessions = torch.zeros(0, dtype=torch.long)  # in which each came
        self.buffer = Buffer(kept, seed)

    def learn(self, stream: Stream, session: Session) -> None:
        known = len(self.labels)
        classes = rows_of(session.labels, self.labels)
        recipe = replace(self.ground.recipe(len(session.rows), known), **self.changes)
        snapshot = self.network if known and recipe.beta else None
        data = self.buffer.beside(self.ground, stream.train, session.rows, classes, snapshot)
        fresh = torch.zeros(len(self.labels) - known, self.ground.width)
        self.prototypes = learn_session(
            self.network,
            torch.cat([self.prototypes, fresh]),
            known,
            data,
            recipe,
            seed=1000 * self.seed + known,
            features=self.ground.contrasted,
            sessions=self.sessions,
        ).prototypes
        self.sessions = torch.cat([self.sessions, torch.full((len(fresh),), known)])
        self.buffer.add(stream.train, session.rows, classes)

    def features(self, part: Any, rows: np.ndarray) -> np.ndarray:
        return self.ground.features(self.network, part, rows).numpy()

    def scores(self, part: Any, rows: np.ndarray) -> np.ndarray:
        return unit(self.features(part, rows)) @ unit(self.prototypes.numpy()).T

    def state_bytes(self) -> int:
        return 4 * self.prototypes.numel() + self.buffer.bytes

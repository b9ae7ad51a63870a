"""PRD as the paper has it, on the same stages: trained in place, prototypes by gradient, cosine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F

from incremental.data import Part
from incremental.methods.base import rows_of
from incremental.methods.trained import (
    HEAD,
    CachedSession,
    epochs_of,
    fresh_tail,
    images_of,
    outputs,
)
from incremental.streams import Session, Stream
from prd_edge.learn.learner import learn_session
from prd_edge.learn.recipes import EDGE, PAPER


class Paper:
    """L = L_sc + α L_p + β L_d; score_c(x) = cos(f(x), p_c)."""

    def __init__(self, seed: int) -> None:
        self.labels: list[str] = []
        self.seed = seed
        self.tail = fresh_tail()
        self.prototypes = torch.zeros(0, HEAD)

    def learn(self, stream: Stream, session: Session) -> None:
        known = len(self.labels)
        classes = rows_of(session.labels, self.labels)
        data = CachedSession(stream.train, session.rows, classes)
        epochs = epochs_of(len(data), images_of(known))
        recipe = replace(PAPER, epochs=epochs, batch_size=EDGE.batch_size)
        rows = torch.cat([self.prototypes, torch.zeros(len(self.labels) - known, HEAD)])
        width = sum(part.shape[1] for part in self.tail.parts(data.plain(torch.arange(1))))
        self.prototypes = learn_session(
            self.tail, rows, known, data, recipe, seed=self.seed, features=width
        ).prototypes

    def scores(self, part: Part, rows: np.ndarray) -> np.ndarray:
        features = torch.from_numpy(outputs(self.tail, part, rows))
        return (F.normalize(features) @ F.normalize(self.prototypes).T).numpy()

    def state_bytes(self) -> int:
        return 4 * self.prototypes.numel()

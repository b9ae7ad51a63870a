"""Semantic drift compensation (Yu et al. 2020): old means follow the new pictures near them."""

from __future__ import annotations

from typing import Any

import numpy as np

from incremental.ground import Ground
from incremental.methods.base import rows_of, unit
from incremental.methods.prd import Prd
from incremental.streams import Session, Stream

_SIGMA = 0.3


class Sdc(Prd):
    """L = L_sc; then for every old mean, x the session's pictures, all features of unit length,

    p_c ← p_c + Σ_i w_i (f_t(x_i) − f_{t−1}(x_i)) / Σ_i w_i,
    w_i = exp(−‖f_{t−1}(x_i) − p_c‖² / 2σ²).
    """

    def __init__(self, seed: int, ground: Ground) -> None:
        super().__init__(seed, ground, alpha=0.0, beta=0.0)
        self.means = np.zeros((0, ground.width))

    def learn(self, stream: Stream, session: Session) -> None:
        known = len(self.labels)
        before = unit(self.features(stream.train, session.rows))
        super().learn(stream, session)
        after = unit(self.features(stream.train, session.rows))
        if known:
            self.means += drift(self.means, before, after)
        classes = rows_of(session.labels, self.labels)
        fresh = [after[classes == c].mean(axis=0) for c in range(known, len(self.labels))]
        self.means = np.concatenate([self.means, np.reshape(fresh, (-1, self.ground.width))])

    def scores(self, part: Any, rows: np.ndarray) -> np.ndarray:
        return unit(self.features(part, rows)) @ unit(self.means).T


def drift(means: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """(C, D), (N, D) and (N, D) to (C, D)."""
    lengths = np.square(means).sum(axis=1)[:, None] + np.square(before).sum(axis=1)
    distances = lengths - 2 * means @ before.T  # (C, N)
    # Only the proportions of the weights matter; the nearest has 1, so that the sum is not 0.
    weights = np.exp((distances.min(axis=1, keepdims=True) - distances) / (2 * _SIGMA**2))
    return weights @ (after - before) / weights.sum(axis=1, keepdims=True)

"""Closed-form heads on a frozen encoder: what a user would pick who does not train.

All see the encoder's own output, the mean over one look, 1280 numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from incremental.data import Part
from incremental.methods.base import rows_of, unit
from incremental.streams import Session, Stream

HEAD = 1280
_PROJECTIONS = 4000
_RIDGES = 10.0 ** np.arange(-3, 3)
_HELD_OUT = 5  # every fifth picture, to choose the ridge


def of_head(part: Part, rows: np.ndarray) -> np.ndarray:
    return part.usual[rows, -HEAD:].astype(np.float64)


def of_anchor(part: Part, rows: np.ndarray) -> np.ndarray:
    return part.anchor[rows].astype(np.float64)


class ClassMeans:
    """score_c(x) = cos(x, mean of class c)."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self.sums = np.zeros((0, HEAD))

    def learn(self, stream: Stream, session: Session) -> None:
        rows = rows_of(session.labels, self.labels)
        self.sums = _grown(self.sums, len(self.labels))
        np.add.at(self.sums, rows, of_head(stream.train, session.rows))

    def scores(self, part: Part, rows: np.ndarray) -> np.ndarray:
        return unit(of_head(part, rows)) @ unit(self.sums).T

    def state_bytes(self) -> int:
        return 4 * self.sums.size


class StreamingLda:
    """Hayes & Kanan 2020: Λ = [(1 − ε) Σ + ε I]⁻¹, score_c(x) = μ_cᵀ Λ x − ½ μ_cᵀ Λ μ_c.

    ε by the number of images, as prd-edge has it: their 10⁻⁴ does worse with so few.
    """

    def __init__(self, width: int = HEAD) -> None:
        self.labels: list[str] = []
        self.width = width
        self.counts = np.zeros(0)
        self.sums = np.zeros((0, width))
        self.moment = np.zeros((width, width))

    def features(self, part: Any, rows: np.ndarray) -> np.ndarray:
        return of_head(part, rows)

    def learn(self, stream: Stream, session: Session) -> None:
        rows = rows_of(session.labels, self.labels)
        x = self.features(stream.train, session.rows)
        self.counts = _grown(self.counts, len(self.labels))
        self.sums = _grown(self.sums, len(self.labels))
        np.add.at(self.counts, rows, 1)
        np.add.at(self.sums, rows, x)
        self.moment += x.T @ x
        self._solve()

    def _solve(self) -> None:
        means = self.sums / self.counts[:, None]
        within = (self.moment - (self.sums.T / self.counts) @ self.sums) / self.counts.sum()
        within /= np.trace(within) / self.width
        epsilon = self.width / (self.width + 5 * self.counts.sum())
        shrunk = (1 - epsilon) * within + epsilon * np.eye(self.width)
        self.weights = np.linalg.solve(shrunk, means.T)
        self.biases = -0.5 * (means * self.weights.T).sum(axis=1)

    def scores(self, part: Any, rows: np.ndarray) -> np.ndarray:
        return self.features(part, rows) @ self.weights + self.biases

    def state_bytes(self) -> int:
        return 4 * (self.sums.size + self.moment.size)


class RandomProjections:
    """RanPAC (McDonnell et al. 2023): h = ReLU(xᵀ R), score(x) = hᵀ (G + λ I)⁻¹ Q with
    G = Σ h hᵀ, Q = Σ h yᵀ; λ by the session's own hold-out."""

    def __init__(
        self, seed: int, features: Callable[[Part, np.ndarray], np.ndarray] = of_head
    ) -> None:
        self.labels: list[str] = []
        self.features = features
        self.random = np.random.default_rng(seed)
        self.projection: np.ndarray | None = None
        # Single precision: a ridge is added to whatever is solved.
        self.gram = np.zeros((_PROJECTIONS, _PROJECTIONS), np.float32)
        self.targets = np.zeros((0, _PROJECTIONS), np.float32)
        self.weights = np.zeros((_PROJECTIONS, 0), np.float32)

    def learn(self, stream: Stream, session: Session) -> None:
        rows = rows_of(session.labels, self.labels)
        h = self._projected(stream.train, session.rows)
        held = np.arange(len(h)) % _HELD_OUT == 0
        self.targets = _grown(self.targets, len(self.labels))
        self._add(h[~held], rows[~held])
        truth = np.eye(len(self.labels))[rows[held]]
        errors = [np.square(h[held] @ self._solved(r) - truth).mean() for r in _RIDGES]
        self._add(h[held], rows[held])
        self.weights = self._solved(_RIDGES[int(np.argmin(errors))])

    def _solved(self, ridge: float) -> np.ndarray:
        gram = self.gram.copy()
        gram[np.diag_indices(_PROJECTIONS)] += np.float32(ridge)
        return np.linalg.solve(gram, self.targets.T)

    def _add(self, h: np.ndarray, rows: np.ndarray) -> None:
        self.gram += h.T @ h
        np.add.at(self.targets, rows, h)

    def _projected(self, part: Part, rows: np.ndarray) -> np.ndarray:
        x = self.features(part, rows).astype(np.float32)
        if self.projection is None:
            shape = (x.shape[1], _PROJECTIONS)
            self.projection = self.random.standard_normal(shape).astype(np.float32)
        return np.maximum(x @ self.projection, 0.0)

    def scores(self, part: Part, rows: np.ndarray) -> np.ndarray:
        return self._projected(part, rows) @ self.weights

    def state_bytes(self) -> int:
        return 4 * (self.gram.size + self.targets.size + self.weights.size)


def _grown(values: np.ndarray, count: int) -> np.ndarray:
    more = np.zeros((count - len(values), *values.shape[1:]), values.dtype)
    return np.concatenate([values, more])

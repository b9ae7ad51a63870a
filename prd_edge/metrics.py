"""Figures that evaluations are summed up in. numpy only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Confusion = Mapping[tuple[str, str | None], int]  # (truth, answer) -> images; None: unknown
BINS = 15


class Bin(NamedTuple):
    """Answers of about the same confidence."""

    answers: int
    confidence: float  # their mean
    accuracy: float


def recall(confusion: Confusion) -> dict[str, float]:
    """Of each class that was asked about: the share of its images that were given its name."""
    totals: dict[str, int] = {}
    for (truth, _), n in confusion.items():
        totals[truth] = totals.get(truth, 0) + n
    return {c: confusion.get((c, c), 0) / n for c, n in sorted(totals.items()) if n}


def precision(confusion: Confusion) -> dict[str, float]:
    """Of each class that was answered: the share of these answers that were right."""
    totals: dict[str, int] = {}
    for (_, answer), n in confusion.items():
        if answer is not None:
            totals[answer] = totals.get(answer, 0) + n
    return {c: confusion.get((c, c), 0) / n for c, n in sorted(totals.items()) if n}


def reliability(confidences: ArrayLike, right: ArrayLike) -> list[Bin]:
    """Confidence beside accuracy in fifteen bins of equal width; empty ones are left out."""
    sure, is_right = np.asarray(confidences, np.float64), np.asarray(right, bool)
    # The product is rounded as single precision has it, in which confidences are given.
    bins = np.minimum((np.float32(BINS) * sure.astype(np.float32)).astype(int), BINS - 1)
    return [
        Bin(int(own.sum()), float(sure[own].mean()), float(is_right[own].mean()))
        for own in (bins == b for b in range(BINS))
        if own.any()
    ]


def calibration_error(confidences: ArrayLike, right: ArrayLike) -> float:
    """Expected calibration error: how far confidence is from accuracy,

    ECE = Σ_b |b| / N · |mean confidence in b − share of right answers in b|.
    """
    bins = reliability(confidences, right)
    gaps = sum(b.answers * abs(b.confidence - b.accuracy) for b in bins)
    return gaps / sum(b.answers for b in bins)


def auroc(known: ArrayLike, unknown: ArrayLike) -> float:
    """The chance that a known one has the larger value; ties count half."""
    first, second = np.asarray(known, np.float64), np.asarray(unknown, np.float64)
    _, place, counts = np.unique(
        np.concatenate([first, second]), return_inverse=True, return_counts=True
    )
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    of_known = ranks[: len(first)].sum() - len(first) * (len(first) + 1) / 2
    return float(of_known / (len(first) * len(second)))


# Along a course of sessions: R[i][j] is the accuracy after step i on what came first at step
# since[j]; a row may end where nothing is known yet.
Matrix = Sequence[Sequence[float]]


def forgetting(matrix: Matrix, since: Sequence[int]) -> float:
    """Mean over what came before the last step of how far the last accuracy is below the best."""
    last = len(matrix) - 1
    drops = [
        max(matrix[i][j] for i in range(first, last)) - matrix[last][j]
        for j, first in enumerate(since)
        if first < last
    ]
    return float(np.mean(drops)) if drops else 0.0


def backward_transfer(matrix: Matrix, since: Sequence[int]) -> float:
    """Mean over the same of how far the last accuracy is above the first: below zero, later
    sessions have harmed."""
    last = len(matrix) - 1
    gains = [matrix[last][j] - matrix[first][j] for j, first in enumerate(since) if first < last]
    return float(np.mean(gains)) if gains else 0.0


def forward_transfer(matrix: Matrix, since: Sequence[int]) -> float:
    """Mean accuracy on what came after the first step, just before it came."""
    early = [
        matrix[first - 1][j] if j < len(matrix[first - 1]) else 0.0
        for j, first in enumerate(since)
        if first > 0
    ]
    return float(np.mean(early)) if early else 0.0

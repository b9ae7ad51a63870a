"""Pictures of one class that were taken in one go: near-copies of each other.

A burst of photographs of one thing teaches little more than one of them, and a held-out picture
whose twins were learned tells nothing about pictures still to come. So series are held out whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Two pictures nearer than this share of their class's median distance belong together. Grocery
# photographs come in series at it, CIFAR-100's do not (docs/results.md).
_NEAR = 0.65
_LARGEST_CLASS = 2000  # beyond it single pictures matter little, and all pairs cost much


def series_of(embeddings: NDArray[np.float32], labels: Sequence[str]) -> NDArray[np.int64]:
    """(N, D) and (N,) to (N,): a number for each series."""
    series = np.arange(len(labels))
    of_class = np.array(labels, dtype=object)
    for label in sorted(set(labels)):
        rows = np.flatnonzero(of_class == label)
        if 2 < len(rows) <= _LARGEST_CLASS:
            series[rows] = rows[_linked(embeddings[rows])]
    return series


def _linked(x: NDArray[np.float32]) -> NDArray[np.int64]:
    """Single linkage: (n, D) to the first member (n,) of each one's group."""
    squares = np.einsum("nd,nd->n", x, x)
    distances = squares[:, None] + squares - 2 * (x @ x.T)  # (n, n), squared
    typical = np.median(distances[np.triu_indices(len(x), 1)])
    near = distances < _NEAR**2 * typical
    first = np.full(len(x), -1)
    for start in range(len(x)):
        if first[start] >= 0:
            continue
        group = np.zeros(len(x), bool)
        group[start] = True
        while (grown := near[group].any(axis=0) | group).sum() > group.sum():
            group = grown
        first[group] = start
    return first

"""Is it one of the known classes at all? How much a picture is like the class it is given.

Seen from the middle g of all prototypes, in the metric of the readout, a picture lies some way
towards each prototype:

    r_c(x) = (x − g)ᵀ Σ⁻¹ (p_c − g) / (p_c − g)ᵀ Σ⁻¹ (p_c − g),      r_c(p_c) = 1,  r_c(g) = 0.

A picture of class a is near 1 for a and equally far from all others, which for prototypes on all
sides of the middle is r_c = −r_a / (C − 1); one of nothing known is a bit of everything:

    likeness(x) = r_a(x) − ½ √ mean_{c ≠ a} (r_c(x) + r_a(x) / (C − 1))²

It is free of units, so that one limit, the class's radius, keeps its meaning while the bank grows,
and it needs no more than the products w_c · x that the scores are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OTHERS = 0.5
_NO_LENGTH = 1e-9
_TYPICAL_IMAGES = 10.0  # how many held-out images the common mean counts for, in a class's own
_LOST_SHARE = 0.01  # of a class's pictures, at most about, are called unknown
_DEVIATIONS = 3.0
_PRIOR_DEVIATION, _PRIOR_IMAGES = 0.2, 10.0  # what is typical, and how many images it counts for


class Directions(NamedTuple):
    """From the middle to each prototype."""

    mean_weights: NDArray[np.float32]  # (D,): Σ⁻¹ g
    starts: NDArray[np.float32]  # (C,): (w_c − Σ⁻¹ g) · g
    lengths: NDArray[np.float32]  # (C,), squared; zero where a prototype is the middle itself

    @classmethod
    def of(cls, weights: NDArray[np.float64], products: NDArray[np.float64]) -> Directions:
        """Weights Σ⁻¹ p_c (C, D), and their products (C, C) with the prototypes."""
        if not len(weights):
            nothing = np.zeros(0, np.float32)
            return cls(np.zeros(weights.shape[1], np.float32), nothing, nothing)
        to_middle = products.mean(axis=0)
        middle = float(to_middle.mean())
        lengths = np.diag(products) - 2 * to_middle + middle
        lengths[lengths <= _NO_LENGTH * np.diag(products)] = 0.0
        return cls(
            weights.mean(axis=0).astype(np.float32),
            (to_middle - middle).astype(np.float32),
            lengths.astype(np.float32),
        )

    def rows(self, rows: Sequence[int]) -> Directions:
        return self._replace(starts=self.starts[rows], lengths=self.lengths[rows])

    def likeness(
        self,
        embeddings: NDArray[np.float32],
        products: NDArray[np.float32],
        answers: NDArray[np.int64],
    ) -> NDArray[np.float32]:
        """Embeddings (N, D), their products (N, C) with the weights and the class given to each
        (N,), to (N,). Where only one class is known there is nothing to compare: 1."""
        count = len(self.lengths)
        along = products - (embeddings @ self.mean_weights)[:, None] - self.starts  # (N, C)
        share = along / np.where(self.lengths > 0, self.lengths, np.inf).astype(np.float32)
        own = np.take_along_axis(share, answers[:, None], axis=1)  # (N, 1)
        rivals = max(count - 1, 1)
        off = share + own / rivals
        np.put_along_axis(off, answers[:, None], 0.0, axis=1)
        others = np.square(off).sum(axis=1) / rivals  # (N,)
        likeness = own[:, 0] - np.float32(_OTHERS) * np.sqrt(others)
        result: NDArray[np.float32] = np.where(
            self.lengths[answers] > 0, likeness, np.float32(1.0)
        ).astype(np.float32)
        return result


def fit_radii(
    likeness: NDArray[np.float32], labels: Sequence[str], session_labels: Sequence[str]
) -> dict[str, float]:
    """The radius of each of the session's classes, from held-out images of some of them.

    A class's own mean counts for as much as it has images; how far below it a picture of the class
    may fall is learned from all of them together.
    """
    if not len(labels):
        return {}
    common = float(likeness.mean())
    of_class = np.array(labels, dtype=object)
    means = {}
    below = np.empty(len(labels))
    for label in sorted(set(session_labels)):
        own = of_class == label
        total = float(likeness[own].sum()) + _TYPICAL_IMAGES * common
        means[label] = total / (int(own.sum()) + _TYPICAL_IMAGES)
        below[own] = likeness[own] - means[label]
    squares = float(np.square(below).sum()) + _PRIOR_IMAGES * _PRIOR_DEVIATION**2
    deviation = np.sqrt(squares / (len(below) + _PRIOR_IMAGES))
    reach = min(float(np.quantile(below, _LOST_SHARE)), -_DEVIATIONS * float(deviation))
    return {label: mean + reach for label, mean in means.items()}

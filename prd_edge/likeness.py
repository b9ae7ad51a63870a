"""Is it one of the known classes at all? How much a picture is like the class it is given.

Seen from the middle g of all prototypes, in the metric of the readout, a picture lies in some
direction, of which only the shadow it casts on the space of the prototypes can tell classes apart:

    u_c(x) = (x − g)ᵀ Σ⁻¹ (p_c − g),   G_cd = (p_c − g)ᵀ Σ⁻¹ (p_d − g),   shadow² = uᵀ G⁺ u.

A picture of class a lies in the direction of p_a; one of nothing known lies between the classes:

    likeness(x) = √(1 + κ) · u_a / √(G_aa (shadow² + (3 / C) G_aa))

is the cosine of the angle between the two, in which length counts as well while classes are few:
of two classes everything lies in the direction of either. The more classes there are, the longer
is the shadow of what is merely noise, in C − 1 dimensions. √(1 + κ), with

    κ = 3 / C + 3 (C − 1) · mean_c (1 / G_cc),

makes up for both, so that a typical picture of a known class stays near 1, and the limit that a
class was given, its radius, keeps its meaning while the bank grows (docs/results.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LENGTH = 3.0  # divided by the number of classes: how much length counts
_NOISE = 3.0  # squared, of a picture that was not learned, in each dimension of the shadow
_NO_LENGTH = 1e-9
_SMALLEST_EIGENVALUE = 1e-6  # of G, over the largest
_TYPICAL_IMAGES = 50.0  # how many held-out images the common mean counts for, in a class's own
_LOST_SHARE = 0.01  # of a class's pictures, at most about, are called unknown
_DEVIATIONS = 3.5
_PRIOR_DEVIATION, _PRIOR_IMAGES = 0.1, 10.0  # what is typical, and how many images it counts for


class Directions(NamedTuple):
    """From the middle to each prototype."""

    starts: NDArray[np.float32]  # (C,): gᵀ Σ⁻¹ (p_c − g)
    lengths: NDArray[np.float32]  # (C,): G_cc, zero where a prototype is the middle itself
    inverse: NDArray[np.float32]  # (C, C): G⁺

    @classmethod
    def of(cls, starts: NDArray[np.float64], gram: NDArray[np.float64]) -> Directions:
        """From the starts (C,) and G (C, C)."""
        lengths = np.diag(gram).copy()
        lengths[lengths <= _NO_LENGTH * max(float(np.abs(starts).max(initial=0.0)), _NO_LENGTH)] = 0
        has_length = bool(lengths.any())
        return cls(
            starts.astype(np.float32),
            lengths.astype(np.float32),
            _pseudo_inverse(gram) if has_length else np.zeros_like(gram, np.float32),
        )

    def rows(self, rows: Sequence[int]) -> Directions:
        gram = np.linalg.pinv(self.inverse.astype(np.float64), hermitian=True)
        return self._replace(
            starts=self.starts[rows],
            lengths=self.lengths[rows],
            inverse=_pseudo_inverse(gram[np.ix_(rows, rows)]),
        )

    def likeness(
        self,
        products: NDArray[np.float32],
        answers: NDArray[np.int64],
    ) -> NDArray[np.float32]:
        """The products (N, C) of embeddings with the readout's weights, and the class given to
        each (N,), to (N,). Where only one class is known there is nothing to compare: 1."""
        along = products - self.starts  # (N, C): u
        shadow = np.einsum("nc,nc->n", along @ self.inverse, along)  # (N,), squared
        lengths = self.lengths[answers]  # (N,)
        towards = np.take_along_axis(along, answers[:, None], axis=1)[:, 0]
        squares = lengths * (np.maximum(shadow, 0.0) + LENGTH / len(self.lengths) * lengths)
        cosines = towards / np.sqrt(np.where(lengths > 0, squares, 1.0))
        result: NDArray[np.float32] = np.where(
            lengths > 0, np.sqrt(1 + self.typical()) * cosines, 1.0
        ).astype(np.float32)
        return result

    def typical(self) -> float:
        """κ: what the squared tangent of a known picture's angle is like."""
        lengths = self.lengths[self.lengths > 0].astype(np.float64)
        count = len(self.lengths)
        noise = float((1.0 / lengths).mean()) if len(lengths) else 0.0
        return LENGTH / count + _NOISE * (count - 1) * noise


def _pseudo_inverse(gram: NDArray[np.float64]) -> NDArray[np.float32]:
    result: NDArray[np.float32] = np.linalg.pinv(
        gram, rcond=_SMALLEST_EIGENVALUE, hermitian=True
    ).astype(np.float32)
    return result


def fit_radii(
    likeness: NDArray[np.float32], labels: Sequence[str], session_labels: Sequence[str]
) -> dict[str, float]:
    """The radius of each of the session's classes, from held-out images of some of them.

    A class's own mean counts for as much as it has images: a few tell little of the class, and
    radii that follow them tell known from unknown less well than one for all. How far below it a
    picture of the class may fall is learned from all of them together.
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

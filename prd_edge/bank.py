"""The prototype bank: what is known of every class, as sums. numpy only.

For class c with n_c images of embeddings x the bank keeps n_c and s_c = Σ x, and for all classes
together one second moment G = Σ x xᵀ. From these follow the prototypes p_c = s_c / n_c and the
within-class covariance

    W = (G − Σ_c s_c s_cᵀ / n_c) / Σ_c (n_c − 1).

Sums do not care for order: a class that comes back, or classes taught in any order and number of
sessions, give the very bank that all images at once would have given, to the last bit. Floating
point would break that, so embeddings are rounded to multiples of 2⁻¹⁶ first: all sums are then
integers that float64 holds exactly, up to two million images.

Two numbers a class stand beside the sums: its radius, the least likeness at which a picture is
still taken for it, and its leaning, what people's feedback has added to its score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from prd_edge.errors import InvalidInputError, StoreCorruptError
from prd_edge.tensor_file import Tensors, refuse_unless, tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEFAULT_RADIUS = 0.6  # of a class of which nothing was held out
_UNITS = 2.0**16
_LARGEST = 2.0**53  # of the integers that float64 holds exactly
_LARGEST_LIMIT = 1e6  # of a radius or leaning, which are a few at most
_LABELS_SHOWN = 8
_CHUNK = 1024  # embeddings held in double precision at a time


@dataclass(frozen=True)
class PrototypeBank:
    """Immutable; `add`, `remove` and `rename` return a new bank. Labels are kept sorted."""

    labels: tuple[str, ...]
    counts: NDArray[np.int64]  # (C,)
    sums: NDArray[np.float64]  # (C, D), integers: multiples of 2⁻¹⁶
    second_moment: NDArray[np.float64]  # (D, D), integers: multiples of 2⁻³²
    radii: NDArray[np.float64]  # (C,), see likeness.py
    leanings: NDArray[np.float64]  # (C,), in typical margins
    # Degrees of freedom of removed classes: their spread cannot be told from that of the others.
    inherited: int = 0

    @classmethod
    def empty(cls, dimensions: int) -> Self:
        return cls(
            labels=(),
            counts=np.zeros(0, np.int64),
            sums=np.zeros((0, dimensions)),
            second_moment=np.zeros((dimensions, dimensions)),
            radii=np.zeros(0),
            leanings=np.zeros(0),
        )

    @property
    def dimensions(self) -> int:
        return int(self.sums.shape[1])

    @property
    def degrees_of_freedom(self) -> int:
        """Images beyond the first of each class: what the covariance is estimated from."""
        return int(np.maximum(self.counts - 1, 0).sum()) + self.inherited

    def prototypes(self) -> NDArray[np.float64]:
        """(C, D): the mean embedding of each class."""
        return prototypes_of(self.sums, self.counts)

    def covariance(self) -> NDArray[np.float64]:
        """(D, D): the shared within-class covariance W; zero where nothing is known of it."""
        if self.degrees_of_freedom == 0:
            return np.zeros_like(self.second_moment)
        within = self._scatter()
        within /= _UNITS**2 * self.degrees_of_freedom
        return within

    def _scatter(self) -> NDArray[np.float64]:
        """(D, D): Σ (x − p)(x − p)ᵀ over all images. Large: nothing is copied without need."""
        within = _between_classes(self.sums, self.counts)
        return np.subtract(self.second_moment, within, out=within)

    def index(self, label: str) -> int:
        try:
            return self.labels.index(label)
        except ValueError:
            known = ", ".join(self.labels[:_LABELS_SHOWN]) or "none yet"
            known += f" and {more} more" if (more := len(self.labels) - _LABELS_SHOWN) > 0 else ""
            raise InvalidInputError(f"no class named {label!r}; known classes: {known}") from None

    def add(self, embeddings: NDArray[np.float32], labels: Sequence[str]) -> Self:
        """Take in the embeddings (N, D) of images with these labels, known or new."""
        if len(embeddings) != len(labels):
            raise ValueError(f"{len(embeddings)} embeddings for {len(labels)} labels")
        if not len(labels):
            return self
        names, classes = np.unique(np.asarray(labels, dtype=object), return_inverse=True)
        union = sorted({*self.labels, *names})
        row = {label: i for i, label in enumerate(union)}
        old, new = [row[label] for label in self.labels], np.array([row[name] for name in names])
        counts = np.zeros(len(union), np.int64)
        sums = np.zeros((len(union), self.dimensions))
        radii, leanings = np.full(len(union), DEFAULT_RADIUS), np.zeros(len(union))
        counts[old], sums[old] = self.counts, self.sums
        radii[old], leanings[old] = self.radii, self.leanings
        counts[new] += np.bincount(classes)

        second_moment = self.second_moment.copy()
        for start in range(0, len(labels), _CHUNK):
            x = np.rint(np.asarray(embeddings[start : start + _CHUNK], np.float64) * _UNITS)
            if not np.isfinite(x).all():
                raise StoreCorruptError("the encoder gave values that are not numbers")
            np.add.at(sums, new[classes[start : start + _CHUNK]], x)
            second_moment += x.T @ x
        return replace(
            self,
            labels=tuple(union),
            counts=counts,
            sums=sums,
            second_moment=second_moment,
            radii=radii,
            leanings=leanings,
        )

    def with_radii(self, radii: Mapping[str, float]) -> Self:
        """Other radii for these classes."""
        return replace(self, radii=self._changed(self.radii, radii))

    def with_leanings(self, leanings: Mapping[str, float]) -> Self:
        """Other leanings for these classes."""
        return replace(self, leanings=self._changed(self.leanings, leanings))

    def has_same_numbers(self, other: PrototypeBank) -> bool:
        """Whether radii and leanings are equal."""
        return np.array_equal(self.radii, other.radii) and np.array_equal(
            self.leanings, other.leanings
        )

    def _changed(
        self, values: NDArray[np.float64], changes: Mapping[str, float]
    ) -> NDArray[np.float64]:
        values = values.copy()
        for label, value in changes.items():
            values[self.index(label)] = value
        return values

    def remove(self, label: str) -> Self:
        """Drop a class. Only its share in the common covariance remains, inseparable from it."""
        i = self.index(label)
        keep = np.arange(len(self.labels)) != i
        mean_part = np.rint(np.outer(self.sums[i], self.sums[i]) / self.counts[i])
        return replace(
            self,
            labels=tuple(np.array(self.labels, dtype=object)[keep]),
            counts=self.counts[keep],
            sums=self.sums[keep],
            radii=self.radii[keep],
            leanings=self.leanings[keep],
            second_moment=self.second_moment - mean_part,
            inherited=self.inherited + int(self.counts[i]) - 1,
        )

    def rename(self, old: str, new: str) -> Self:
        i = self.index(old)
        if new in self.labels:
            raise InvalidInputError(f"there is already a class named {new!r}; choose another name")
        names = [*self.labels[:i], new, *self.labels[i + 1 :]]
        order = sorted(range(len(names)), key=names.__getitem__)
        return replace(
            self,
            labels=tuple(names[k] for k in order),
            counts=self.counts[order],
            sums=self.sums[order],
            radii=self.radii[order],
            leanings=self.leanings[order],
        )

    # After the encoder was trained

    def with_prototypes(self, prototypes: NDArray[np.float64]) -> Self:
        """Given prototypes (C, D) instead of sums. Nothing is known of the spread around them."""
        sums = np.rint(prototypes * self.counts[:, None] * _UNITS)
        return replace(
            self,
            sums=sums,
            second_moment=_between_classes(sums, self.counts),
            inherited=-int(np.maximum(self.counts - 1, 0).sum()),
        )

    def moved(
        self, linear: NDArray[np.float64], noise: NDArray[np.float64], trained: slice
    ) -> Self:
        """In the dimensions `trained` (D_t of D) every embedding x changed by `linear`ᵀ x, where
        that is (D, D_t), and by noise of covariance (D_t, D_t)."""
        sums = self.sums.copy()
        sums[:, trained] += self.sums @ linear
        sums = np.rint(sums)
        scatter = self._scatter()
        along = scatter @ linear  # (D, D_t)
        scatter[:, trained] += along
        scatter[trained] += along.T
        scatter[trained, trained] += linear.T @ along
        scatter[trained, trained] += (_UNITS**2 * self.degrees_of_freedom) * noise
        scatter += _between_classes(sums, self.counts)
        scatter += scatter.T  # rounding has left the halves not quite alike
        scatter /= 2
        return replace(self, sums=sums, second_moment=np.rint(scatter, out=scatter))

    # The covariance is large and only learning needs it: it is kept in a file of its own.

    def prototype_tensors(self) -> dict[str, NDArray[np.generic]]:
        return {
            "counts": self.counts,
            "sums": self.sums,
            "inherited": np.array([self.inherited], np.int64),
            "radii": self.radii,
            "leanings": self.leanings,
        }

    def covariance_tensors(self) -> dict[str, NDArray[np.generic]]:
        """One triangle of the symmetric second moment, row by row; nothing while it is zero."""
        triangle = self.second_moment[np.tril_indices(self.dimensions)]
        return {"second_moment": triangle if triangle.any() else triangle[:0]}

    @classmethod
    def from_tensors(
        cls,
        labels: Mapping[str, int],
        dimensions: int,
        prototypes: Tensors,
        covariance: Tensors,
    ) -> Self:
        """`labels` with the number of images of each."""
        counts, sums = sums_of(labels, dimensions, prototypes)
        bank = cls(
            labels=tuple(labels),
            counts=counts,
            sums=sums,
            second_moment=_second_moment(dimensions, covariance),
            inherited=int(tensor(prototypes, "inherited", np.int64, 1)[0]),
            radii=_limits(prototypes, "radii", len(labels)),
            leanings=_limits(prototypes, "leanings", len(labels)),
        )
        are_known = 0 <= bank.degrees_of_freedom <= _LARGEST
        refuse_unless(are_known, f"inherited is {bank.inherited}, which is impossible")
        return bank


def sums_of(
    labels: Mapping[str, int], dimensions: int, tensors: Tensors
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Counts (C,) and sums (C, D)."""
    counts = np.asarray(tensor(tensors, "counts", np.int64, len(labels)), np.int64)
    sums = np.asarray(tensor(tensors, "sums", np.float64, len(labels), dimensions), np.float64)
    refuse_unless(counts.tolist() == list(labels.values()), "counts are not those of the manifest")
    refuse_unless(np.abs(sums).max(initial=0.0) <= _LARGEST, "sums are larger than they can be")
    return counts, sums


def _limits(tensors: Tensors, name: str, count: int) -> NDArray[np.float64]:
    found = np.asarray(tensor(tensors, name, np.float64, count), np.float64)
    refuse_unless(np.abs(found).max(initial=0.0) <= _LARGEST_LIMIT, f"{name} cannot be that large")
    return found


def _second_moment(dimensions: int, tensors: Tensors) -> NDArray[np.float64]:
    """(D, D), from one triangle of it, or from nothing."""
    second_moment = np.zeros((dimensions, dimensions))
    if "second_moment" in tensors and tensors["second_moment"].size == 0:
        return second_moment
    triangle = tensor(tensors, "second_moment", np.float64, dimensions * (dimensions + 1) // 2)
    refuse_unless(np.abs(triangle).max() <= _LARGEST, "second_moment is larger than it can be")
    second_moment[np.tril_indices(dimensions)] = triangle
    second_moment += np.tril(second_moment, -1).T
    return second_moment


def _between_classes(sums: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """(D, D): Σ_c s_c s_cᵀ / n_c, the part of the second moment that the means account for."""
    scaled = sums / np.sqrt(counts)[:, None]
    result: NDArray[np.float64] = scaled.T @ scaled
    return result


def prototypes_of(sums: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """(C, D) and (C,) to (C, D)."""
    result: NDArray[np.float64] = sums / (counts[:, None] * _UNITS)
    return result

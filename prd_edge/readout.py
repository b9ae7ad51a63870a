"""From a bank to answers: nearest prototype in the metric of the shared, shrunk covariance.

    Σ = (1 − λ) W + λ (tr W / D) I,      λ = D / (D + 5 ν)

where ν is the number of images behind W. With few images λ is near 1 and the metric is the plain
one, with which unit embeddings rank as by cosine; with many it is that of linear discriminant
analysis. The distance (x − p)ᵀ Σ⁻¹ (x − p) is, up to a term equal for all classes, the linear

    score_c(x) = w_c · x + b_c,      w_c = Σ⁻¹ p_c,      b_c = −½ p_c · w_c,

so that predicting is one matrix product. The solve is done once, when the bank changes. Only
differences between scores count, so all is measured from the middle g of the prototypes,

    w_c = Σ⁻¹ (p_c − g),      b_c = −w_c · g − ½ w_c · (p_c − g),

which keeps scores small and so exact. What feedback has said for or against a class is added to
b_c, in units of the typical margin: the lead that a prototype has, by its own score, over the
nearest other class.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prd_edge.cholesky import solve_positive
from prd_edge.errors import InvalidInputError, StoreCorruptError
from prd_edge.likeness import Directions
from prd_edge.tensor_file import Tensors, refuse_unless, tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prd_edge.bank import PrototypeBank

# An isotropic prior worth D / 5 images: chosen on grocery, trashnet and CIFAR-100, 2 to 500
# images a class (docs/results.md); the optimum is flat.
_SHRINKAGE_RATE = 5.0
_LARGEST = 1e30  # of a margin or temperature
NEAR_TIE = 0.001  # in margins
# A variance of this size is what rounding leaves of images that embed alike.
_NO_SPREAD = 1e-9


class Temperature(NamedTuple):
    """What scores are divided by to become confidence; free of units, so that it can be carried
    over to another bank."""

    in_margins: float  # of their roots, to be exact: see `confidences`
    images: int  # held out, that it was fitted on


class Verdict(NamedTuple):
    confidences: NDArray[np.float32]  # (C,)
    likeness: float  # to the most likely class
    label: str | None  # None: too little like that class


class Readout(NamedTuple):
    labels: tuple[str, ...]
    weights: NDArray[np.float32]  # (C, D)
    biases: NDArray[np.float32]  # (C,)
    margin: float  # the typical one
    directions: Directions
    radii: NDArray[np.float32]  # (C,)
    temperature: Temperature = Temperature(1.0, 0)

    @classmethod
    def of(cls, bank: PrototypeBank) -> Readout:
        prototypes = bank.prototypes()  # (C, D)
        sigma = shrunk_covariance(bank)
        middle = prototypes.mean(axis=0) if len(prototypes) else np.zeros(bank.dimensions)
        spread = prototypes - middle  # (C, D)
        try:
            weights = spread if sigma is None else solve_positive(sigma, spread.T).T  # (C, D)
        except np.linalg.LinAlgError as error:
            raise StoreCorruptError(
                f"the covariance cannot come from any images ({error})"
            ) from error
        gram = spread @ weights.T  # (C, C)
        starts = weights @ middle
        biases = -starts - 0.5 * np.diag(gram)
        margin = typical_margin(gram - 0.5 * np.diag(gram))
        return cls(
            bank.labels,
            weights.astype(np.float32),
            (biases + margin * bank.leanings).astype(np.float32),
            margin,
            Directions.of(starts, gram),
            bank.radii.astype(np.float32),
        )

    def scores(self, embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
        """(N, D) to (N, C)."""
        result: NDArray[np.float32] = embeddings @ self.weights.T + self.biases
        return result

    def confidences(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """(N, C) to (N, C)."""
        return confidences(scores / np.float32(self.margin), self.temperature.in_margins)

    def likeness(
        self,
        scores: NDArray[np.float32],
        answers: NDArray[np.int64],
    ) -> NDArray[np.float32]:
        """How much each picture is like the class it is given: (N, C) and (N,) to (N,)."""
        return self.directions.likeness(scores - self.biases, answers)

    def verdict(self, embedding: NDArray[np.float32]) -> Verdict:
        """Of one picture (D,)."""
        with np.errstate(all="ignore"):
            scores = self.scores(embedding[None])  # (1, C)
            answer = scores.argmax(axis=1)  # (1,)
            likeness = float(self.likeness(scores, answer)[0])
            confidences = self.confidences(scores)[0]
        if not np.isfinite(confidences).all() or not np.isfinite(likeness):
            raise StoreCorruptError(
                "the readout gives values that are not numbers; run 'prd-edge rollback' to return "
                "to the last good version"
            )
        is_known = likeness >= self.radii[answer[0]]
        return Verdict(confidences, likeness, self.labels[answer[0]] if is_known else None)

    def following(self, old: PrototypeBank, new: PrototypeBank) -> Readout:
        """For a bank in which only radii and leanings are others."""
        leant = self.margin * (new.leanings - old.leanings)
        return self._replace(
            biases=self.biases + leant.astype(np.float32), radii=new.radii.astype(np.float32)
        )

    def at(self, temperature: Temperature) -> Readout:
        return self._replace(temperature=temperature)

    def among(self, labels: Sequence[str]) -> Readout:
        """Only these classes: what a task-incremental learner is asked."""
        unknown = [label for label in labels if label not in self.labels]
        if unknown or not labels:
            which = ", ".join(map(repr, unknown)) or "no class"
            raise InvalidInputError(f"cannot choose among {which}; name classes that are known")
        rows = [i for i, label in enumerate(self.labels) if label in labels]
        return self._replace(
            labels=tuple(self.labels[i] for i in rows),
            weights=self.weights[rows],
            biases=self.biases[rows],
            directions=self.directions.rows(rows),
            radii=self.radii[rows],
        )

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        return {
            "readout.weights": self.weights,
            "readout.biases": self.biases,
            "readout.radii": self.radii,
            "readout.margin": np.array([self.margin], np.float64),
            "readout.temperature": np.array([self.temperature.in_margins], np.float64),
            "readout.temperature_images": np.array([self.temperature.images], np.int64),
            **{f"readout.{name}": array for name, array in self.directions._asdict().items()},
        }

    @classmethod
    def from_tensors(cls, labels: Iterable[str], dimensions: int, tensors: Tensors) -> Readout:
        labels = tuple(labels)
        c = len(labels)

        def numbers(name: str, *shape: int) -> NDArray[np.float32]:
            return np.asarray(tensor(tensors, f"readout.{name}", np.float32, *shape), np.float32)

        def one(name: str, kind: type) -> float:
            return float(tensor(tensors, f"readout.{name}", kind, 1)[0])

        readout = cls(
            labels,
            numbers("weights", c, dimensions),
            numbers("biases", c),
            one("margin", np.float64),
            Directions(numbers("starts", c), numbers("lengths", c), numbers("inverse", c, c)),
            numbers("radii", c),
            Temperature(one("temperature", np.float64), int(one("temperature_images", np.int64))),
        )
        for name, value in (
            ("margin", readout.margin),
            ("temperature", readout.temperature.in_margins),
        ):
            is_usable = 0.0 < value <= _LARGEST and np.float32(value) > 0
            refuse_unless(is_usable, f"readout.{name} is {value:g}, which cannot be")
        refuse_unless(readout.temperature.images >= 0, "readout.temperature_images is negative")
        refuse_unless((readout.directions.lengths >= 0).all(), "readout.lengths are negative")
        return readout


def typical_margin(scores: NDArray[np.float64]) -> float:
    """The median lead of a class's prototype over the runner-up, from the scores (C, C) of all."""
    if len(scores) < 2:
        return 1.0
    own = np.diag(scores)
    others = np.where(np.eye(len(scores), dtype=bool), -np.inf, scores)
    margin = float(np.median(own - others.max(axis=1)))
    return margin if margin > 0.0 else 1.0


def shrinkage(bank: PrototypeBank) -> float:
    d = bank.dimensions
    return d / (d + _SHRINKAGE_RATE * bank.degrees_of_freedom)


def shrunk_covariance(bank: PrototypeBank) -> NDArray[np.float64] | None:
    """(D, D), or None for the identity: without any spread only the plain metric is left."""
    w = bank.covariance()
    d = bank.dimensions
    isotropic = float(np.trace(w)) / d
    if isotropic <= _NO_SPREAD:
        return None
    lam = shrinkage(bank)
    w *= 1.0 - lam
    w[np.diag_indices(d)] += lam * isotropic
    return w


def confidences(scores: NDArray[np.float32], temperature: float) -> NDArray[np.float32]:
    """From how many margins each class is behind the best, (N, C) to (N, C):

        p_c ∝ exp(−√(score_best − score_c + 0.001) / T)

    A softmax of the scores themselves would be right if pictures varied by Gaussian noise. They
    have longer tails: it is too sure of the surest, and not sure enough of the others; the root
    halves its calibration error (docs/results.md). 0.001 keeps a tie from being a cliff.
    """
    behind = scores.max(axis=1, keepdims=True) - scores
    roots = np.sqrt(behind + np.float32(NEAR_TIE))
    chances = np.exp((np.float32(np.sqrt(NEAR_TIE)) - roots) / np.float32(temperature))
    result: NDArray[np.float32] = chances / chances.sum(axis=1, keepdims=True)
    return result

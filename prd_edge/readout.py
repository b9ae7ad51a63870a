"""From a bank to answers: nearest prototype in the metric of the shared, shrunk covariance.

    Σ = (1 − λ) W + λ (tr W / D) I,      λ = D / (D + 5 ν)

where ν is the number of images behind W. With few images λ is near 1 and the metric is the plain
one, with which unit embeddings rank as by cosine; with many it is that of linear discriminant
analysis. The distance (x − p)ᵀ Σ⁻¹ (x − p) is, up to a term equal for all classes, the linear

    score_c(x) = w_c · x + b_c,      w_c = Σ⁻¹ p_c,      b_c = −½ p_c · w_c,

so that predicting is one matrix product. The solve is done once, when the bank changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prd_edge.cholesky import solve_positive
from prd_edge.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prd_edge.bank import PrototypeBank

# An isotropic prior worth D / 5 images: chosen on grocery, trashnet and CIFAR-100, 2 to 500
# images a class (docs/results.md); the optimum is flat.
_SHRINKAGE_RATE = 5.0
# A variance of this size is what rounding leaves of images that embed alike.
_NO_SPREAD = 1e-9


class Readout(NamedTuple):
    labels: tuple[str, ...]
    weights: NDArray[np.float32]  # (C, D)
    biases: NDArray[np.float32]  # (C,)
    temperature: float = 1.0

    @classmethod
    def of(cls, bank: PrototypeBank, temperature: float = 1.0) -> Readout:
        prototypes = bank.prototypes()  # (C, D)
        sigma = shrunk_covariance(bank)
        weights = prototypes if sigma is None else solve_positive(sigma, prototypes.T).T  # (C, D)
        biases = -0.5 * np.einsum("cd,cd->c", prototypes, weights)
        return cls(bank.labels, weights.astype(np.float32), biases.astype(np.float32), temperature)

    def scores(self, embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
        """(N, D) to (N, C)."""
        result: NDArray[np.float32] = embeddings @ self.weights.T + self.biases
        return result

    def confidences(self, embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
        """(N, D) to (N, C): a softmax of the scores over the temperature."""
        return softmax(self.scores(embeddings) / np.float32(self.temperature))

    def with_temperature(self, temperature: float) -> Readout:
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
        )

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        return {
            "readout.weights": self.weights,
            "readout.biases": self.biases,
            "readout.temperature": np.array([self.temperature], np.float64),
        }

    @classmethod
    def from_tensors(
        cls, labels: Iterable[str], tensors: Mapping[str, NDArray[np.generic]]
    ) -> Readout:
        return cls(
            tuple(labels),
            np.asarray(tensors["readout.weights"], np.float32),
            np.asarray(tensors["readout.biases"], np.float32),
            float(tensors["readout.temperature"][0]),
        )


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


def softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    result: NDArray[np.float32] = shifted / shifted.sum(axis=1, keepdims=True)
    return result

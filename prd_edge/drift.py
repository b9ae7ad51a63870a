"""How far each known prototype has moved, and whose neighbour it has become."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prd_edge.bank import PrototypeBank


class Drift(NamedTuple):
    distance: float  # 1 − cos of the prototype before and after
    nearest_before: str | None  # the class whose prototype was nearest
    nearest_after: str | None


def drift(old: PrototypeBank, new: PrototypeBank) -> dict[str, Drift]:
    """Of every class that was known before, in banks of equal dimensions."""
    kept = [label for label in old.labels if label in new.labels]
    before, after = _unit(old.prototypes()), _unit(new.prototypes())
    neighbour_before, neighbour_after = _nearest(old.labels, before), _nearest(new.labels, after)
    return {
        label: Drift(
            max(0.0, 1.0 - float(before[old.index(label)] @ after[new.index(label)])),
            neighbour_before[label],
            neighbour_after[label],
        )
        for label in kept
    }


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    result: NDArray[np.float64] = rows / np.where(norms > 0.0, norms, 1.0)
    return result


def _nearest(labels: tuple[str, ...], unit: NDArray[np.float64]) -> dict[str, str | None]:
    if len(labels) < 2:
        return dict.fromkeys(labels)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -np.inf)
    return {label: labels[int(i)] for label, i in zip(labels, similarity.argmax(1), strict=True)}

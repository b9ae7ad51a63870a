"""How far each known prototype has moved, and whose neighbour it has become."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from prd_edge.bank import PrototypeBank

Prototypes = Mapping[str, NDArray[np.float64]]  # by class


class Drift(NamedTuple):
    distance: float  # 1 − cos of the prototype before and after
    nearest_before: str | None  # the class whose prototype was nearest
    nearest_after: str | None


def drift(old: PrototypeBank, new: PrototypeBank) -> dict[str, Drift]:
    """Of every class that was known before, in banks of equal dimensions."""
    return drift_between(
        dict(zip(old.labels, old.prototypes(), strict=True)),
        dict(zip(new.labels, new.prototypes(), strict=True)),
    )


def drift_between(old: Prototypes, new: Prototypes) -> dict[str, Drift]:
    """The same of prototypes by class."""
    before, after = _unit(old), _unit(new)
    neighbour_before, neighbour_after = _nearest(before), _nearest(after)
    return {
        label: Drift(
            max(0.0, 1.0 - float(before[label] @ after[label])),
            neighbour_before[label],
            neighbour_after[label],
        )
        for label in before
        if label in after
    }


def _unit(prototypes: Prototypes) -> Prototypes:
    lengths = {label: float(np.linalg.norm(own)) for label, own in prototypes.items()}
    return {label: own / (lengths[label] or 1.0) for label, own in prototypes.items()}


def _nearest(unit: Prototypes) -> dict[str, str | None]:
    labels = list(unit)
    if len(labels) < 2:
        return dict.fromkeys(labels)
    rows = np.stack([*unit.values()])
    similarity = rows @ rows.T
    np.fill_diagonal(similarity, -np.inf)
    return {label: labels[int(i)] for label, i in zip(labels, similarity.argmax(1), strict=True)}

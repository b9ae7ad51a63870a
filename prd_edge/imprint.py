"""Imprint: learning in closed form, without torch and without forgetting.

The encoder stays as it is; the session's embeddings are added to the bank's sums. Part of the
session is held out first, to measure accuracy and fit the temperature, and then added as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prd_edge.bank import PrototypeBank, cosine_distance
from prd_edge.calibration import (
    calibrated,
    fit_relative_temperature,
    relative_temperature,
    typical_margin,
)
from prd_edge.harvest import Harvest
from prd_edge.readout import Readout

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Imprinted:
    bank: PrototypeBank
    readout: Readout
    holdout_images: int
    holdout_accuracy: float | None
    holdout_accuracy_before: float | None
    drift: dict[str, float]


def imprint(bank: PrototypeBank, before: Readout, harvest: Harvest, *, holdout: float) -> Imprinted:
    held = harvest.holdout(holdout)
    labels = np.array(harvest.labels, dtype=object)
    taught = bank.add(harvest.embeddings[~held], list(labels[~held]))
    temperature = relative_temperature(bank, before)
    accuracy = accuracy_before = None
    if held.any():
        trial = Readout.of(taught)
        truth = np.array([trial.labels.index(label) for label in labels[held]])
        scores = trial.scores(harvest.embeddings[held])
        margin = typical_margin(taught, trial)
        temperature = fit_relative_temperature(margin, scores, truth, temperature)
        accuracy = float((scores.argmax(axis=1) == truth).mean())
        accuracy_before = _accuracy(before, harvest.embeddings[held], labels[held])
        taught = taught.add(harvest.embeddings[held], list(labels[held]))
    return Imprinted(
        bank=taught,
        readout=calibrated(taught, temperature),
        holdout_images=int(held.sum()),
        holdout_accuracy=accuracy,
        holdout_accuracy_before=accuracy_before,
        drift=_drift(bank, taught),
    )


def _accuracy(
    readout: Readout, embeddings: NDArray[np.float32], labels: NDArray[np.object_]
) -> float | None:
    """What the earlier bank would have answered; a class it does not know counts as a miss."""
    if not readout.labels:
        return None
    answers = np.array(readout.labels, dtype=object)[readout.scores(embeddings).argmax(axis=1)]
    return float((answers == labels).mean())


def _drift(old: PrototypeBank, new: PrototypeBank) -> dict[str, float]:
    """How far the prototype of each class that came back has turned."""
    before, after = old.prototypes(), new.prototypes()
    pairs = [(i, new.index(label)) for i, label in enumerate(old.labels)]
    return {
        old.labels[i]: cosine_distance(before[i], after[j])
        for i, j in pairs
        if old.counts[i] != new.counts[j]
    }

"""Imprint: learning in closed form, without torch and without forgetting.

The encoder stays as it is; the session's embeddings are added to the bank's sums. Part of the
session is held out first, to measure accuracy and fit the temperature, and then added as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prd_edge.bank import PrototypeBank
from prd_edge.calibration import calibrated, fit_relative_temperature, typical_margin
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


class Imprint:
    """A session on its way into a bank: judged first, on what is held out, then completed."""

    def __init__(
        self, bank: PrototypeBank, temperature: float, harvest: Harvest, *, holdout: float
    ) -> None:
        """`temperature` is the earlier one, in margins."""
        held = harvest.holdout(holdout)
        labels = np.array(harvest.labels, dtype=object)
        self._taught = bank.add(harvest.embeddings[~held], list(labels[~held]))
        self._rest = harvest.embeddings[held], labels[held]
        self._temperature = temperature
        self.accuracy: float | None = None
        if held.any():
            trial = Readout.of(self._taught)
            self._temperature, self.accuracy = judged(self._taught, trial, temperature, *self._rest)

    def completed(self) -> Imprinted:
        """With the images that were held out."""
        embeddings, labels = self._rest
        bank = self._taught.add(embeddings, list(labels))
        return Imprinted(
            bank=bank,
            readout=calibrated(bank, self._temperature),
            holdout_images=len(labels),
            holdout_accuracy=self.accuracy,
        )


def judged(
    bank: PrototypeBank,
    readout: Readout,
    temperature: float,
    embeddings: NDArray[np.float32],
    labels: NDArray[np.object_],
) -> tuple[float, float]:
    """The temperature, in margins, and the accuracy that held-out images speak for."""
    truth = np.array([readout.labels.index(label) for label in labels])
    scores = readout.scores(embeddings)
    margin = typical_margin(bank, readout)
    fitted = fit_relative_temperature(margin, scores, truth, temperature)
    return fitted, float((scores.argmax(axis=1) == truth).mean())


def accuracy_before(readout: Readout, harvest: Harvest, holdout: float) -> float | None:
    """What the earlier bank would have answered; a class it does not know counts as a miss."""
    held = harvest.holdout(holdout)
    if not readout.labels or not held.any():
        return None
    labels = np.array(harvest.labels, dtype=object)[held]
    return accuracy_of(readout, harvest.embeddings[held], labels)


def accuracy_of(
    readout: Readout, embeddings: NDArray[np.float32], labels: Sequence[str] | NDArray[np.object_]
) -> float:
    scores = readout.scores(embeddings)
    answers = np.array(readout.labels, dtype=object)[scores.argmax(axis=1)]
    return float((answers == np.array(labels, dtype=object)).mean())

"""Imprint: learning in closed form, without torch and without forgetting.

The encoder stays as it is; the session's embeddings are added to the bank's sums. Part of the
session is held out first, to measure accuracy and to fit the temperature and the radii, and then
added as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prd_edge.bank import PrototypeBank
from prd_edge.calibration import fit_temperature
from prd_edge.harvest import Harvest
from prd_edge.likeness import fit_radii
from prd_edge.metrics import calibration_error
from prd_edge.readout import Readout, Temperature

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Imprinted:
    bank: PrototypeBank
    readout: Readout
    judgement: Judgement


class Judgement(NamedTuple):
    """What held-out images say of a bank they are no part of."""

    temperature: Temperature
    images: int = 0
    right: NDArray[np.bool_] | None = None  # (images,)
    calibration_error: float | None = None
    radii: Mapping[str, float] = MappingProxyType({})  # of the session's classes

    @property
    def accuracy(self) -> float | None:
        return None if self.right is None else float(self.right.mean())


class Imprint:
    """A session on its way into a bank: judged first, on what is held out, then completed."""

    def __init__(
        self, bank: PrototypeBank, temperature: Temperature, harvest: Harvest, *, holdout: float
    ) -> None:
        """`temperature` is the earlier one."""
        held = harvest.holdout(holdout)
        labels = np.array(harvest.labels, dtype=object)
        self._taught = bank.add(harvest.embeddings[~held], list(labels[~held]))
        self._rest = harvest.embeddings[held], labels[held]
        self._completed: Imprinted | None = None
        self.judgement = Judgement(temperature)
        if held.any():
            self.judgement = judged(
                Readout.of(self._taught), temperature, *self._rest, harvest.labels
            )

    def completed(self) -> Imprinted:
        """With the images that were held out."""
        if self._completed is None:
            embeddings, labels = self._rest
            bank = self._taught.add(embeddings, list(labels)).with_radii(self.judgement.radii)
            self._taught = bank  # a covariance is large: the earlier one goes
            readout = Readout.of(bank).at(self.judgement.temperature)
            self._completed = Imprinted(bank, readout, self.judgement)
        return self._completed


def judged(
    readout: Readout,
    temperature: Temperature,
    embeddings: NDArray[np.float32],
    labels: NDArray[np.object_],
    session_labels: Sequence[str],
) -> Judgement:
    """Held-out images (N, D) with their labels, and the labels of the whole session."""
    truth = np.array([readout.labels.index(label) for label in labels])
    scores = readout.scores(embeddings)
    fitted = fit_temperature(readout.margin, scores, truth, temperature)
    right = scores.argmax(axis=1) == truth
    confidences = readout.at(fitted).confidences(scores).max(axis=1)
    return Judgement(
        temperature=fitted,
        images=len(labels),
        right=right,
        calibration_error=calibration_error(confidences, right),
        radii=fit_radii(readout.likeness(scores, truth), list(labels), session_labels),
    )


def accuracy_before(readout: Readout, harvest: Harvest, holdout: float) -> float | None:
    """What the earlier bank would have answered; a class it does not know counts as a miss."""
    held = harvest.holdout(holdout)
    if not readout.labels or not held.any():
        return None
    labels = np.array(harvest.labels, dtype=object)[held]
    return float(right_answers(readout, harvest.embeddings[held], labels).mean())


def right_answers(
    readout: Readout, embeddings: NDArray[np.float32], labels: Sequence[str] | NDArray[np.object_]
) -> NDArray[np.bool_]:
    """(N, D) and (N,) to (N,)."""
    answers = np.array(readout.labels, dtype=object)[readout.scores(embeddings).argmax(axis=1)]
    result: NDArray[np.bool_] = answers == np.array(labels, dtype=object)
    return result

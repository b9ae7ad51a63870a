"""The temperature that makes confidence mean something, fitted on images not yet learned.

Scores grow and shrink with the bank: more images sharpen the metric, more classes crowd it. So a
temperature is carried from one bank to the next in units of the bank's own typical margin, the
lead that a prototype has, by its own score, over the nearest other class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prd_edge.readout import Readout, softmax

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prd_edge.bank import PrototypeBank

# In margins. Before anything was held out: what grocery and trashnet settle near.
DEFAULT_TEMPERATURE = 0.3
_CANDIDATES = np.geomspace(0.02, 5.0, 81)
_PRIOR_IMAGES = 10.0  # how many held-out images the earlier temperature counts for


def typical_margin(bank: PrototypeBank, readout: Readout) -> float:
    """The median lead of a class's prototype over the runner-up."""
    if len(bank.labels) < 2:
        return 1.0
    scores = readout.scores(bank.prototypes().astype(np.float32))  # (C, C)
    own = np.diag(scores).copy()
    np.fill_diagonal(scores, -np.inf)
    margin = float(np.median(own - scores.max(axis=1)))
    return margin if margin > 0.0 else 1.0


def relative_temperature(bank: PrototypeBank, readout: Readout) -> float:
    return readout.temperature / typical_margin(bank, readout)


def calibrated(bank: PrototypeBank, relative: float) -> Readout:
    """The bank's readout at a temperature given in margins."""
    readout = Readout.of(bank)
    return readout.with_temperature(relative * typical_margin(bank, readout))


def fit_relative_temperature(
    margin: float, scores: NDArray[np.float32], truth: NDArray[np.int64], earlier: float
) -> float:
    """The one of the highest likelihood for scores (N, C) whose right answers are `truth`, drawn
    towards the earlier one where few images speak."""
    rows = np.arange(len(truth))
    losses = [
        -np.log(softmax(scores / np.float32(t * margin))[rows, truth] + 1e-12).mean()
        for t in _CANDIDATES
    ]
    best = float(_CANDIDATES[int(np.argmin(losses))])
    weight = len(truth) / (len(truth) + _PRIOR_IMAGES)
    return float(np.exp(weight * np.log(best) + (1 - weight) * np.log(earlier)))

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
DEFAULT_TEMPERATURE = 0.2
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
    """The one of the highest likelihood for scores (N, C) whose right answers are `truth`.

    By the rule of succession one more image may well be an error, even after N without: a share
    1 / (N + 2) of each answer is taken to belong to the runner-up. Where few images speak the
    result is drawn towards the earlier temperature.
    """
    n, classes = scores.shape
    if classes < 2:
        return earlier
    rows = np.arange(n)
    others = scores.copy()
    others[rows, truth] = -np.inf
    runner_up = others.argmax(axis=1)
    doubt = 1.0 / (n + 2)

    def loss(t: float) -> float:
        log_p = np.log(softmax(scores / np.float32(t * margin)) + 1e-30)
        return -float(
            (1 - doubt) * log_p[rows, truth].mean() + doubt * log_p[rows, runner_up].mean()
        )

    best = min(_CANDIDATES, key=loss)
    weight = n / (n + _PRIOR_IMAGES)
    return float(np.exp(weight * np.log(best) + (1 - weight) * np.log(earlier)))

"""The temperature that makes confidence mean something, fitted on images not yet learned.

Scores grow and shrink with the bank: more images sharpen the metric, more classes crowd it. So a
temperature is carried from one bank to the next in units of the bank's own typical margin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prd_edge.readout import softmax

if TYPE_CHECKING:
    from numpy.typing import NDArray

# In margins. Before anything was held out: what grocery and trashnet settle near.
DEFAULT_TEMPERATURE = 0.2
_CANDIDATES = np.geomspace(0.02, 5.0, 81)
_PRIOR_IMAGES = 10.0  # how many held-out images the earlier temperature counts for
_BINS = 15


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


def calibration_error(confidences: NDArray[np.float32], right: NDArray[np.bool_]) -> float:
    """Expected calibration error: how far confidence is from accuracy, over bins of confidence,

    ECE = Σ_b |b| / N · |mean confidence in b − share of right answers in b|.
    """
    bins = np.minimum((confidences * _BINS).astype(int), _BINS - 1)
    gaps = np.bincount(bins, confidences.astype(np.float64) - right, minlength=_BINS)
    return float(np.abs(gaps).sum() / len(confidences))

"""The temperature that makes confidence mean something, fitted on images not yet learned.

Scores grow and shrink with the bank: more images sharpen the metric, more classes crowd it. So a
temperature is carried from one bank to the next in units of the bank's own typical margin, and
every session's hold-out counts for as much as it has images, beside the last thousand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prd_edge.readout import Temperature, confidences

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Where nothing is known yet. It counts for many images: on grocery, TrashNet and CIFAR-100 the best
# one lies between 0.17 and 0.20, and a hold-out may flatter (docs/results.md).
DEFAULT_TEMPERATURE = Temperature(0.18, 500)
_REMEMBERED_IMAGES = 1000  # with many classes it is a little higher than it was with few
_CANDIDATES = np.geomspace(0.02, 5.0, 81)


def fit_temperature(
    margin: float, scores: NDArray[np.float32], truth: NDArray[np.int64], earlier: Temperature
) -> Temperature:
    """The one of the highest likelihood for scores (N, C) whose right answers are `truth`, averaged
    with the earlier one.

    By the rule of succession one more image may well be an error, even after N without: a share
    1 / (N + 2) of each answer is taken to belong to the runner-up.
    """
    n, classes = scores.shape
    if classes < 2:
        return earlier
    rows = np.arange(n)
    others = scores.copy()
    others[rows, truth] = -np.inf
    runner_up = others.argmax(axis=1)
    doubt = 1.0 / (n + 2)

    def loss(in_margins: float) -> float:
        log_p = np.log(confidences(scores / np.float32(margin), in_margins) + 1e-30)
        return -float(
            (1 - doubt) * log_p[rows, truth].mean() + doubt * log_p[rows, runner_up].mean()
        )

    best = min(_CANDIDATES, key=loss)
    weight = min(earlier.images, _REMEMBERED_IMAGES)
    mean = (n * np.log(best) + weight * np.log(earlier.in_margins)) / (weight + n)
    return Temperature(float(np.exp(mean)), earlier.images + n)

"""Figures against scikit-learn's, and against what can be counted by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from sklearn import metrics as theirs

from prd_edge.metrics import (
    auroc,
    backward_transfer,
    calibration_error,
    forgetting,
    forward_transfer,
    precision,
    recall,
    reliability,
)


@pytest.mark.parametrize("seed", range(5))
def test_recall_and_precision_are_those_of_scikit_learn(seed: int) -> None:
    random = np.random.default_rng(seed)
    labels = np.array([f"c{i}" for i in range(7)])
    truth, answers = labels[random.integers(0, 7, 60)], labels[random.integers(0, 7, 60)]
    withheld = random.random(60) < 0.2
    confusion = Counter(
        (str(t), None if w else str(a)) for t, a, w in zip(truth, answers, withheld, strict=True)
    )
    said = np.where(withheld, "nothing", answers)
    for found, function, of in (
        (recall(confusion), theirs.recall_score, truth),
        (precision(confusion), theirs.precision_score, said[~withheld]),
    ):
        names = sorted(set(of))
        expected = function(truth, said, labels=names, average=None, zero_division=0)
        assert list(found) == names
        np.testing.assert_allclose(list(found.values()), expected)
    assert np.mean([*recall(confusion).values()]) == pytest.approx(
        theirs.recall_score(truth, said, labels=sorted(set(truth)), average="macro")
    )


@pytest.mark.parametrize("seed", range(5))
def test_auroc_is_that_of_scikit_learn(seed: int) -> None:
    random = np.random.default_rng(seed)
    known, unknown = random.integers(0, 9, 40), random.integers(-3, 6, 25)  # with ties
    expected = theirs.roc_auc_score([1] * 40 + [0] * 25, [*known, *unknown])
    assert auroc(known, unknown) == pytest.approx(expected)


def test_reliability_counts_every_answer_once() -> None:
    random = np.random.default_rng(0)
    sure, right = random.random(500).astype(np.float32), random.random(500) < 0.5
    bins = reliability(sure, right)
    assert sum(b.answers for b in bins) == 500
    assert sum(b.answers * b.accuracy for b in bins) == pytest.approx(right.sum())
    assert sum(b.answers * b.confidence for b in bins) == pytest.approx(sure.sum(), rel=1e-6)
    assert [b.confidence for b in bins] == sorted(b.confidence for b in bins)
    assert reliability([1.0], [True])[0] == (1, 1.0, 1.0)


def test_transfer_and_forgetting_counted_by_hand() -> None:
    matrix = [[90.0], [80.0, 70.0], [85.0, 50.0, 60.0]]
    assert forgetting(matrix, range(3)) == pytest.approx(((90 - 85) + (70 - 50)) / 2)
    assert backward_transfer(matrix, range(3)) == pytest.approx(((85 - 90) + (50 - 70)) / 2)
    assert forward_transfer(matrix, range(3)) == 0.0
    assert forward_transfer([[90.0, 10.0], [80.0, 70.0]], [0, 1]) == 10.0
    # A step that brings nothing new, and two things that came together.
    matrix = [[90.0, 40.0], [95.0, 40.0], [85.0, 50.0]]
    assert forgetting(matrix, [0, 0]) == pytest.approx(((95 - 85) + (40 - 50)) / 2)
    assert forgetting([[90.0]], [0]) == backward_transfer([[90.0]], [0]) == 0.0


class TestCalibrationError:
    def test_answers_as_often_right_as_they_say(self) -> None:
        confidences = np.array([0.75] * 4 + [0.55] * 20, np.float32)
        right = np.array([True] * 3 + [False] + [True] * 11 + [False] * 9)
        assert calibration_error(confidences, right) == pytest.approx(0.0, abs=1e-6)

    def test_the_gaps_are_weighted_by_the_images_in_a_bin(self) -> None:
        confidences = np.array([1.0, 1.0, 0.5], np.float32)
        right = np.array([True, False, True])  # gaps 0.5 for two images and −0.5 for one
        assert calibration_error(confidences, right) == pytest.approx(0.5)

    def test_errors_of_opposite_sign_do_not_cancel_across_bins(self) -> None:
        confidences = np.array([0.9, 0.1], np.float32)
        assert calibration_error(confidences, np.array([False, True])) == pytest.approx(0.9)

from __future__ import annotations

import numpy as np
import pytest

from prd_edge.bank import PrototypeBank
from prd_edge.calibration import (
    DEFAULT_TEMPERATURE,
    fit_temperature,
)
from prd_edge.readout import Readout, Temperature, confidences

D = 8


def bank(per_class: int = 20) -> PrototypeBank:
    generator = np.random.default_rng(0)
    x = np.repeat(np.eye(3, D), per_class, axis=0) + 0.2 * generator.normal(size=(3 * per_class, D))
    return PrototypeBank.empty(D).add(x.astype(np.float32), list("abc" * per_class))


def test_scores_count_in_the_margins_of_the_bank() -> None:
    readout = Readout.of(bank()).at(Temperature(0.7, 30))
    scores = np.array([[3.0, 2.0, 0.0]], np.float32)
    expected = confidences(scores, 0.7)
    np.testing.assert_allclose(readout.confidences(readout.margin * scores), expected, rtol=1e-5)


def test_confidence_is_what_the_equation_says() -> None:
    found = confidences(np.array([[9.0, 5.0, 0.0]], np.float32), 2.0)
    chances = np.exp([-(0.001**0.5) / 2, -(4.001**0.5) / 2, -(9.001**0.5) / 2])
    np.testing.assert_allclose(found[0], chances / chances.sum(), rtol=1e-6)


def test_the_fit_finds_the_temperature_the_answers_were_drawn_with() -> None:
    generator = np.random.default_rng(1)
    scores = generator.normal(size=(4000, 5), scale=30.0).astype(np.float32)
    margin, true = 20.0, 0.6
    chances = confidences(scores / np.float32(margin), true)
    truth = np.array([generator.choice(5, p=row / row.sum()) for row in chances.astype(float)])
    fitted = fit_temperature(margin, scores, truth, Temperature(1.0, 10))
    assert fitted.in_margins == pytest.approx(true, rel=0.12)
    assert fitted.images == 4010


def test_a_perfect_score_on_few_images_does_not_make_it_sure_of_everything() -> None:
    scores = np.array([[30.0, 0.0], [0.0, 30.0]] * 10, np.float32)
    truth = np.array([0, 1] * 10)
    fitted = fit_temperature(30.0, scores, truth, DEFAULT_TEMPERATURE)
    confidence = confidences(scores / np.float32(30.0), fitted.in_margins).max()
    assert 0.9 < confidence < 0.998
    assert fitted.in_margins > 0.9 * DEFAULT_TEMPERATURE.in_margins


def test_few_images_move_the_earlier_temperature_only_a_little() -> None:
    scores = np.array([[1.0, 0.0]], np.float32)
    far = fit_temperature(1.0, scores, np.array([1]), Temperature(0.2, 10))
    assert 0.2 < far.in_margins < 0.5  # alone, that wrong answer would ask for 5


def test_sessions_count_by_their_images() -> None:
    scores = np.array([[1.0, 0.0]] * 30, np.float32)
    truth = np.array([0, 0, 1] * 10)
    alone = fit_temperature(1.0, scores, truth, Temperature(1.0, 0)).in_margins
    both = fit_temperature(1.0, scores, truth, Temperature(0.1, 90))
    assert both.images == 120
    assert both.in_margins == pytest.approx(0.1**0.75 * alone**0.25)


def test_one_class_has_no_margin() -> None:
    one = PrototypeBank.empty(D).add(np.eye(2, D, dtype=np.float32), ["a", "a"])
    assert Readout.of(one).margin == 1.0
    earlier = Temperature(0.3, 7)
    one_class = np.ones((4, 1), np.float32)
    assert fit_temperature(1.0, one_class, np.zeros(4, int), earlier) == earlier

from __future__ import annotations

import pytest

from prd_edge.learn.recipes import EDGE, PAPER


@pytest.mark.parametrize(
    ("images", "epochs"),
    [(5, 12), (200, 12), (300, 8), (1000, 3), (2500, 3), (7500, 1), (50000, 1)],
)
def test_small_sessions_are_gone_through_more_often(images: int, epochs: int) -> None:
    recipe = EDGE.for_images(images)
    assert recipe.epochs == epochs
    assert recipe.for_images(1) == recipe, "decided once"


def test_the_papers_recipe_has_its_epochs_whatever_the_images() -> None:
    assert PAPER.for_images(3) == PAPER


def test_the_more_is_known_the_gentler() -> None:
    first = EDGE.for_session(classes=5, known=0, in_all=5)
    half = EDGE.for_session(classes=5, known=5, in_all=10)
    third = EDGE.for_session(classes=5, known=10, in_all=15)
    again = EDGE.for_session(classes=5, known=5, in_all=5)
    assert first.learning_rate == 0.01
    assert again.learning_rate == 2e-3
    assert half.learning_rate == pytest.approx(2e-3 / 8)
    assert third.learning_rate == pytest.approx(2e-3 / 27)
    assert PAPER.for_session(classes=5, known=50, in_all=55) == PAPER

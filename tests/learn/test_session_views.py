"""However a session's views are held, the learner sees the same kind of thing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from prd_edge.learn.random_view import random_view
from prd_edge.learn.session_views import (
    FEWEST_VIEWS,
    CachedViews,
    RecomputedViews,
    View,
    ViewStorage,
)
from prd_edge.preprocess import Preprocessor, build_onnx
from tests.conftest import COLOURS, picture

SIZE = 32
SHAPE = (3, 2, 2)
LOOKS = 2


def views_of(picture: int, count: int = 5, *, snapshot: bool = True) -> list[View]:
    """Every number in them tells which picture and view it belongs to."""
    return [
        View(
            np.full(SHAPE if view else (LOOKS, *SHAPE), 10 * picture + view, np.float16),
            np.full(4, 10 * picture + view, np.float32) if snapshot and view else None,
        )
        for view in range(count)
    ]


def stored(pictures: int, budget: float = 1e9, known: int | None = None) -> ViewStorage:
    storage = ViewStorage(budget, known)
    for number in range(pictures):
        storage.add(views_of(number))
    return storage


def one_row() -> int:
    return sum(view.size() for view in views_of(0))


def test_two_different_random_views_of_each_sample_and_what_the_snapshot_said_of_them() -> None:
    rows = np.array([4, 1, 3])
    data = stored(6).rows(rows, torch.tensor([7, 8, 9]))
    samples = torch.tensor([2, 0])
    for seed in range(20):
        found = data.views(samples, torch.Generator().manual_seed(seed))
        numbers = found.inputs[:, 0, 0, 0]
        assert found.classes.tolist() == [9, 7, 9, 7]
        assert (numbers // 10).tolist() == [3, 4, 3, 4]
        assert (numbers % 10 > 0).all(), "the plain view is not a random one"
        assert (numbers[:2] != numbers[2:]).all()
        assert found.snapshot is not None
        assert torch.equal(found.snapshot[:, 0], numbers)
    assert (data.plain(samples)[:, 0, 0, 0]).tolist() == [30, 30, 40, 40]


def test_every_view_is_used() -> None:
    data = stored(1).rows(np.array([0]), torch.tensor([0]))
    seen: set[float] = set()
    for seed in range(50):
        found = data.views(torch.tensor([0]), torch.Generator().manual_seed(seed))
        seen |= set(found.inputs[:, 0, 0, 0].tolist())
    assert seen == {1.0, 2.0, 3.0, 4.0}


@pytest.mark.parametrize("known", [None, 10], ids=["count unknown", "count known"])
def test_views_are_given_up_when_memory_gets_tight(known: int | None) -> None:
    roomy = stored(10, budget=10 * one_row(), known=known)
    tight = stored(10, budget=10 * (one_row() - views_of(0)[-1].size()), known=known)
    assert (roomy.random_views, tight.random_views) == (4, 3)
    data = tight.rows(np.arange(10), torch.arange(10))
    assert isinstance(data, CachedViews)
    found = data.views(torch.arange(10), torch.Generator().manual_seed(0))
    assert (found.inputs[:, 0, 0, 0] // 10).tolist() == [*range(10), *range(10)]


def test_a_storage_that_cannot_hold_the_fewest_views_lets_go_of_all() -> None:
    storage = stored(10, budget=3 * one_row())
    assert storage.is_full
    assert storage.random_views == 0
    assert FEWEST_VIEWS == 2


def test_views_made_anew_are_those_asked_for() -> None:
    asked: list[tuple[int, int | None]] = []

    def look(wanted: Sequence[tuple[int, int | None]]) -> list[View]:
        asked.extend(wanted)
        return [views_of(picture)[1 if seed is not None else 0] for picture, seed in wanted]

    data = RecomputedViews(look, np.array([5, 2]), torch.tensor([0, 1]))
    found = data.views(torch.tensor([1, 0]), torch.Generator().manual_seed(0))
    assert found.inputs[:, 0, 0, 0].tolist() == [21, 51, 21, 51]
    assert found.snapshot is not None
    assert len({seed for _, seed in asked}) == 4, "each view is another"
    assert data.plain(torch.tensor([0]))[:, 0, 0, 0].tolist() == [50, 50]


def test_random_views_are_drawn_from_the_generator_alone() -> None:
    preprocess = Preprocessor(build_onnx(SIZE))
    image = picture(COLOURS["red"], 1, size=(60, 90))
    view = random_view(image, preprocess, np.random.default_rng(5))
    assert (view.shape, view.dtype) == ((1, SIZE, SIZE, 3), np.uint8)
    np.testing.assert_array_equal(view, random_view(image, preprocess, np.random.default_rng(5)))
    assert (view != random_view(image, preprocess, np.random.default_rng(6))).any()
    assert random_view(image[:1, :1], preprocess, np.random.default_rng(0)).shape == view.shape

from __future__ import annotations

import numpy as np

from prd_edge.series import series_of

D = 64


def spread_out(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, D)).astype(np.float32)


def test_pictures_as_different_as_the_class_is_are_no_series() -> None:
    assert len(set(series_of(spread_out(20), ["cup"] * 20).tolist())) == 20


def test_near_copies_are_one_series_however_long_the_chain() -> None:
    x = spread_out(20)
    step = 0.4 * spread_out(1, seed=1)
    x[5:10] = x[5] + step * np.arange(5)[:, None]  # each near the next only
    series = series_of(x, ["cup"] * 20)
    assert set(series[5:10]) == {5}
    assert len(set(series.tolist())) == 16


def test_what_is_alike_in_two_classes_is_two_series() -> None:
    x = spread_out(10)
    x[9] = x[0]
    series = series_of(x, ["cup"] * 5 + ["mug"] * 5)
    assert series[0] != series[9]


def test_two_pictures_tell_nothing_of_what_is_typical() -> None:
    assert series_of(np.zeros((2, D), np.float32), ["cup", "cup"]).tolist() == [0, 1]

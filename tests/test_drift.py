from __future__ import annotations

import numpy as np
import pytest

from prd_edge.bank import PrototypeBank
from prd_edge.drift import Drift, drift


def bank(**rows: tuple[float, ...]) -> PrototypeBank:
    labels = list(rows)
    x = np.array(list(rows.values()), np.float32)
    return PrototypeBank.empty(x.shape[1]).add(x, labels)


def test_how_far_and_whose_neighbour() -> None:
    before = bank(ant=(1, 0), bee=(0.8, 0.6), cat=(0, 1))
    after = bank(ant=(1, 0), bee=(0, 1), cat=(0, 1), dog=(0.9, 0.1))
    found = drift(before, after)
    assert list(found) == ["ant", "bee", "cat"]
    assert found["ant"] == Drift(pytest.approx(0.0, abs=1e-9), "bee", "dog")
    assert found["bee"] == Drift(pytest.approx(0.4, abs=1e-4), "ant", "cat")


def test_a_class_alone_has_no_neighbour() -> None:
    found = drift(bank(ant=(1, 0)), bank(ant=(0, 1)))
    assert found == {"ant": Drift(pytest.approx(1.0), None, None)}


def test_nothing_known_before() -> None:
    assert drift(PrototypeBank.empty(2), bank(ant=(1, 0))) == {}

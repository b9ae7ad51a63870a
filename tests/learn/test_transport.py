"""Old classes follow the encoder: exactly where its change is linear, nearly where it is not."""

from __future__ import annotations

import numpy as np
import pytest

from prd_edge.bank import PrototypeBank
from prd_edge.learn.transport import RIDGE, _ridge, transported
from prd_edge.readout import Readout

D, TRAINED = 12, slice(7, 12)
LABELS = ("ant", "bee", "cat")


def images(labels: tuple[str, ...], seed: int, count: int = 30) -> tuple[np.ndarray, list[str]]:
    random = np.random.default_rng(seed)
    centres = 2 * np.random.default_rng(9).standard_normal((26, D))
    own = [centres[ord(label[0]) - ord("a")] for label in labels for _ in range(count)]
    x = np.array(own) + 0.3 * random.standard_normal((len(own), D))
    return x.astype(np.float32), [label for label in labels for _ in range(count)]


def changed(x: np.ndarray, bend: float = 0.0) -> np.ndarray:
    """What training made of embeddings, in the trained dimensions."""
    linear = 0.4 * np.random.default_rng(1).standard_normal((D, 5))
    after = x.copy()
    after[:, TRAINED] += x @ linear + bend * np.sin(3 * x[:, TRAINED])
    return after


def test_a_linear_change_is_followed() -> None:
    x, labels = images(LABELS, seed=0)
    bank = PrototypeBank.empty(D).add(x, labels)
    expected = PrototypeBank.empty(D).add(changed(x), labels)
    seen, _ = images(tuple("defghijklmnopqrstuvwxyz"), seed=1)
    moved = transported(bank, seen, changed(seen)[:, TRAINED], TRAINED)
    np.testing.assert_allclose(moved.prototypes(), expected.prototypes(), atol=0.1)
    np.testing.assert_allclose(moved.covariance(), expected.covariance(), atol=0.05)
    still = np.abs(bank.prototypes() - expected.prototypes()).max()
    assert still > 1.0, "it was worth moving"
    assert (moved.labels, moved.counts.tolist()) == (bank.labels, bank.counts.tolist())


@pytest.mark.parametrize("count", [5, 40], ids=["fewer images than features", "more"])
def test_the_ridge_is_the_same_through_either_gram_matrix(count: int) -> None:
    random = np.random.default_rng(0)
    x, y = random.standard_normal((count, D)), random.standard_normal((count, 3))
    expected = np.linalg.inv(x.T @ x + RIDGE * np.eye(D)) @ x.T @ y
    np.testing.assert_allclose(_ridge(x, y), expected, atol=1e-9)


def test_what_is_not_trained_stays_to_the_bit() -> None:
    x, labels = images(LABELS, seed=0)
    bank = PrototypeBank.empty(D).add(x, labels)
    seen, _ = images(("dog", "elk"), seed=1)
    moved = transported(bank, seen, changed(seen, bend=0.5)[:, TRAINED], TRAINED)
    np.testing.assert_array_equal(moved.sums[:, :7], bank.sums[:, :7])
    np.testing.assert_allclose(
        moved.second_moment[:7, :7], bank.second_moment[:7, :7], rtol=1e-9, atol=1.0
    )


def test_a_change_that_is_not_linear_becomes_spread() -> None:
    x, labels = images(LABELS, seed=0)
    bank = PrototypeBank.empty(D).add(x, labels)
    seen, _ = images(tuple("defghijk"), seed=1)
    straight = transported(bank, seen, changed(seen)[:, TRAINED], TRAINED)
    bent = transported(bank, seen, changed(seen, bend=1.0)[:, TRAINED], TRAINED)
    assert np.trace(bent.covariance()[TRAINED, TRAINED]) > 1.2 * np.trace(
        straight.covariance()[TRAINED, TRAINED]
    )


def test_no_change_moves_nothing() -> None:
    x, labels = images(LABELS, seed=0)
    bank = PrototypeBank.empty(D).add(x, labels)
    seen, _ = images(("dog", "elk"), seed=1)
    moved = transported(bank, seen, seen[:, TRAINED], TRAINED)
    np.testing.assert_array_equal(moved.sums, bank.sums)
    np.testing.assert_allclose(moved.second_moment, bank.second_moment, rtol=1e-12, atol=1.0)


class TestGivenPrototypes:
    def bank(self) -> PrototypeBank:
        rows = np.random.default_rng(3).standard_normal((3, D))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        x = np.zeros((15, D), np.float32)
        labels = ["cat"] * 4 + ["ant"] * 9 + ["bee"] * 2
        return PrototypeBank.empty(D).add(x, labels).with_prototypes(rows)

    def test_they_have_no_spread(self) -> None:
        bank = self.bank()
        assert bank.labels == LABELS
        assert bank.counts.tolist() == [9, 2, 4]
        assert bank.degrees_of_freedom == 0
        np.testing.assert_allclose(np.linalg.norm(bank.prototypes(), axis=1), 1.0, atol=1e-4)
        assert not bank.covariance().any()

    def test_the_nearest_is_the_one_of_the_largest_cosine(self) -> None:
        bank = self.bank()
        x = np.random.default_rng(4).standard_normal((50, D)).astype(np.float32)
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        expected = (unit @ bank.prototypes().T).argmax(axis=1)
        np.testing.assert_array_equal(Readout.of(bank).scores(unit).argmax(axis=1), expected)

    def test_images_imprinted_later_bring_a_spread(self) -> None:
        bank = self.bank()
        x, labels = images(("dog",), seed=2)
        later = bank.add(x, labels)
        alone = PrototypeBank.empty(D).add(x, labels)
        assert later.degrees_of_freedom == 29
        np.testing.assert_allclose(later.covariance(), alone.covariance(), atol=1e-6)
        assert later.remove("ant").degrees_of_freedom >= 29

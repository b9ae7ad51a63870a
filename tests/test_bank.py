"""The bank's sums are exact: neither order nor number of sessions leaves a trace in them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prd_edge.bank import PrototypeBank
from prd_edge.errors import InvalidInputError, StoreCorruptError

D = 12


def embeddings(count: int, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(count, D))
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def assert_same_bits(a: PrototypeBank, b: PrototypeBank) -> None:
    assert a.labels == b.labels
    assert a.inherited == b.inherited
    for name in ("counts", "sums", "second_moment"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes(), name


@settings(max_examples=60, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10**6), count=st.integers(2, 60))
def test_any_order_and_any_split_into_sessions_gives_the_same_bank(
    data: st.DataObject, seed: int, count: int
) -> None:
    x = embeddings(count, seed)
    labels = data.draw(st.lists(st.sampled_from("abcde"), min_size=count, max_size=count))
    at_once = PrototypeBank.empty(D).add(x, labels)

    order = data.draw(st.permutations(range(count)))
    cuts = sorted(data.draw(st.sets(st.integers(1, count - 1), max_size=6)))
    bank = PrototypeBank.empty(D)
    for rows in np.split(np.array(order), cuts):
        bank = bank.add(x[rows], [labels[row] for row in rows])
    assert_same_bits(bank, at_once)


def test_a_class_that_comes_back_is_updated_as_if_all_its_images_had_come_at_once() -> None:
    x = embeddings(500)
    labels = ["cup"] * 250 + ["mug"] * 250
    at_once = PrototypeBank.empty(D).add(x, labels)
    sessions = PrototypeBank.empty(D)
    for rows in (slice(0, 100), slice(250, 500), slice(100, 250)):
        sessions = sessions.add(x[rows], labels[rows])
    assert_same_bits(sessions, at_once)


def test_sums_stay_exact_when_there_are_many_images() -> None:
    one = np.zeros((1, D), np.float32)
    one[0, 0], one[0, 1] = 0.9, -0.1
    bank = PrototypeBank.empty(D).add(np.repeat(one, 3000, axis=0), ["a"] * 3000)
    again = PrototypeBank.empty(D)
    for _ in range(3):
        again = again.add(np.repeat(one, 1000, axis=0), ["a"] * 1000)
    assert_same_bits(bank, again)
    np.testing.assert_allclose(bank.prototypes()[0, :2], [0.9, -0.1], atol=2e-5)


def test_prototypes_and_covariance_are_those_of_the_definition() -> None:
    x = embeddings(90).astype(np.float64)
    labels = np.array(["a", "b", "c"]).repeat([20, 30, 40])
    bank = PrototypeBank.empty(D).add(x.astype(np.float32), list(labels))
    within = np.zeros((D, D))
    for i, label in enumerate("abc"):
        members = x[labels == label]
        mean = members.mean(axis=0)
        np.testing.assert_allclose(bank.prototypes()[i], mean, atol=2e-5)
        for member in members:
            within += np.outer(member - mean, member - mean)
    np.testing.assert_allclose(bank.covariance(), within / (90 - 3), atol=2e-5)
    assert bank.degrees_of_freedom == 87


def test_literal_values() -> None:
    x = np.zeros((3, D), np.float32)
    x[0, 0], x[1, 0], x[2, 1] = 1.0, 0.5, 1.0
    bank = PrototypeBank.empty(D).add(x, ["b", "b", "a"])
    assert bank.labels == ("a", "b")
    assert bank.counts.tolist() == [1, 2]
    assert bank.prototypes()[1, 0] == 0.75
    assert bank.covariance()[0, 0] == pytest.approx(0.125)  # ((1 − ¾)² + (½ − ¾)²) / 1


def test_removing_a_class_keeps_the_spread_and_the_others() -> None:
    x = embeddings(60)
    bank = PrototypeBank.empty(D).add(x, ["a"] * 30 + ["b"] * 30)
    without = bank.remove("a")
    assert without.labels == ("b",)
    np.testing.assert_array_equal(without.prototypes(), bank.prototypes()[1:])
    np.testing.assert_allclose(without.covariance(), bank.covariance(), atol=1e-9)
    assert without.degrees_of_freedom == bank.degrees_of_freedom
    np.testing.assert_array_equal(without.second_moment, np.rint(without.second_moment))


def test_renaming_keeps_labels_sorted_and_numbers_with_their_class() -> None:
    bank = PrototypeBank.empty(D).add(embeddings(3), ["a", "b", "b"])
    renamed = bank.rename("a", "z")
    assert renamed.labels == ("b", "z")
    assert renamed.counts.tolist() == [2, 1]
    assert_same_bits(renamed.rename("z", "a"), bank)


def test_tensors_round_trip() -> None:
    bank = PrototypeBank.empty(D).add(embeddings(20), ["a", "b"] * 10).remove("a")
    again = PrototypeBank.from_tensors(
        {"b": 10}, D, bank.prototype_tensors(), bank.covariance_tensors()
    )
    assert_same_bits(again, bank)


def test_an_empty_bank_takes_no_room_for_its_covariance() -> None:
    empty = PrototypeBank.empty(D)
    assert empty.covariance_tensors()["second_moment"].size == 0
    again = PrototypeBank.from_tensors({}, D, empty.prototype_tensors(), empty.covariance_tensors())
    assert_same_bits(again, empty)


def test_size_does_not_depend_on_the_number_of_images() -> None:
    def size(images: int) -> int:
        bank = PrototypeBank.empty(D).add(embeddings(images), ["a", "b"] * (images // 2))
        tensors = [*bank.prototype_tensors().values(), *bank.covariance_tensors().values()]
        return sum(tensor.nbytes for tensor in tensors)

    assert size(10) == size(1000)


def test_unknown_and_taken_names_are_refused() -> None:
    bank = PrototypeBank.empty(D).add(embeddings(2), ["a", "b"])
    with pytest.raises(InvalidInputError, match=r"'c'.*known classes: a, b"):
        bank.remove("c")
    with pytest.raises(InvalidInputError, match="already a class named 'b'"):
        bank.rename("a", "b")


def test_values_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(StoreCorruptError, match="not numbers"):
        PrototypeBank.empty(D).add(np.full((1, D), np.nan, np.float32), ["a"])

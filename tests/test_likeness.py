from __future__ import annotations

import numpy as np
import pytest

from prd_edge.bank import PrototypeBank
from prd_edge.likeness import fit_radii
from prd_edge.readout import Readout, shrunk_covariance

D = 12


def bank(classes: int = 4, per_class: int = 30, noise: float = 0.2) -> PrototypeBank:
    generator = np.random.default_rng(0)
    x = np.repeat(np.eye(classes, D), per_class, axis=0)
    x = x + noise * generator.normal(size=x.shape)
    labels = np.repeat(list("abcd")[:classes], per_class)
    return PrototypeBank.empty(D).add(x.astype(np.float32), list(labels))


def likeness(readout: Readout, x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float32)
    scores = readout.scores(x)
    return readout.likeness(scores, scores.argmax(axis=1))


def test_it_is_what_the_equation_says() -> None:
    known = bank()
    sigma = shrunk_covariance(known)
    assert sigma is not None
    prototypes = known.prototypes()
    x = np.random.default_rng(1).normal(size=(7, D))
    middle = prototypes.mean(axis=0)
    inverse = np.linalg.inv(sigma)
    spread = prototypes - middle  # (C, D)
    lengths = [p @ inverse @ p for p in spread]
    kappa = 3 / 4 + 3 * 3 * np.mean([1 / length for length in lengths])
    # The shadow is what is left of a picture after the nearest point of the prototypes' space.
    root = np.linalg.cholesky(inverse).T
    basis = np.linalg.qr((spread[:3] @ root.T).T)[0]  # three of four around their middle span it
    for own, found in zip(x, likeness(Readout.of(known), x), strict=True):
        answer = Readout.of(known).scores(own[None].astype(np.float32)).argmax()
        shadow = np.square(basis.T @ root @ (own - middle)).sum()
        towards = (own - middle) @ inverse @ spread[answer]
        length = lengths[answer]
        expected = np.sqrt(1 + kappa) * towards / np.sqrt(length * (shadow + 3 / 4 * length))
        assert found == pytest.approx(expected, abs=1e-4)


def test_a_picture_of_a_class_is_more_like_it_than_one_of_nothing_known() -> None:
    readout = Readout.of(bank())
    generator = np.random.default_rng(2)
    known = np.eye(4, D)[generator.integers(4, size=100)] + 0.2 * generator.normal(size=(100, D))
    strange = np.eye(D)[generator.integers(4, D, size=100)] + 0.2 * generator.normal(size=(100, D))
    assert np.quantile(likeness(readout, known), 0.1) > np.quantile(likeness(readout, strange), 0.9)


def test_it_hardly_changes_when_the_bank_grows() -> None:
    generator = np.random.default_rng(3)
    x = np.eye(1, D) + 0.2 * generator.normal(size=(200, D))
    few, many = (likeness(Readout.of(bank(classes)), x).mean() for classes in (3, 4))
    assert few == pytest.approx(many, abs=0.1)


def test_among_some_classes_only() -> None:
    readout = Readout.of(bank()).among(["a", "b"])
    x = np.eye(2, D)
    assert (likeness(readout, x) > 0.5).all()


def test_where_there_is_nothing_to_compare_everything_is_alike() -> None:
    assert likeness(Readout.of(bank(1)), np.eye(3, D)).tolist() == [1.0, 1.0, 1.0]
    twins = PrototypeBank.empty(D).add(np.ones((4, D), np.float32), ["a", "a", "b", "b"])
    assert likeness(Readout.of(twins), np.eye(2, D)).tolist() == [1.0, 1.0]


class TestRadii:
    def test_almost_all_that_was_held_out_is_inside(self) -> None:
        generator = np.random.default_rng(0)
        values = generator.normal(0.7, 0.1, size=500).astype(np.float32)
        labels = list(np.where(np.arange(500) % 2, "a", "b"))
        radii = fit_radii(values, labels, ["a", "b"])
        inside = np.mean([v >= radii[label] for v, label in zip(values, labels, strict=True)])
        assert 0.97 < inside < 1.0

    def test_a_class_of_pictures_less_alike_has_a_lower_limit(self) -> None:
        values = np.array([0.9] * 20 + [0.5] * 20, np.float32)
        radii = fit_radii(values, ["a"] * 20 + ["b"] * 20, ["a", "b"])
        assert radii["a"] - radii["b"] == pytest.approx(0.4 * 20 / 70, abs=1e-3)

    def test_a_class_without_a_held_out_image_has_the_common_limit(self) -> None:
        values = np.array([0.6, 0.8], np.float32)
        radii = fit_radii(values, ["a", "a"], ["a", "c"])
        assert radii["c"] == pytest.approx(radii["a"])

    def test_a_few_images_that_are_all_alike_do_not_shut_the_others_out(self) -> None:
        values = np.array([0.6, 0.6], np.float32)
        assert fit_radii(values, ["a", "b"], ["a", "b"])["a"] == pytest.approx(0.28, abs=0.01)

    def test_without_held_out_images_there_is_nothing_to_fit(self) -> None:
        assert fit_radii(np.zeros(0, np.float32), [], ["a"]) == {}

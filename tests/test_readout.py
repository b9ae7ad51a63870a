from __future__ import annotations

import numpy as np
import pytest

from prd_edge.bank import PrototypeBank
from prd_edge.readout import Readout, Temperature, confidences, shrinkage, shrunk_covariance

D = 10


def clustered(per_class: int, classes: int = 4, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(classes, D))
    mixing = generator.normal(size=(D, D)) / 3
    x = (
        np.repeat(centres, per_class, axis=0)
        + generator.normal(size=(classes * per_class, D)) @ mixing
    )
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x.astype(np.float32), [f"c{i}" for i in range(classes) for _ in range(per_class)]


def test_scores_rank_as_the_mahalanobis_distance_does() -> None:
    x, labels = clustered(30)
    bank = PrototypeBank.empty(D).add(x, labels)
    sigma = shrunk_covariance(bank)
    assert sigma is not None
    inverse = np.linalg.inv(sigma)
    scores = Readout.of(bank).scores(x[:25])
    for row, point in zip(scores, x[:25].astype(np.float64), strict=True):
        distances = [(point - p) @ inverse @ (point - p) for p in bank.prototypes()]
        # score = −½ distance + a term that is the same for all classes
        expected = -0.5 * np.array(distances)
        np.testing.assert_allclose(row - row[0], expected - expected[0], rtol=1e-3, atol=1e-3)


def test_with_one_image_a_class_the_answer_is_the_nearest_by_cosine() -> None:
    x, labels = clustered(1, classes=6)
    bank = PrototypeBank.empty(D).add(x, labels)
    assert shrunk_covariance(bank) is None
    queries, _ = clustered(5, seed=1)
    cosine = queries @ x.T
    np.testing.assert_array_equal(
        Readout.of(bank).scores(queries).argmax(axis=1), cosine.argmax(axis=1)
    )


def test_images_that_embed_alike_leave_only_the_plain_metric() -> None:
    x, labels = clustered(1, classes=6)
    bank = PrototypeBank.empty(D).add(np.repeat(x, 3, axis=0), list(np.repeat(labels, 3)))
    assert shrunk_covariance(bank) is None
    np.testing.assert_array_equal(Readout.of(bank).scores(x).argmax(axis=1), np.arange(6))


def test_shrinkage_follows_the_counts() -> None:
    few = PrototypeBank.empty(D).add(*clustered(2))
    many = PrototypeBank.empty(D).add(*clustered(400))
    assert shrinkage(PrototypeBank.empty(D)) == 1.0
    assert shrinkage(few) == pytest.approx(D / (D + 5 * 4))
    assert shrinkage(many) == pytest.approx(D / (D + 5 * (1600 - 4)))


def test_the_shared_metric_beats_plain_distance_where_the_spread_is_lopsided() -> None:
    generator = np.random.default_rng(3)
    spread = np.diag([3.0, *[0.05] * (D - 1)])
    centres = np.eye(4, D, 1) * 0.5

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        y = np.repeat(np.arange(4), count)
        return (centres[y] + generator.normal(size=(len(y), D)) @ spread).astype(np.float32), y

    x, y = draw(50)
    bank = PrototypeBank.empty(D).add(x, [f"c{i}" for i in y])
    queries, truth = draw(100)
    plain = bank.prototypes()
    nearest = ((queries[:, None] - plain[None]) ** 2).sum(axis=2).argmin(axis=1)
    shared = Readout.of(bank).scores(queries).argmax(axis=1)
    assert (shared == truth).mean() > 0.95
    assert (shared == truth).mean() > (nearest == truth).mean() + 0.2


def test_tensors_round_trip_even_when_transposed_in_memory() -> None:
    x, labels = clustered(5)
    readout = Readout.of(PrototypeBank.empty(D).add(x, labels)).at(Temperature(2.5, 3))
    again = Readout.from_tensors(readout.labels, D, readout.tensors())
    np.testing.assert_array_equal(again.weights, readout.weights)
    np.testing.assert_array_equal(again.biases, readout.biases)
    np.testing.assert_array_equal(again.radii, readout.radii)
    for name, array in readout.directions._asdict().items():
        np.testing.assert_array_equal(getattr(again.directions, name), array)
    assert (again.temperature, again.margin) == (readout.temperature, readout.margin)


def test_confidences_of_huge_scores_are_finite() -> None:
    found = confidences(np.array([[1e6, -1e6, 0.0]], np.float32), 1.0)
    np.testing.assert_allclose(found, [[1.0, 0.0, 0.0]], atol=1e-6)

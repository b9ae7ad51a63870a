"""Answers are counted as a person would count them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics as theirs

from prd_edge import Runtime
from prd_edge.course import evaluate_course
from prd_edge.embedder import Embedder
from prd_edge.errors import NoUsableDataError
from prd_edge.evaluate import Evaluation, evaluate, evaluate_all
from prd_edge.model import load_predictor
from prd_edge.predictor import Predictor
from prd_edge.readout import Verdict
from prd_edge.store import Store
from tests.conftest import COLOURS, picture

Pairs = list[tuple[object, str]]
LABELS = ("a", "b", "c", "d")


class _Dice:
    """Stands for a readout whose answers are drawn at random."""

    labels = LABELS

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.given: list[Verdict] = []

    def verdict(self, _: np.ndarray) -> Verdict:
        confidences = self.random.dirichlet(np.ones(len(LABELS))).astype(np.float32)
        best = LABELS[int(confidences.argmax())]
        unknown = self.random.random() < 0.3
        self.given.append(
            Verdict(confidences, float(self.random.random()), None if unknown else best)
        )
        return self.given[-1]


class _NoEmbedder:
    threads = 1

    def prepare_for_many(self) -> None: ...

    def embed_among_many(self, _: np.ndarray) -> np.ndarray:
        return np.zeros(1, np.float32)


def rolled(truth: list[str], seed: int) -> tuple[Evaluation, list[Verdict]]:
    dice = _Dice(seed)
    predictor = Predictor(_NoEmbedder(), dice, "000001")  # type: ignore[arg-type]
    pairs = [(np.full((4, 4, 3), i, np.uint8), label) for i, label in enumerate(truth)]
    return evaluate(predictor, pairs), dice.given


@pytest.mark.parametrize("seed", range(4))
def test_random_answers_give_the_figures_of_scikit_learn(seed: int) -> None:
    truth = [str(c) for c in np.random.default_rng(seed).choice([*LABELS, "stranger"], 120)]
    found, given = rolled(truth, seed)
    said = [verdict.label or "unknown" for verdict in given]
    best = [LABELS[int(verdict.confidences.argmax())] for verdict in given]
    known = [i for i, label in enumerate(truth) if label in LABELS]
    strange = [i for i, label in enumerate(truth) if label not in LABELS]
    asked, answered = [truth[i] for i in known], [said[i] for i in known]
    assert found.accuracy == pytest.approx(theirs.accuracy_score(asked, answered))
    with pytest.warns(UserWarning, match="y_pred contains classes not in y_true"):
        balanced = theirs.balanced_accuracy_score(asked, answered)
    assert found.balanced_accuracy == pytest.approx(balanced)
    document = found.as_dict()
    expected = theirs.precision_score(truth, said, labels=[*LABELS], average=None)
    np.testing.assert_allclose([document["classes"][c]["precision"] for c in LABELS], expected)
    expected = theirs.recall_score(truth, said, labels=[*LABELS], average=None)
    np.testing.assert_allclose([document["classes"][c]["recall"] for c in LABELS], expected)
    counts = theirs.confusion_matrix(truth, said, labels=[*LABELS, "stranger", "unknown"])
    for row, label in enumerate([*LABELS, "stranger"]):
        assert [found.confusion[label, c] for c in LABELS] == list(counts[row, :4])
        assert found.confusion[label, None] == counts[row, 5]

    likeness = [given[i].likeness for i in (*known, *strange)]
    is_known = [1] * len(known) + [0] * len(strange)
    assert found.auroc == pytest.approx(theirs.roc_auc_score(is_known, likeness))
    assert found.strangers_told == pytest.approx(np.mean([said[i] == "unknown" for i in strange]))
    assert found.withheld == sum(said[i] == "unknown" and best[i] == truth[i] for i in known)
    assert found.unknown == said.count("unknown")
    assert document["images"] == 120


def test_the_surest_mistakes_are_named_first() -> None:
    truth = ["a"] * 60
    found, given = rolled(truth, 1)
    wrong = [
        (float(v.confidences.max()), f"item {i}")
        for i, v in enumerate(given)
        if v.label not in (None, "a")
    ]
    expected = sorted(wrong, reverse=True)[:20]
    assert [own.name for own in found.mistakes] == [name for _, name in expected]
    assert len(wrong) > 20


def test_only_strangers_leave_nothing_to_be_right_about() -> None:
    found, _ = rolled(["stranger"] * 5, 0)
    assert (found.accuracy, found.balanced_accuracy, found.calibration_error) == (None, None, None)
    assert found.auroc is None
    assert found.as_dict()["classes"]["stranger"]["recall"] is None


def test_pictures_are_not_held(taught: Path, decoded_alive: Callable[[], int]) -> None:
    """However many there are, few are alive at one time."""
    most = 0

    def pictures() -> Iterator[tuple[object, str]]:
        nonlocal most
        for seed in range(60):
            most = max(most, decoded_alive())
            yield picture(COLOURS["red"], seed), "red"

    predictor = load_predictor(Store(taught).live(), 2)
    assert evaluate(predictor, pictures()).images == 60
    assert 0 < most <= 24


class TestCourse:
    @pytest.fixture
    def data(self) -> Pairs:
        return [(picture(c, 900 + i), label) for label, c in COLOURS.items() for i in range(6)]

    def test_versions_are_asked_as_each_alone_would_be(self, taught: Path, data: Pairs) -> None:
        store = Store(taught)
        course = evaluate_course(store, data, threads=1)
        assert [own.version for own in course.evaluations] == ["000002", "000003"]
        for own in course.evaluations:
            alone = evaluate(load_predictor(store.version(own.version), 1), data)
            assert own.confusion == alone.confusion
            np.testing.assert_array_equal(own.confidences, alone.confidences)

    def test_an_encoder_that_versions_share_runs_once(
        self, taught: Path, data: Pairs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        runs = 0
        embed = Embedder.embed_among_many

        def counted(self: Embedder, image: np.ndarray) -> np.ndarray:
            nonlocal runs
            runs += 1
            return embed(self, image)

        monkeypatch.setattr(Embedder, "embed_among_many", counted)
        evaluate_course(Store(taught), data, threads=1)
        assert runs == len(data)

    def test_classes_are_grouped_by_when_they_came(self, taught: Path, data: Pairs) -> None:
        course = evaluate_course(Store(taught), data, threads=1)
        assert [(g.version, g.classes) for g in course.groups()] == [
            ("000002", ("blue", "green")),
            ("000003", ("red",)),
        ]
        matrix = course.matrix()
        assert matrix[0][1] == 0.0  # red cannot be named before it is taught
        assert course.accuracies()[0] == matrix[0][0]
        figures = course.figures()
        assert figures["forgetting"] == pytest.approx(matrix[0][0] - matrix[1][0])
        assert figures["average_incremental_accuracy"] == pytest.approx(
            sum(course.accuracies()) / 2
        )

    def test_a_branch_that_was_left_is_no_ancestor(self, taught: Path, data: Pairs) -> None:
        runtime = Runtime.open(taught)
        runtime.rollback("000002")
        runtime.rename("blue", "azure")
        assert [version.name for version in Store(taught).live().lineage()] == [
            "000001",
            "000002",
            "000004",
        ]
        renamed = [(image, "azure" if label == "blue" else label) for image, label in data]
        groups = evaluate_course(Store(taught), renamed, threads=1).groups()
        assert [(g.version, g.classes) for g in groups] == [
            ("000002", ("green",)),
            ("000004", ("azure",)),
        ]

    def test_a_store_without_classes(self, tmp_path: Path, data: Pairs) -> None:
        runtime = Runtime.open(tmp_path / "empty")
        runtime.init()
        with pytest.raises(NoUsableDataError, match="knows no class yet"):
            evaluate_course(runtime.store, data)
        with pytest.raises(NoUsableDataError, match="knows no class yet"):
            evaluate_all([load_predictor(runtime.store.live())], data)

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prd_edge import Runtime
from prd_edge.bank import PrototypeBank
from prd_edge.errors import ImageError, InvalidInputError, StoreError
from prd_edge.feedback import corrected
from prd_edge.model import load_knowledge
from prd_edge.readout import Readout
from tests.conftest import COLOURS, TINY, picture, write_session

D = 6


def known() -> PrototypeBank:
    generator = np.random.default_rng(0)
    x = np.repeat(np.eye(3, D), 20, axis=0) + 0.1 * generator.normal(size=(60, D))
    return PrototypeBank.empty(D).add(x.astype(np.float32), list(np.repeat(list("abc"), 20)))


def between(share: float) -> np.ndarray:
    """Between the prototypes of a and b, `share` of the way to b."""
    return ((1 - share) * np.eye(D)[0] + share * np.eye(D)[1]).astype(np.float32)


def answer(bank: PrototypeBank, x: np.ndarray) -> str | None:
    return Readout.of(bank).verdict(x).label


def after(bank: PrototypeBank, x: np.ndarray, label: str, *, is_it: bool) -> PrototypeBank:
    return corrected(bank, Readout.of(bank), x, label, is_it=is_it)


def test_a_picture_near_the_border_is_moved_across_it() -> None:
    bank, x = known().with_radii(dict.fromkeys("abc", -1.0)), between(0.53)
    assert answer(bank, x) == "b"
    assert answer(after(bank, x, "a", is_it=True), x) == "a"
    assert answer(after(bank, x, "b", is_it=False), x) != "b"


def test_one_odd_picture_does_not_turn_the_other_answers() -> None:
    bank, x = known(), between(1.0)
    changed = after(bank, x, "a", is_it=True)
    assert answer(changed, x) == "b"
    assert np.abs(changed.leanings).max() <= 0.1 + 1e-9
    for row, label in enumerate("abc"):
        assert answer(changed, np.eye(D, dtype=np.float32)[row]) == label


def test_said_often_enough_it_is_believed() -> None:
    bank, x = known(), between(0.8)
    for _ in range(20):
        bank = after(bank, x, "a", is_it=True)
    assert answer(bank, x) == "a"


def test_what_was_unknown_is_let_in() -> None:
    x = between(0.05)
    bank = known()
    like = Readout.of(bank).verdict(x).likeness
    bank = bank.with_radii({"a": like + 0.05})
    assert answer(bank, x) is None
    assert answer(after(bank, x, "a", is_it=True), x) == "a"


def test_what_is_right_already_changes_nothing() -> None:
    bank = known()
    assert after(bank, between(0.0), "a", is_it=True).has_same_numbers(bank)
    assert after(bank, between(0.0), "b", is_it=False).has_same_numbers(bank)
    assert answer(bank, between(0.5)) is None
    assert after(bank, between(0.5), "b", is_it=False).has_same_numbers(bank)


def test_prototypes_and_covariance_never_move() -> None:
    bank, x = known(), between(0.6)
    for changed in (after(bank, x, "a", is_it=True), after(bank, x, "b", is_it=False)):
        np.testing.assert_array_equal(changed.sums, bank.sums)
        np.testing.assert_array_equal(changed.second_moment, bank.second_moment)
        np.testing.assert_array_equal(changed.counts, bank.counts)


def test_the_only_class_cannot_be_denied() -> None:
    only = PrototypeBank.empty(D).add(np.eye(2, D, dtype=np.float32), ["a", "a"])
    with pytest.raises(InvalidInputError, match="the only class"):
        after(only, between(0.0), "a", is_it=False)


class TestOnAStore:
    @pytest.fixture
    def runtime(self, tmp_path: Path) -> Runtime:
        runtime = Runtime.open(tmp_path / "store", config=TINY, threads=1)
        runtime.learn_session(write_session(tmp_path / "data"), mode="imprint")
        return runtime

    def test_it_makes_a_version_only_if_something_changes(self, runtime: Runtime) -> None:
        shown = picture(COLOURS["red"], 999)
        before = runtime.version
        right = runtime.feedback(shown, label="red")
        assert right.after == "red"
        wrong = runtime.feedback(shown, label="blue")
        assert wrong.version is not None
        assert wrong.version == runtime.version != before
        assert runtime.history()[-1].action == "feedback: is 'blue'"
        assert not wrong.is_settled

    def test_it_outlives_the_next_session_and_a_rename(self, runtime: Runtime) -> None:
        runtime.feedback(picture(COLOURS["red"], 999), label="blue")
        said = load_knowledge(runtime.store.live()).bank
        runtime.rename("blue", "azure")
        white = [(picture((250, 250, 250), seed), "white") for seed in range(6)]
        runtime.learn_session(white, mode="imprint")
        bank = load_knowledge(runtime.store.live()).bank
        assert bank.leanings[bank.index("azure")] == said.leanings[said.index("blue")] > 0
        assert bank.leanings[bank.index("white")] == 0

    def test_bad_calls(self, runtime: Runtime, tmp_path: Path) -> None:
        shown = picture(COLOURS["red"], 999)
        with pytest.raises(InvalidInputError, match="no class named 'mug'"):
            runtime.feedback(shown, label="mug")
        with pytest.raises(InvalidInputError, match="either what the picture is"):
            runtime.feedback(shown, label="red", not_label="blue")
        with pytest.raises(ImageError, match=r"gone\.jpg"):
            runtime.feedback(tmp_path / "gone.jpg", label="red")
        with pytest.raises(StoreError):
            Runtime.open(tmp_path / "elsewhere").feedback(shown, label="red")
        assert not (tmp_path / "elsewhere").exists()

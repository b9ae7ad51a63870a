"""Which sessions move the encoder, where nobody has said."""

from __future__ import annotations

from pathlib import Path

import pytest

from prd_edge import Runtime, StoreConfig
from prd_edge.encoders import EncoderSpec
from prd_edge.training import is_worth_training
from tests.conftest import COLOURS, picture

SPEC = EncoderSpec("efficientnet_lite0", 224, (4,), "")
KNOWN = [f"class {i}" for i in range(7)]


@pytest.mark.parametrize(
    ("labels", "known", "expected"),
    [
        (list("abcd"), [], True),
        (list("abc"), [], False),
        (list("abcd"), KNOWN, True),  # 4 of 11
        (list("abcd"), [*KNOWN, "x", "y", "z"], False),  # 4 of 14
        (KNOWN[:4], KNOWN, True),
        (KNOWN[:3], KNOWN, False),
        ([], KNOWN, True),  # not told
    ],
)
def test_the_session_brings_a_fair_part_of_all_classes(
    labels: list[str], known: list[str], expected: bool
) -> None:
    assert is_worth_training(SPEC, labels, known) == expected


def test_an_encoder_that_started_untrained_always_has_something_to_learn() -> None:
    assert is_worth_training(SPEC._replace(name="resnet18_scratch"), ["a"], KNOWN)


def pairs(*labels: str) -> list[tuple[object, str]]:
    colours = {**COLOURS, "white": (230, 230, 230), "black": (26, 26, 26)}
    return [(picture(colours[label], seed), label) for label in labels for seed in range(5)]


def test_a_small_session_is_imprinted_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prd_edge.learning.torch_is_installed", lambda: True)
    runtime = Runtime.open(tmp_path / "store", config=StoreConfig(image_size=32), threads=1)
    runtime.learn_session(pairs("blue", "green", "red"), mode="imprint")
    report = runtime.learn_session(pairs("white"))
    assert (report.mode, report.training) == ("imprint", None)
    assert report.note == "too few classes to train on; --mode prd trains anyway"
    assert runtime.learn_session(pairs("black"), mode="imprint").note is None

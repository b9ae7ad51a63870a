"""On photographs from shops, where they are: it learns, in two sessions, what it should."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prd_edge import Runtime
from prd_edge.evaluate import evaluate
from prd_edge.model import load_predictor

FIRST = ("Banana", "Leek", "Mango", "Orange")
SECOND = ("Lemon", "Ginger", "Avocado", "Orange")
SEEN = {*FIRST, *SECOND}


def pairs(root: Path, labels: tuple[str, ...], images: slice) -> list[tuple[object, str]]:
    return [
        (path, label) for label in labels for path in sorted((root / label).glob("*.jpg"))[images]
    ]


@pytest.mark.data
def test_groceries(data_sets: Path, tmp_path: Path) -> None:
    train, test = data_sets / "grocery/train", data_sets / "grocery/test"
    runtime = Runtime.open(tmp_path / "store")
    runtime.learn_session(pairs(train, FIRST, slice(0, 10)))
    runtime.learn_session(pairs(train, SECOND, slice(10, 20)))
    assert runtime.classes()["Orange"] == 20
    predictor = load_predictor(runtime.store.live())
    known = pairs(test, tuple(SEEN), slice(0, 8))
    result = evaluate(predictor, known, always_answer=True)
    assert result.accuracy > 0.85  # a guess is right one time in seven

    strange = [path for path in sorted(test.glob("*/*.jpg"))[::20] if path.parent.name not in SEEN]
    rejected = [answer.unknown for answer in predictor.predict_many(strange)]
    assert evaluate(predictor, known).unknown / len(known) < 0.2 < np.mean(rejected)

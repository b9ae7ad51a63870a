"""On photographs from shops, where they are: it learns what it should, and all say the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prd_edge import Runtime
from prd_edge.evaluate import evaluate
from prd_edge.images import decode
from prd_edge.model import ENCODER, load_predictor, parse_tensors
from prd_edge.store import ENCODER_GRAPH

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


@pytest.mark.data
def test_torch_store_and_exported_files_agree(data_sets: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from prd_edge.learn.encoders import load_stored
    from prd_edge.learn.parity import check_parity

    runtime = Runtime.open(tmp_path / "store")
    train = data_sets / "grocery/train"
    runtime.learn_session(pairs(train, tuple(sorted(SEEN)), slice(0, 10)), mode="imprint")
    for name, start in (("checked", 0), ("fitted", 12)):
        (tmp_path / name).mkdir()
        for number, path in enumerate(
            sorted((data_sets / "grocery/test").glob("*/*.jpg"))[start::24]
        ):
            (tmp_path / name / f"{number:03}.jpg").symlink_to(path)
    photographs = sorted((tmp_path / "checked").iterdir())
    assert len(photographs) >= 100

    version = runtime.store.live()
    looks = load_predictor(version).embedder.preprocess
    squares = np.concatenate([looks(decode(path)) for path in photographs])
    module = load_stored(version.manifest.encoder, parse_tensors(version.read(ENCODER), ENCODER))
    assert check_parity(module.eval(), version.read(ENCODER_GRAPH), squares) < 1e-4

    whole = runtime.export(tmp_path / "model.onnx", images=tmp_path / "checked")
    assert (whole.images, whole.top1_agreement) == (len(photographs), 1.0)
    assert whole.largest_difference < 1e-4
    small = runtime.export(
        tmp_path / "small.onnx",
        format="onnx-int8",
        calibrate=tmp_path / "fitted",
        images=tmp_path / "checked",
    )
    assert small.images == len(photographs)
    assert small.top1_agreement >= 0.97

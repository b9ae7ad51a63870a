"""Exported files and their certificates, damaged or made by somebody else: `--check` notices."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import onnx
import pytest

from . import tiny
from .command import Outcome, run
from .hostile_json import TEXTS
from .rounds import rounds

CERTIFICATE = "model.onnx.certificate.json"
KINDS = ("flip", "flip", "flip", "truncate", "extend", "zero", "empty", "pipe", "folder", "endless")


@cache
def exported() -> tuple[TemporaryDirectory[str], Path]:
    """A store and its export, made once."""
    made = TemporaryDirectory(prefix="prd-edge-exports-")
    folder = Path(made.name)
    store = tiny.make_store(folder / "store")
    assert run("export", "-o", folder / "model.onnx", "--store", store).code == 0
    return made, folder


def check(folder: Path, images: Path | None = None) -> Outcome:
    store = exported()[1] / "store"
    given = ("--images", images) if images else ()
    return run("export", "--check", folder / "model.onnx", *given, "--store", store)


def campaign(random: Random, folder: Path) -> Counter[str]:
    done: Counter[str] = Counter()
    for _ in range(20):
        place = folder / "place"
        place.mkdir()
        for name in ("model.onnx", CERTIFICATE):
            shutil.copyfile(exported()[1] / name, place / name)
        damage(random, place / random.choice(("model.onnx", CERTIFICATE)))
        outcome = check(place)
        assert outcome.code in (2, 4, 5), outcome
        assert outcome.out == ""
        assert len(outcome.complaints) == 1
        done["exports fuzzed"] += 1
        shutil.rmtree(place)
    return done


def damage(random: Random, path: Path) -> None:
    before = path.read_bytes()
    data = bytearray(before)
    kind = random.choice(KINDS)
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    else:
        at = random.randrange(len(data))
        if kind == "truncate":
            del data[at:]
        elif kind == "extend":
            data += random.randbytes(random.randint(1, 100)).replace(b"\n", b"x")
        elif kind == "empty":
            data.clear()
        elif kind == "zero":
            data[at : at + 16] = bytes(len(data[at : at + 16]))
        if bytes(data) == before:
            data[at] ^= 1 << random.randrange(8)
        path.write_bytes(data)


@pytest.mark.parametrize("seed", range(2))
def test_exports(tmp_path: Path, seed: int) -> None:
    assert rounds(campaign, seed, tmp_path, count=5)["exports fuzzed"] == 100


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The export without its certificate: what it is, only asking can tell."""
    shutil.copyfile(exported()[1] / "model.onnx", tmp_path / "model.onnx")
    tiny.write_session(tmp_path / "data", "red", "blue")
    return tmp_path


def changed(place: Path, change: Any) -> Outcome:
    model = onnx.load(place / "model.onnx")
    change(model)
    (place / "model.onnx").write_bytes(model.SerializeToString())
    return check(place, place / "data")


def test_an_export_that_is_whole(place: Path) -> None:
    assert check(place, place / "data").code == 0
    shutil.copyfile(exported()[1] / CERTIFICATE, place / CERTIFICATE)
    assert check(place, place / "data").code == 0


@pytest.mark.parametrize("key", ["top1_agreement", "images", "largest_difference"])
def test_a_certificate_that_promises_something_else(place: Path, key: str) -> None:
    text = (exported()[1] / CERTIFICATE).read_text()
    (place / CERTIFICATE).write_text(text.replace(f'"{key}": ', f'"{key}": 9'))
    outcome = check(place, place / "data")
    assert outcome.code == 5
    assert "was changed" in outcome.err


@pytest.mark.parametrize("text", ["{}", "[]", "1", '["red", 5]', '["a"]', "[" * 9000, *TEXTS[:6]])
def test_classes_in_the_metadata_that_are_none(place: Path, text: str) -> None:
    def change(model: onnx.ModelProto) -> None:
        for entry in model.metadata_props:
            if entry.key == "classes":
                entry.value = text

    assert changed(place, change).code == 2


def test_external_data_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)

    def change(model: onnx.ModelProto) -> None:
        own = next(t for t in model.graph.initializer if len(t.raw_data) >= 4)
        (place / "secret").write_bytes(own.raw_data)
        size = str(len(own.raw_data))
        own.ClearField("raw_data")
        own.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", "secret"), ("length", size)):
            own.external_data.add(key=key, value=value)

    outcome = changed(place, change)
    assert outcome.code == 4
    assert "other files" in outcome.err


def test_other_outputs(place: Path) -> None:
    def change(model: onnx.ModelProto) -> None:
        del model.graph.output[0]

    assert changed(place, change).code in (2, 4)


def test_answers_that_are_no_class(place: Path) -> None:
    def change(model: onnx.ModelProto) -> None:
        (node,) = [node for node in model.graph.node if "answer" in node.output]
        node.output[0] = "inner_answer"
        for other in model.graph.node:
            other.input[:] = ["inner_answer" if i == "answer" else i for i in other.input]
        model.graph.initializer.add(name="large", data_type=7, dims=[1], int64_data=[10**9])
        model.graph.node.append(onnx.helper.make_node("Add", ["inner_answer", "large"], ["answer"]))

    assert changed(place, change).code == 2


def test_a_certificate_that_was_written_anew_is_noticed(place: Path) -> None:
    text = (exported()[1] / CERTIFICATE).read_text()
    (place / CERTIFICATE).write_text(text + " ")
    outcome = check(place)
    assert outcome.code == 5
    assert "is not the certificate of" in outcome.err


def test_the_current_folder_is_no_export() -> None:
    outcome = run("export", "--check", ".", "--store", exported()[1] / "store")
    assert outcome.code == 2
    assert "is not a file" in outcome.err

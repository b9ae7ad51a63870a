"""A store of every released schema opens, gives the answers it gave then, and learns on."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from prd_edge import Runtime
from prd_edge.manifest import SCHEMA, _canonical, _checksum
from tests.golden.make import GOLDEN, answers
from tests.tiny_store import pairs

STORES = sorted(path.name for path in GOLDEN.glob("schema-*"))


@pytest.fixture(params=STORES)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return shutil.copytree(GOLDEN / request.param, tmp_path / "golden")


def test_there_is_one_for_the_schema_of_today() -> None:
    assert f"schema-{SCHEMA}" in STORES


def test_every_byte_is_what_was_written(golden: Path) -> None:
    assert not any(Runtime.open(golden / "store").store.problems().values())


def test_every_version_answers_as_it_did(golden: Path) -> None:
    runtime = Runtime.open(golden / "store")
    asked = sorted(golden.glob("answers-*.json"))
    assert asked
    for file in asked:
        runtime.rollback(re.findall(r"\d+", file.name)[-1])
        for name, expected in json.loads(file.read_text()).items():
            found = answers(runtime)[name]
            assert found["label"] == expected["label"], name
            assert found["unknown"] == expected["unknown"], name
            assert found["confidences"] == pytest.approx(expected["confidences"], abs=1e-4), name


def test_it_learns_on(golden: Path) -> None:
    runtime = Runtime.open(golden / "store")
    before = runtime.classes()
    report = runtime.learn_session(pairs("red", start=300), mode="imprint")
    assert runtime.classes() == {**before, "red": before["red"] + 6}
    assert not any(runtime.store.problems().values())
    assert report.version == "000006"
    runtime.forget("blue")
    assert "blue" not in runtime.classes()


COMMANDS: dict[str, tuple[str, ...]] = {
    "predict": ("picture.png",),
    "classes": ("list",),
    "info": (),
    "evaluate": (".",),
    "export": ("-o", "model.onnx"),
    "forget": ("red",),
    "feedback": ("picture.png", "--is", "red"),
    "gc": (),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_newer_schema_is_refused_with_a_clear_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prd_edge: Callable[..., tuple]
) -> None:
    store = shutil.copytree(GOLDEN / f"schema-{SCHEMA}/store", tmp_path / "store")
    for path in store.glob("versions/*/manifest.json"):
        newer = json.loads(path.read_bytes())
        del newer["checksum"]
        newer["schema"] = SCHEMA + 1
        newer["of_the_future"] = {"unheard": "of"}
        path.write_bytes(_canonical({**newer, "checksum": _checksum(newer)}))
    (tmp_path / "red").mkdir()
    for place in ("picture.png", "red/picture.png"):
        Image.fromarray(pairs("red", images=1)[0][0]).save(tmp_path / place)
    monkeypatch.chdir(tmp_path)
    code, out, err = prd_edge(command, *COMMANDS[command], "--store", store)
    assert (code, out) == (4, "")
    assert len(err.splitlines()) == 1
    assert "written by a newer prd-edge" in err
    assert "pip install --upgrade prd-edge" in err

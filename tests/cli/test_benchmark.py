"""`prd-edge benchmark`: what is printed, what is only read, and that nothing stays behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from prd_edge import device_speed
from prd_edge.cli.benchmark import _print_markdown
from prd_edge.predict_process import PredictProcess
from prd_edge.version import __version__

from .conftest import Command, Outcome, fingerprint, start_process


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made, for a workload that is soon done."""
    monkeypatch.setattr(device_speed, "USUAL", device_speed.Workload(2, 3, 32))
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PRD_EDGE_STORE", raising=False)
    return folder


def test_a_table_without_any_store(command: Command, scratch: Path, tmp_path: Path) -> None:
    code, out, err = command("benchmark", "--repeats", "1", "--threads", "1")
    assert code == 0, err
    lines = out.splitlines()
    assert len({len(line) for line in lines}) == 1
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    assert rows[0] == [f"prd-edge {__version__}", ""]
    assert all(set(cell) == {"-"} for cell in rows[1])
    table = dict(rows[2:])
    assert table["model"] == "efficientnet_lite0 at 32 px, 2 classes, temporary store"
    assert ", 1 used; " in table["cores"]
    for name, shape in (
        ("memory", r"[\d.]+ GB"),
        ("cold start, one image", r"[\d.]+ s"),
        ("one image", r"[\d.]+ ms; 95 % within [\d.]+ ms"),
        ("many images", r"[\d.]+ images/s"),
        ("imprint 2 × 3 images", r"[\d.]+ s, temporary store"),
        ("memory to predict", r"\d+ MB at most"),
    ):
        assert re.fullmatch(shape, table[name]), table[name]
    assert "drawing pictures" in err
    assert list(scratch.iterdir()) == []
    assert list(tmp_path.iterdir()) == [scratch]


def test_a_store_is_measured_and_only_read(command: Command, store: Path, scratch: Path) -> None:
    before = fingerprint(store)
    code, out, err = command("benchmark", "--repeats", "1", "--store", store, "--json")
    assert code == 0, err
    document = json.loads(out)
    assert (document["schema"], document["repeats"]) == (1, 1)
    assert document["temporary_store"] is False
    assert document["device"]["prd_edge"] == __version__
    assert document["workload"]["classes"] == 2
    speed = document["speed"]
    assert speed.pop("model")["classes"] == 3
    assert all(figure > 0 for figure in speed.values())
    assert fingerprint(store) == before
    assert list(scratch.iterdir()) == []


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Path | None]:
    """The stores that would have been measured."""
    asked: list[Path | None] = []

    def note(store: Path | None, **_: object) -> None:
        asked.append(store)
        raise KeyboardInterrupt

    monkeypatch.setattr(device_speed, "measure", note)
    return asked


def test_which_store_is_measured(
    command: Command,
    measured: list[Path | None],
    store: Path,
    empty_store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in (store, empty_store, tmp_path / "none"):
        monkeypatch.setenv("PRD_EDGE_STORE", str(variable))
        command("benchmark")
    monkeypatch.delenv("PRD_EDGE_STORE")
    store.rename(tmp_path / "prd_store")
    command("benchmark")
    command("benchmark", "--store", tmp_path / "none")
    assert measured == [store, None, None, Path("prd_store"), tmp_path / "none"]


def test_a_store_that_cannot_answer(
    refused: Callable[..., Outcome], empty_store: Path, tmp_path: Path
) -> None:
    missing = tmp_path / "none"
    refused("benchmark", "--store", missing, code=4, says=("there is no store at", "none"))
    refused("benchmark", "--store", empty_store, code=3, says=("knows no class yet",))


def test_no_room_for_a_temporary_store(
    refused: Callable[..., Outcome], scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = shutil.disk_usage(scratch)._replace(free=7_000_000)
    monkeypatch.setattr(device_speed, "disk_usage", lambda _: used)
    refused("benchmark", code=4, says=(f"{scratch} has only 7 MB free", "TMPDIR"))
    assert list(scratch.iterdir()) == []
    monkeypatch.setattr(tempfile, "tempdir", str(scratch / "none"))
    refused("benchmark", code=4, says=("cannot make a temporary folder", "TMPDIR"))


def test_stopped_on_the_way(
    command: Command, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there: list[Path] = []

    def stop(*_: object) -> None:
        there.extend(scratch.iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr(PredictProcess, "run", stop)
    code, out, _ = command("benchmark", "--repeats", "1")
    assert (code, out, len(there)) == (130, "", 1)
    assert list(scratch.iterdir()) == []


def test_ctrl_c_leaves_nothing_behind(scratch: Path) -> None:
    with start_process("benchmark", env={**os.environ, "TMPDIR": str(scratch)}) as running:
        while not any(scratch.glob("prd-edge-*")) and running.poll() is None:
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert out == b""
    assert b"interrupted" in err
    assert list(scratch.glob("prd-edge-*")) == []  # onnxruntime leaves a file of its own there


def test_a_bar_in_a_name_does_not_break_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    _print_markdown([("a", "b"), ("c|d", "e")])
    assert capsys.readouterr().out == "| a    | b |\n| ---- | - |\n| c\\|d | e |\n"

"""What a person sees of a session that trains."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from prd_edge import Runtime
from tests.conftest import write_session

Cli = Callable[..., tuple[int, str, str]]
TRAIN = ("--mode", "prd", "--recipe", "edge", "--train-from", "layer4.0", "--epochs", "2")


@pytest.fixture
def store(tmp_path: Path, prd_edge: Cli) -> Path:
    """With a small encoder, and no class yet."""
    place = tmp_path / "store"
    arguments = ("--encoder", "resnet18_scratch", "--image-size", "32", "--store", place)
    assert prd_edge("init", *arguments)[0] == 0
    return place


@pytest.fixture
def sessions(tmp_path: Path) -> tuple[Path, Path]:
    first = write_session(tmp_path / "one", classes=("blue", "green"))
    return first, write_session(tmp_path / "two", classes=("green", "red"), start=40)


def test_the_estimate_comes_first_and_the_table_last(
    prd_edge: Cli, store: Path, sessions: tuple[Path, Path]
) -> None:
    code, out, err = prd_edge("learn-session", sessions[0], "--store", store, *TRAIN, "--seed", "1")
    assert code == 0, err
    assert re.search(r"^estimate: \d+ s and \d+ MB \(12 images, 4 views each, 2 epochs, ", err)
    assert re.search(r"learned by +training, recipe edge, from layer4\.0: 2 of 2 steps", out)
    code, out, err = prd_edge("learn-session", sessions[1], "--store", store, *TRAIN)
    assert code == 0, err
    assert re.search(r"hold-out \(2 images\) +\d+\.\d % → \d+\.\d % \(imprinting: \d+\.\d %\)", out)
    assert re.search(r"^known class +moved +nearest class$", out, re.MULTILINE)
    assert re.search(r"^green +0\.\d{4}  blue", out, re.MULTILINE)
    assert "new version" in out


def test_json(prd_edge: Cli, store: Path, sessions: tuple[Path, Path]) -> None:
    for folder in sessions:
        code, out, err = prd_edge("learn-session", folder, "--store", store, *TRAIN, "--json")
        assert code == 0, err
    report = json.loads(out)
    assert report["mode"] == "prd"
    assert set(report["drift"]) == {"blue", "green"}
    assert set(report["drift"]["blue"]) == {"distance", "nearest_before", "nearest_after"}
    assert report["training"]["kept"] is True
    assert set(report["training"]["losses"]) == {"contrastive", "tightness", "relation"}


def test_what_was_not_kept_is_told(prd_edge: Cli, store: Path, tmp_path: Path) -> None:
    few = write_session(tmp_path / "few", images=3)
    code, out, err = prd_edge("learn-session", few, "--store", store, *TRAIN)
    assert code == 0, err
    assert "note: no class has the 5 images" in err
    assert re.search(r"learned by +imprinting", out)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--recipe", "magic"), "no recipe named 'magic'; choose one of edge, paper"),
        (("--train-from", "nowhere"), "no stage named 'nowhere'; choose one of stem, "),
        (("--max-memory", "100"), "100 MB of memory are too little to train: about "),
        (("--epochs", "0"), "--epochs"),
        (("--seed", "-1"), "--seed"),
        (("--max-seconds", "nan"), "max_seconds is nan"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_makes_no_sense(
    prd_edge: Cli, store: Path, sessions: tuple[Path, Path], options: tuple[str, ...], says: str
) -> None:
    code, out, err = prd_edge(
        "learn-session", sessions[0], "--store", store, "--mode", "prd", *options
    )
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err
    assert Runtime.open(store).classes() == {}


def test_ctrl_c_while_training(store: Path, sessions: tuple[Path, Path]) -> None:
    many = ("--epochs", "100000")
    arguments = ("learn-session", sessions[0], "--store", store, *TRAIN, *many)
    command = [sys.executable, "-m", "prd_edge", *map(str, arguments)]
    before = (store / "CURRENT").read_bytes()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    ) as running:
        assert running.stderr is not None
        assert running.stderr.readline().startswith(b"estimate")
        time.sleep(1.0)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err.decode()
    assert (out, b"interrupted" in err, b"Traceback" in err) == (b"", True, False)
    assert (store / "CURRENT").read_bytes() == before
    assert not any(Runtime.open(store).store.problems().values())

"""A training session killed in any of its phases loses nothing, and goes on when started again."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prd_edge import Runtime, StoreConfig
from prd_edge.learn import checkpointing
from tests.conftest import write_session

SESSION = """
import os, signal, sys
from prd_edge import Runtime, files
from prd_edge.learn import checkpointing

store, data, stage, at = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
checkpointing.SECONDS_BETWEEN = 0.0
seen = 0

def die_at(what):
    global seen
    seen += what == stage
    if seen == at:
        os.kill(os.getpid(), signal.SIGKILL)

files.before_operation = lambda operation, path: die_at(f"{operation} {path.name}")
Runtime.open(store, threads=1).learn_session(
    data, mode="prd", recipe="edge", train_from="layer4.0", epochs=3, seed=0,
    on_progress=lambda step: die_at(step.stage),
)
"""
# (phase, how often it is passed) -> epochs that need not be made again
DEATHS = {
    ("reading images", 3): 0,
    ("training", 1): 0,
    ("training", 2): 1,
    ("write .tmp-checkpoint", 1): 0,
    ("rename checkpoint", 2): 1,
    ("create encoder.onnx", 1): 3,
    ("rename CURRENT.copy", 1): 3,
    ("rename CURRENT", 1): 3,
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, str]]:
    """A store with one session behind it, a second session, and what it makes undisturbed."""
    folder = tmp_path_factory.mktemp("killed")
    first = write_session(folder / "first", classes=("blue", "green"))
    second = write_session(folder / "second", classes=("green", "red"), start=50)
    stores = []
    for name in ("begun", "whole"):
        config = StoreConfig(encoder="resnet18_scratch", image_size=32)
        runtime = Runtime.open(folder / name, config=config, threads=1)
        learn(runtime, first)
        stores.append(runtime)
    learn(stores[1], second)
    return folder / "begun", second, files_of(stores[1])


def learn(runtime: Runtime, data: Path) -> int:
    report = runtime.learn_session(
        data, mode="prd", recipe="edge", train_from="layer4.0", epochs=3, seed=0
    )
    assert report.training is not None
    return report.training.resumed_after


def files_of(runtime: Runtime) -> dict[str, str]:
    return {name: record.sha256 for name, record in runtime.store.live().manifest.files.items()}


@pytest.mark.parametrize(("stage", "at"), DEATHS, ids=str)
def test_killed_and_started_again(
    stage: str,
    at: int,
    begun: tuple[Path, Path, dict[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:

    source, data, expected = begun
    store = shutil.copytree(source, tmp_path / "store")
    runtime = Runtime.open(store, threads=1)
    before = files_of(runtime)
    command = [sys.executable, "-c", SESSION, store, data, stage, str(at)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert files_of(runtime) == before, "the old version is live"
    assert not runtime.store.live().damage()

    monkeypatch.setattr(checkpointing, "SECONDS_BETWEEN", 0.0)
    assert learn(runtime, data) == DEATHS[stage, at]
    assert files_of(runtime) == expected, "as if it had never been interrupted"
    found = sorted(path.name for path in store.iterdir())
    assert found == ["CURRENT", "CURRENT.copy", "LOCK", "versions"]
    assert not any(runtime.store.problems().values())

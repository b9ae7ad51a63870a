from __future__ import annotations

import shutil
from pathlib import Path

import power_cut
import pytest

from prd_edge import Runtime, StoreConfig
from prd_edge.demo_data import DemoData
from tests.conftest import write_session
from tests.demos.conftest import Run


def test_nothing_is_lost_where_there_is_no_torch(run: Run) -> None:
    done = run("power_cut.py", "--mode", "imprint", "--images", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Version 000002 is live; 26 of 26 answers are the same.") == 3
    assert "Version 000003 is live and knows 13 kinds of things." in done.stdout
    assert done.stdout.endswith("Nothing was lost.\n")


@pytest.fixture
def small(tmp_path: Path) -> tuple[DemoData, Runtime]:
    first = write_session(tmp_path / "first", classes=("blue", "green"))
    second = write_session(tmp_path / "second", classes=("green", "red"), start=20)
    test = write_session(tmp_path / "test", start=40, images=1)
    for path in test.rglob("*.png"):
        path.rename(path.with_suffix(".jpg"))  # read by their content
    runtime = Runtime.open(tmp_path / "store", config=StoreConfig(image_size=32), threads=1)
    return DemoData(first, second, test, images=27), runtime


def test_training_goes_on_from_the_checkpoint(
    small: tuple[DemoData, Runtime],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(power_cut, "CUTS", (("training", 3, "while it trains"),))
    assert power_cut.is_nothing_lost(*small, "prd")
    told = capfd.readouterr().out
    assert "A checkpoint is there" in told
    assert "It went on from the checkpoint, with 2 of 4 rounds done." in told


def test_what_is_lost_is_noticed(
    small: tuple[DemoData, Runtime],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, runtime = small

    def not_killed(_: object) -> int:
        """It lives on, and a file is damaged meanwhile."""
        path = next((runtime.store.path / "versions/000002").glob("proto*"))
        content = path.read_bytes()
        path.unlink()
        path.write_bytes(content[:-1] + b"!")
        shutil.copy(path, path.with_name("stranger"))
        return 0

    monkeypatch.setattr(power_cut, "CUTS", (("reading images", 1, "while it reads"),))
    monkeypatch.setattr(power_cut.subprocess, "call", not_killed)
    with pytest.raises(power_cut.PrdEdgeError, match="damaged"):
        power_cut.is_nothing_lost(data, runtime, "imprint")

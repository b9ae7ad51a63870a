from __future__ import annotations

from pathlib import Path

import pytest
import two_sessions

from prd_edge import Runtime
from tests.conftest import write_session
from tests.demos.conftest import Run


def test_with_pictures_of_ones_own(run: Run, tmp_path: Path) -> None:
    """In a process of its own; three classes are too few to train for."""
    write_session(tmp_path / "own/session-1", classes=("blue", "green"))
    write_session(tmp_path / "own/session-2", classes=("green", "red"), start=20)
    write_session(tmp_path / "own/test", start=40, images=3)
    done = run("two_sessions.py", "own", "--store", "kept")
    assert done.returncode == 0, done.stderr
    assert "Of the first classes 100.0% are right now; it was 100.0%." in done.stdout
    assert "Of all 3 it is 100.0%." in done.stdout
    assert "0.png: red" in done.stdout.replace("40.png", "0.png")
    runtime = Runtime.open(tmp_path / "kept")
    assert sorted(runtime.classes()) == ["blue", "green"], "the second session is undone"
    assert len(runtime.history()) == 3, "and can be had again"


def test_with_pictures_drawn_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert two_sessions.main(["--images", "5"]) == 0
    told = capsys.readouterr().out
    assert "new: bowl, fork, hex-nut, light-bulb, screw, spoon" in told
    assert "known already: mug" in told
    before = float(told.split("it was ")[1].split("%")[0])
    after = float(told.split("first classes ")[1].split("%")[0])
    assert after > 50
    assert before > 50


def test_a_folder_without_sessions_is_one_line(run: Run, tmp_path: Path) -> None:
    done = run("two_sessions.py", tmp_path)
    assert done.returncode == 3
    assert done.stderr.startswith("two_sessions: no folder")
    assert done.stderr.count("\n") == 1

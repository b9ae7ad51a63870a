from __future__ import annotations

import sys
from pathlib import Path

import camera_loop
import pytest

from prd_edge import Runtime
from tests.conftest import COLOURS, TINY, picture
from tests.demos.conftest import Run

cv2 = pytest.importorskip("cv2")


def film(path: Path, colour: str, frames: int = 12) -> Path:
    codec = cv2.VideoWriter_fourcc(*"MJPG")
    writer = cv2.VideoWriter(str(path), codec, 10, (64, 48))
    assert writer.isOpened()
    for seed in range(frames):
        frame = picture(COLOURS[colour], seed, (48, 64))
        writer.write(cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
    writer.release()
    return path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    Runtime.open(tmp_path / "store", config=TINY).init()
    return tmp_path / "store"


def test_it_teaches_and_then_answers(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for colour in ("red", "green"):
        path = film(tmp_path / f"{colour}.avi", colour)
        arguments = ["--store", store, "--source", path, "--teach", colour, "--frames", "8"]
        assert camera_loop.main([str(argument) for argument in arguments]) == 0
        told = capsys.readouterr().out.splitlines()
        assert any(line.startswith(f"learned {colour} from 8 frames") for line in told)
    assert Runtime.open(store).classes() == {"green": 8, "red": 8}

    path = film(tmp_path / "again.avi", "red", frames=5)
    assert camera_loop.main(["--store", str(store), "--source", str(path)]) == 0
    answers = capsys.readouterr().out.splitlines()
    assert len(answers) == 5, "a line a frame"
    for line in answers:
        assert line.startswith("red "), "and not blue: the order of the colours is right"
        assert "%" in line
        assert line.endswith("frames a second")


def test_it_leaves_no_picture_behind(store: Path, tmp_path: Path) -> None:
    path = film(tmp_path / "red.avi", "red")
    before = set(tmp_path.rglob("*"))
    camera_loop.main(["--store", str(store), "--source", str(path), "--teach", "red"])
    assert {new for new in set(tmp_path.rglob("*")) - before if store not in new.parents} == set()


@pytest.mark.parametrize(("name", "frames", "said"), [
    ("a/b", 5, "a/b was not learned: class name 'a/b' contains the forbidden character"),
    ("mug", 50, "the pictures ended after 12 of 50 frames; mug was not learned"),
])  # fmt: skip
def test_what_cannot_be_learned_is_said(
    name: str,
    frames: int,
    said: str,
    store: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = str(film(tmp_path / "red.avi", "red"))
    options = ["--store", str(store), "--source", source, "--teach", name, "--frames", str(frames)]
    assert camera_loop.main(options) == 0
    assert said in capsys.readouterr().out
    assert Runtime.open(store).classes() == {}


def test_a_name_is_typed_while_it_runs(
    store: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    typed = iter([None, "red", *[None] * 4, ""])
    monkeypatch.setattr(camera_loop, "typed_line", lambda: next(typed))
    frames = camera_loop.frames(str(film(tmp_path / "red.avi", "red")))
    camera_loop.loop(Runtime.open(store), frames, None, 5)
    told = capsys.readouterr().out
    assert "nothing is known yet" in told
    assert "learned red from 5 frames" in told
    assert next(typed, "none left") == "none left", "the empty line ended it"


@pytest.mark.parametrize("source", ["99", "no.avi", "letter.avi"])
def test_a_source_that_cannot_be_opened_is_one_line(source: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "letter.avi").write_text("dear")
    done = run("camera_loop.py", "--source", source)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert source in done.stderr
    assert "cannot be opened" in done.stderr


def test_without_opencv_it_says_what_to_install(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    assert camera_loop.main(["--store", str(store)]) == 2
    assert "pip install 'prd-edge[camera]'" in capsys.readouterr().err

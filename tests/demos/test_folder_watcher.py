from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from types import SimpleNamespace

import folder_watcher
import pytest
from folder_watcher import Watcher

from prd_edge import Runtime
from prd_edge.commit import writing
from tests.conftest import TINY, write_session
from tests.demos.conftest import DEMOS

PATIENCE = 60.0


def wait_for(what: str, happened: object) -> None:
    end = monotonic() + PATIENCE
    while not happened():  # type: ignore[operator]
        assert monotonic() < end, f"still no {what}"
        sleep(0.02)


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    (tmp_path / "inbox").mkdir()
    return tmp_path / "inbox"


@pytest.fixture
def runtime(tmp_path: Path) -> Runtime:
    return Runtime.open(tmp_path / "store", config=TINY)


@pytest.fixture
def start(inbox: Path, runtime: Runtime) -> Iterator[Callable[[], None]]:
    """After what is to be one session has been dropped."""
    made = Watcher(inbox, runtime, settle=0.1, then="keep")
    thread = Thread(target=made.run)
    yield thread.start
    made.stop.set()
    thread.join()


def files_below(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def drop(inbox: Path, tmp_path: Path, *classes: str, start: int = 0) -> None:
    source = write_session(tmp_path / f"drop-{start}", classes=classes, start=start)
    for name in classes:
        (source / name).rename(inbox / name)


def test_what_is_dropped_is_learned_and_kept(
    start: Callable[[], None], inbox: Path, tmp_path: Path, runtime: Runtime
) -> None:
    drop(inbox, tmp_path, "blue", "green")
    start()
    wait_for("first session", (inbox / "learned/000002").is_dir)
    assert runtime.classes() == {"blue": 6, "green": 6}
    assert len(files_below(inbox / "learned/000002")) == 12
    drop(inbox, tmp_path, "blue", start=30)
    wait_for("second session", (inbox / "learned/000003").is_dir)
    assert runtime.classes() == {"blue": 12, "green": 6}
    assert [path.name for path in inbox.iterdir()] == ["learned"]


def test_a_folder_that_still_changes_is_not_taken(
    inbox: Path, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(folder_watcher, "time", SimpleNamespace(monotonic=lambda: now))
    watcher = Watcher(inbox, runtime, settle=10, then="keep")
    source = write_session(inbox.parent / "source", classes=("blue",))
    (inbox / "blue").mkdir()
    for path in sorted((source / "blue").iterdir()):
        content = path.read_bytes()
        with (inbox / "blue" / path.name).open("wb") as slow:
            for part in (content[:50], content[50:]):
                slow.write(part)
                slow.flush()
                watcher.take_in()
                now += 9
                watcher.take_in()
    assert (inbox / "blue").exists()
    now += 1
    watcher.take_in()
    assert len(files_below(inbox / ".learning-000000/blue")) == 6, "all of them"


def test_a_bad_drop_is_said_in_a_line_and_costs_the_others_nothing(
    start: Callable[[], None],
    inbox: Path,
    tmp_path: Path,
    runtime: Runtime,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "letter.jpg").write_text("dear")
    source = write_session(tmp_path / "source", classes=("blue", "red"))
    (source / "red").rename(source / " red")  # no name for a class
    for path in (bad, source / " red", source / "blue"):
        path.rename(inbox / path.name)
    start()
    wait_for("session", (inbox / "learned/000002").is_dir)
    assert runtime.classes() == {"blue": 6}
    assert files_below(inbox / "refused")[-1] == "bad/letter.jpg"
    said = capsys.readouterr().out.splitlines()
    refusals = [line for line in said if "refused" in line]
    assert len(refusals) == 2
    assert "begins or ends with a space" in refusals[0]
    assert "class 'bad' has no usable image" in refusals[1]


def test_a_locked_store_is_waited_for(
    start: Callable[[], None],
    inbox: Path,
    tmp_path: Path,
    runtime: Runtime,
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = ""

    def is_waiting() -> bool:
        nonlocal said
        said += capsys.readouterr().out
        return "trying again" in said

    drop(inbox, tmp_path, "blue")
    with writing(runtime.store):
        start()
        wait_for("attempt", is_waiting)
        sleep(0.5)  # time for more
    wait_for("session", (inbox / "learned/000002").is_dir)
    assert (said + capsys.readouterr().out).count("trying again") == 1


def test_delete_removes_what_was_learned_and_nothing_else(
    inbox: Path, tmp_path: Path, runtime: Runtime
) -> None:
    drop(inbox, tmp_path, "blue")
    (inbox / "blue/letter.jpg").write_text("dear")
    (inbox / "blue/.originals").mkdir()
    (inbox / "blue/.originals/0.png").write_bytes(b"never read")
    watcher = Watcher(inbox, runtime, settle=0.0, then="delete")
    watcher.take_in()
    watcher.take_in()  # it has not changed since
    watcher.learn(inbox / ".learning-000000")
    assert runtime.classes() == {"blue": 6}
    kept = ("blue/.originals/0.png", "blue/letter.jpg")
    assert files_below(inbox) == [f"learned/000002/{name}" for name in kept]


def test_cut_off_after_learning_it_is_not_learned_twice(
    inbox: Path, tmp_path: Path, runtime: Runtime
) -> None:
    drop(inbox, tmp_path, "blue")
    watcher = Watcher(inbox, runtime, settle=0.0, then="delete")
    watcher.take_in()
    watcher.take_in()
    taken = inbox / ".learning-000000"
    runtime.learn_session(taken)  # and the power goes
    watcher.learn(taken)
    assert runtime.classes() == {"blue": 6}
    assert len(files_below(inbox / "learned/000002")) == 6


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it(number: int, inbox: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(DEMOS / "folder_watcher.py"), str(inbox)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "watching" in process.stdout.readline()
        sleep(0.3)
        os.kill(process.pid, number)
        rest = process.stdout.read()
    assert process.returncode == 0
    assert rest.endswith("stopped\n")


def test_a_signal_while_learning_leaves_it_for_the_next_start(
    inbox: Path, tmp_path: Path, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(inbox, tmp_path, "blue")
    watcher = Watcher(inbox, runtime, settle=0.0, then="keep")
    learn = runtime.learn_session

    def interrupted(*given: object, **options: object) -> object:
        watcher.stop.set()  # as the handler of the signal does
        return learn(*given, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(runtime, "learn_session", interrupted)
        watcher.run()
    assert not runtime.store.exists()
    assert len(files_below(inbox / ".learning-000000")) == 6
    Watcher(inbox, runtime, settle=0.0, then="keep").learn(inbox / ".learning-000000")
    assert runtime.classes() == {"blue": 6}

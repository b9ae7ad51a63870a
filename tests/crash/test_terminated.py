"""SIGTERM, by which systemd stops a service, ends a command as cleanly as Ctrl-C does."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from PIL import Image

from prd_edge import files
from prd_edge.store import Store
from tests.cli.conftest import Outcome, assert_refused, fingerprint, start_process, temporaries
from tests.crash.faults import LONGEST
from tests.crash.scenarios import Stage, leftovers


def run_and_terminate(store: Path, at: int, said: Path) -> int:
    """`prd-edge` in a forked process that gets SIGTERM at its operation number `at`."""
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(LONGEST)
            os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            seen = 0

            def terminate_at(_: str, __: Path) -> None:
                nonlocal seen
                seen += 1
                if seen - 1 == at:
                    os.kill(os.getpid(), signal.SIGTERM)

            files.before_operation = terminate_at
            from prd_edge.cli.main import main

            main(["classes", "rename", "red", "scarlet", "--store", str(store)])
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_at_every_operation(taught_tiny: Path, quick_folder: Path) -> None:
    stage = Stage("rename", taught_tiny, quick_folder)
    seen = set()
    for at in range(stage.operations):
        victim = stage.copy()
        assert run_and_terminate(victim.path, at, quick_folder / "said") == 143, at
        assert_refused(Outcome(143, "", (quick_folder / "said").read_text()), 143, ("interrupted",))
        seen.add(stage.check(victim))
        assert leftovers(victim) == [], at
        stage.check_that_it_goes_on(victim)
        stage.discard(victim)
    assert seen == {stage.old, stage.new}


@pytest.mark.parametrize("place", ["old", "new"])
def test_while_it_reads_pictures(place: str, taught_tiny: Path, tmp_path: Path) -> None:
    stage = Stage("rename", taught_tiny, tmp_path)
    store = stage.copy().path if place == "old" else tmp_path / "new"
    before = fingerprint(store)
    folder = tmp_path / "slow/cup"
    folder.mkdir(parents=True)
    Image.new("RGB", (4000, 4000), (9, 99, 200)).save(folder / "0.png")
    for number in range(1, 150):
        os.link(folder / "0.png", folder / f"{number}.png")
    with start_process("learn-session", folder.parent, "--store", store) as running:
        deadline = time.monotonic() + 60
        while not (store / "LOCK.holder").exists():
            assert time.monotonic() < deadline
            assert running.poll() is None
            time.sleep(0.02)
        time.sleep(0.3)
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=60)
    assert_refused(Outcome(running.returncode, out.decode(), err.decode()), 143, ("interrupted",))
    assert fingerprint(store) == before
    assert temporaries(store) == []
    assert store.exists() == (place == "old")


def test_where_it_is_ignored_it_stays_ignored(taught_tiny: Path) -> None:
    """As under nohup: what was started so must not be stopped so."""

    def ignore() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    with start_process("verify", "--store", taught_tiny, preexec_fn=ignore) as running:
        running.send_signal(signal.SIGTERM)
        out, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    assert out == f"{len(Store(taught_tiny).version_names())} of 3 versions are intact\n".encode()

"""A store of a few bytes a version, a way to stop its writer anywhere, and what must then hold."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from prd_edge import files
from prd_edge.commit import writing
from prd_edge.config import StoreConfig
from prd_edge.encoders import EncoderSpec
from prd_edge.store import Store, Version

KILLED = -signal.SIGKILL
SPEC = EncoderSpec("toy", 32, (4,), "none")
Scenario = Callable[[Store], object]


def commit(store: Store, payload: bytes) -> Version:
    """A version with one new file and one that it shares with its parent."""
    with writing(store) as writer:
        parent = store.live() if store.exists() else None
        return writer.commit(
            {"bank": payload, "encoder": None if parent else b"weights " * 100},
            parent=parent,
            action="test",
            config=StoreConfig(),
            encoder=SPEC,
            classes={"cup": len(payload)},
            metrics={},
        )


def roll_back(store: Store) -> None:
    with writing(store) as writer:
        writer.rollback()


def collect_garbage(store: Store) -> None:
    with writing(store) as writer:
        writer.gc(1)


def state(store: Store) -> bytes:
    """What a reader sees: the live version, whole. `none` where there is no store yet."""
    if not store.exists():
        return b"none"
    live = store.live()
    assert live.problems() == []
    return live.name.encode() + b" " + live.read("bank")


def count_operations(run: Callable[[], object]) -> int:
    seen = 0

    def count(operation: str, path: Path) -> None:
        nonlocal seen
        seen += 1

    files.before_operation = count
    try:
        run()
    finally:
        files.before_operation = files._do_nothing
    return seen


def run_and_kill(run: Callable[[], object], at: int) -> bool:
    """Run in a child process that is killed just before its operation number `at`."""
    child = os.fork()
    if child == 0:
        seen = 0

        def kill_at(operation: str, path: Path) -> None:
            nonlocal seen
            if seen == at:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1

        files.before_operation = kill_at
        try:
            run()
        finally:
            sys.stdout.flush()
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == KILLED


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Versions 1 to 3, the third one live."""
    made = Store(tmp_path / "store")
    for payload in (b"one", b"two", b"three"):
        commit(made, payload)
    return made

"""A store of a few bytes a version, a way to stop its writer anywhere, and what must then hold."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prd_edge import files
from prd_edge.commit import writing
from prd_edge.config import StoreConfig
from prd_edge.encoders import EncoderSpec
from prd_edge.store import Store, Version
from tests import tiny_store

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
            identities={"cup": "0123456789abcdef"},
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


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Versions 1 to 3, the third one live."""
    made = Store(tmp_path / "store")
    for payload in (b"one", b"two", b"three"):
        commit(made, payload)
    return made


@pytest.fixture(scope="session")
def taught_tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny") / "store"
    tiny_store.teach(path)
    return path


@pytest.fixture
def quick_folder() -> Iterator[Path]:
    """In memory where that is possible: thousands of copies need not go through a disk."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    yield folder
    shutil.rmtree(folder)

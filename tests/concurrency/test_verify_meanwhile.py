"""What another process removes while it is being checked is not called damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from prd_edge.commit import writing
from prd_edge.store import Store, Version
from tests import tiny_store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return tiny_store.teach(tmp_path / "store").store


def collect(store: Store) -> None:
    with writing(store) as writer:
        writer.gc(1)


def test_a_version_removed_while_it_is_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Version.read

    def overtaken(self: Version, file: str) -> bytes:
        if self.name == "000001" and self.path.exists():
            collect(store)
        return read(self, file)

    monkeypatch.setattr(Version, "read", overtaken)
    assert store.problems() == {"000002": [], "000003": []}


def test_current_moves_on_while_it_is_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    pointer = store.pointer()
    pointers = [pointer, store.pointer]
    for new, old in (("scarlet", "red"), ("red", "scarlet")):
        tiny_store.Runtime.open(store.path).rename(old, new)
    collect(store)
    assert pointer is not None
    assert pointer.live not in store.version_names()

    def overtaken(_: Store) -> object:
        return pointers.pop(0) if len(pointers) > 1 else pointers[0]()

    monkeypatch.setattr(Store, "pointer", overtaken)
    assert not any(store.problems().values())

"""Every operation fails in turn, once and for good: the old version stays, one line says why."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from prd_edge import files
from prd_edge.errors import StoreError
from prd_edge.store import Store
from tests.crash.conftest import commit, count_operations, state
from tests.crash.scenarios import assert_kept, kept


@pytest.fixture(autouse=True)
def _no_fault_afterwards() -> Iterator[None]:
    yield
    files.before_operation = files._do_nothing


def fail(at: int, code: int, *, for_good: bool) -> None:
    seen = 0

    def hook(operation: str, path: Path) -> None:
        nonlocal seen
        seen += 1
        if seen - 1 == at or (for_good and seen - 1 > at):
            raise OSError(code, os.strerror(code), str(path))

    files.before_operation = hook


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
def test_a_failing_disk(store: Store, tmp_path: Path, code: int, for_good: bool) -> None:
    old = state(store)
    whole = Store(shutil.copytree(store.path, tmp_path / "whole"))
    operations = count_operations(lambda: commit(whole, b"four"))
    new = state(whole)
    for at in range(operations):
        victim = Store(shutil.copytree(store.path, tmp_path / f"victim-{at}"))
        fail(at, code, for_good=for_good)
        with pytest.raises(StoreError, match="cannot write to"):
            commit(victim, b"four")
        files.before_operation = files._do_nothing
        assert state(victim) in (old, new)
        commit(victim, b"next")
        assert_kept(victim, kept(store))
        assert state(victim).endswith(b" next")
        assert not any(victim.problems().values())


def test_after_a_full_disk_the_space_is_given_back(store: Store) -> None:
    fail(4, errno.ENOSPC, for_good=False)
    with pytest.raises(StoreError, match="disk is full"):
        commit(store, b"four" * 1000)
    assert not [path for path in store.versions.iterdir() if path.name.startswith(".tmp-")]
    assert state(store) == b"000003 three"

"""Killed before any one of its operations, a writer leaves the old version or the new one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from prd_edge.store import Store
from tests.crash.conftest import (
    Scenario,
    collect_garbage,
    commit,
    count_operations,
    roll_back,
    state,
)
from tests.crash.faults import run_and_kill
from tests.crash.scenarios import assert_kept, kept

SCENARIOS: dict[str, Scenario] = {
    "commit": lambda store: commit(store, b"four"),
    "rollback": roll_back,
    "gc": collect_garbage,
}


def leftovers(store: Store) -> list[Path]:
    return [path for path in store.path.rglob("*") if path.name.startswith(".tmp-")]


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_anywhere_the_store_is_old_or_new(name: str, store: Store, tmp_path: Path) -> None:
    scenario = SCENARIOS[name]
    old = state(store)
    finished = Store(shutil.copytree(store.path, tmp_path / "finished", symlinks=True))
    operations = count_operations(lambda: scenario(finished))
    new = state(finished)
    before = kept(store)
    after = kept(finished) if name == "gc" else before

    seen = set()
    for at in range(operations):
        victim = Store(shutil.copytree(store.path, tmp_path / f"victim-{at}"))
        assert run_and_kill(lambda victim=victim: scenario(victim), at), at
        seen.add(state(victim))
        assert state(victim) in (old, new), at
        assert_kept(victim, before, after)
        commit(victim, b"next")  # the next writer succeeds, and clears up
        assert state(victim).endswith(b" next"), at
        assert_kept(victim, before, after)
        assert leftovers(victim) == [], at
        assert not any(victim.problems().values()), at
    assert operations > 3
    assert seen <= {old, new}
    assert old in seen


def test_killed_while_making_the_store(tmp_path: Path) -> None:
    operations = count_operations(lambda: commit(Store(tmp_path / "whole"), b"one"))
    for at in range(operations):
        victim = Store(tmp_path / f"victim-{at}")
        assert run_and_kill(lambda victim=victim: commit(victim, b"one"), at)
        assert state(victim) in (b"none", b"000001 one")
        commit(victim, b"two")
        assert state(victim).endswith(b" two")
        assert leftovers(victim) == []


def test_killed_while_recovering_from_a_kill(store: Store, tmp_path: Path) -> None:
    commits = count_operations(
        lambda: commit(Store(shutil.copytree(store.path, tmp_path / "count")), b"four")
    )
    for first in range(commits):
        wounded = Store(shutil.copytree(store.path, tmp_path / f"wounded-{first}"))
        run_and_kill(lambda wounded=wounded: commit(wounded, b"four"), first)
        before = state(wounded)
        for second in range(0, 40, 3):
            victim = Store(shutil.copytree(wounded.path, tmp_path / f"v-{first}-{second}"))
            died = run_and_kill(lambda victim=victim: commit(victim, b"five"), second)
            assert state(victim) == before or state(victim).endswith(b" five")
            shutil.rmtree(victim.path)
            if not died:
                break

"""`forget` killed before any of its operations and asked again: every version is as it was, without
that class, whatever names it has had."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from prd_edge import Runtime
from prd_edge.store import Store
from tests.crash.faults import run_and_kill
from tests.crash.scenarios import recorded
from tests.test_forget import forget_green, mentions, versions
from tests.tiny_store import pairs


def straight_on(_: Runtime) -> None:
    pass


def on_branches(runtime: Runtime) -> None:
    """It has other names on a branch that is not live, and stands there where it is removed."""
    runtime.rename("green", "lime")
    runtime.rename("lime", "moss")
    runtime.rollback("3")
    runtime.learn_session(pairs("red", start=80), mode="imprint")


def removed_on_a_branch(runtime: Runtime) -> None:
    runtime.rename("green", "lime")
    runtime.remove("lime")


def with_swapped_names(runtime: Runtime) -> None:
    runtime.rename("green", "lime")
    runtime.rename("blue", "green")
    runtime.rename("lime", "blue")


@pytest.mark.parametrize(
    "past", [straight_on, on_branches, removed_on_a_branch, with_swapped_names]
)
def test_killed_anywhere_and_asked_again(
    past: Callable[[Runtime], None], taught_tiny: Path, quick_folder: Path
) -> None:
    source = shutil.copytree(taught_tiny, quick_folder / "source")
    past(Runtime.open(source, threads=1))
    before = identities(source)
    live = Store(source).live().manifest.identities
    meant = live.get("green") or before["000003"]["green"]
    named = {(label, own == meant) for known in before.values() for label, own in known.items()}
    names = {label for label, is_meant in named if is_meant and (label, False) not in named}
    finished = shutil.copytree(source, quick_folder / "finished")
    operations = len(recorded(partial(forget_green, finished)))
    for at in range(operations):
        victim = shutil.copytree(source, quick_folder / "victim")
        assert run_and_kill(partial(forget_green, victim), at), at
        forget_green(victim)
        after = identities(victim)
        for name, known in before.items():
            assert after[name] == {k: own for k, own in known.items() if own != meant}, at
        assert [file for label in names for file in mentions(victim, label)] == [], at
        assert not any(Store(victim).problems().values()), at
        shutil.rmtree(victim)
    assert operations > 30


def identities(store: Path) -> dict[str, dict[str, str]]:
    return {version.name: dict(version.manifest.identities) for version in versions(store)}

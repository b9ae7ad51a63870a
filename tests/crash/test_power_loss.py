"""After a power cut at any moment the store is old or new; a writer that does not sync is found."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from prd_edge.errors import StoreError
from tests.crash.cuts import check_state, cut_states
from tests.crash.power_loss import Tree
from tests.crash.scenarios import SCENARIOS, Stage


def is_good(stage: Stage, tree: Tree) -> bool:
    try:
        check_state(stage, tree)
    except (AssertionError, StoreError):
        return False
    return True


@pytest.mark.parametrize("name", SCENARIOS)
def test_old_or_new(name: str, taught_tiny: Path, quick_folder: Path) -> None:
    stage = Stage(name, taught_tiny, quick_folder)
    states = 0
    for tree in cut_states(stage, Random(0)):
        check_state(stage, tree)
        states += 1
    assert states > stage.operations / 2


@pytest.mark.parametrize("lost", ["file", "directory"])
@pytest.mark.parametrize("name", ["rename", "first version"])
def test_a_disk_that_ignores_fsync_is_found_out(
    name: str, lost: str, taught_tiny: Path, quick_folder: Path
) -> None:
    stage = Stage(name, taught_tiny, quick_folder)
    ignores = Path.is_file if lost == "file" else Path.is_dir
    states = list(cut_states(stage, Random(0), ignores))
    Random(0).shuffle(states)
    assert any(not is_good(stage, tree) for tree in states)

"""Every command that writes, killed before any of its operations: old or new, and on it goes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.crash.faults import run_and_kill
from tests.crash.rounds import killed
from tests.crash.scenarios import SCENARIOS, Stage


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_anywhere(name: str, taught_tiny: Path, quick_folder: Path) -> None:
    stage = Stage(name, taught_tiny, quick_folder)
    seen = {killed(stage, at) for at in range(stage.operations)}
    assert stage.operations > 3
    assert stage.old in seen


def test_a_run_that_is_not_killed_is_told_apart(taught_tiny: Path, quick_folder: Path) -> None:
    stage = Stage("rename", taught_tiny, quick_folder)
    victim = stage.copy()
    assert not run_and_kill(partial(stage.run, victim), stage.operations)
    assert stage.check(victim) == stage.new != stage.old

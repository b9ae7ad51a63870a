"""Every operation of every command that writes fails, once and for good: one line says why, the
store is old or new, and predicting goes on meanwhile."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from prd_edge.errors import StoreError
from tests.crash.faults import CODES, failing_disk
from tests.crash.rounds import failed
from tests.crash.scenarios import SCENARIOS, Stage, leftovers


@pytest.mark.parametrize("code", CODES, ids=os.strerror)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_failing_disk(name: str, code: int, taught_tiny: Path, quick_folder: Path) -> None:
    stage = Stage(name, taught_tiny, quick_folder)
    for at in range(stage.operations):
        assert failed(stage, code, at.__eq__) == 1
        assert failed(stage, code, at.__le__) >= 1


@pytest.mark.parametrize("name", ["learn-session", "feedback", "rename", "remove", "first version"])
def test_what_failed_once_takes_its_temporaries_away(
    name: str, taught_tiny: Path, quick_folder: Path
) -> None:
    stage = Stage(name, taught_tiny, quick_folder)
    failures = 0
    for at in range(stage.operations):
        victim = stage.copy()
        with failing_disk(CODES[0], at.__eq__), suppress(StoreError):
            stage.run(victim)
            failures -= 1
        failures += 1
        assert all(path.name.startswith(".tmp-removed-") for path in leftovers(victim)), at
        assert victim.complete_names() == victim.version_names(), at  # none beyond CURRENT
        stage.discard(victim)
    assert failures > 10


@pytest.mark.parametrize("second", ["once", "for good"])
def test_the_recovery_after_a_failure_fails_too(
    second: str, taught_tiny: Path, quick_folder: Path
) -> None:
    stage = Stage("rename", taught_tiny, quick_folder)
    for first in range(0, stage.operations, 3):
        for at in range(0, stage.operations, 4):
            victim = stage.copy()
            for fails in (first.__le__, at.__eq__ if second == "once" else at.__le__):
                with failing_disk(CODES[at % 3], fails), pytest.raises(StoreError):
                    stage.run(victim)
                if stage.check(victim) == stage.new:
                    break
            stage.check_that_it_goes_on(victim)
            stage.discard(victim)


def test_without_a_fault_nothing_fails(taught_tiny: Path, quick_folder: Path) -> None:
    stage = Stage("rename", taught_tiny, quick_folder)
    assert failed(stage, CODES[0], lambda _: False) == 0

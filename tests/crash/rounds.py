"""One fault, and all that must hold afterwards; and rounds of random ones for the soak."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from prd_edge.errors import StoreError
from prd_edge.system_errors import CAUSES
from tests import tiny_store
from tests.crash.faults import CODES, failing_disk, run_and_kill
from tests.crash.scenarios import SCENARIOS, Stage, State

FAULTS_A_ROUND = 10


def killed(stage: Stage, at: int) -> State:
    """Killed before operation `at`; returns what was found then."""
    victim = stage.copy()
    assert run_and_kill(partial(stage.run, victim), at), at
    found = stage.check(victim)
    stage.check_that_it_goes_on(victim)
    stage.discard(victim)
    return found


def failed(stage: Stage, code: int, fails: Callable[[int], bool]) -> int:
    """Run on a disk that fails; returns how many operations did."""
    victim = stage.copy()
    with failing_disk(code, fails) as failures:
        complaint = complaint_of(partial(stage.run, victim))
        found = stage.check(victim)  # while the disk still fails
    if complaint is None:  # clearing up may wait; what was asked for may not
        assert found == stage.new
    else:
        assert complaint.startswith("cannot write to")
        assert CAUSES[code] in complaint
        assert len(complaint.splitlines()) == 1
    stage.check_that_it_goes_on(victim)
    stage.discard(victim)
    return len(failures)


def complaint_of(run: Callable[[], object]) -> str | None:
    try:
        run()
    except StoreError as error:
        return str(error)
    return None


def random_stage(random: Random, folder: Path) -> Stage:
    tiny_store.teach(folder / "taught")
    return Stage(random.choice(list(SCENARIOS)), folder / "taught", folder)


def kill_campaign(random: Random, folder: Path) -> Counter[str]:
    stage = random_stage(random, folder)
    for _ in range(FAULTS_A_ROUND):
        killed(stage, random.randrange(stage.operations))
    return Counter({"kills": FAULTS_A_ROUND})


def io_error_campaign(random: Random, folder: Path) -> Counter[str]:
    """Some fail once, some for good, some now and then."""
    stage = random_stage(random, folder)
    counts: Counter[str] = Counter()
    for _ in range(FAULTS_A_ROUND):
        at = random.randrange(stage.operations)
        share = random.choice((0.02, 0.1, 0.5))
        fails = random.choice(
            (at.__eq__, at.__le__, lambda _, share=share: random.random() < share)
        )
        counts["faults injected"] += failed(stage, random.choice(CODES), fails)
        counts["runs on a failing disk"] += 1
    return counts

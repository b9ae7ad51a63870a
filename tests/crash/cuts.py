"""The states that a power cut may leave of a scenario, and rounds of them for the soak."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random

from prd_edge.store import Store
from tests.crash.power_loss import Recorder, Tree, write_tree
from tests.crash.rounds import random_stage
from tests.crash.scenarios import Stage

STATES_A_ROUND = 40


def cut_states(
    stage: Stage, random: Random, ignores: Callable[[Path], bool] = lambda _: False
) -> Iterator[Tree]:
    """Each once. With fsyncs that the disk `ignores` there are more."""
    writer = stage.copy()
    disks = Recorder(stage.desk, ignores).follow(partial(stage.run, writer))
    stage.discard(writer)
    seen = set()
    for disk in disks:
        for tree in disk.after_a_cut(random):
            identity = frozenset(tree.items())
            if identity not in seen:
                seen.add(identity)
                yield tree


def check_state(stage: Stage, tree: Tree) -> None:
    victim = Store(stage.desk / "store")
    write_tree(tree, stage.desk)
    try:
        stage.check(victim)
        stage.check_that_it_goes_on(victim)
    finally:
        shutil.rmtree(victim.path, ignore_errors=True)


def campaign(random: Random, folder: Path) -> Counter[str]:
    stage = random_stage(random, folder)
    states = list(cut_states(stage, random))
    chosen = random.sample(states, min(len(states), STATES_A_ROUND))
    for tree in chosen:
        check_state(stage, tree)
    return Counter({"power-loss states": len(chosen)})

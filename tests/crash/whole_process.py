"""A whole `prd-edge learn-session`, killed at a random moment of its life."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

from prd_edge.store import Store
from tests import tiny_store
from tests.crash.faults import KILLED, LONGEST
from tests.crash.scenarios import State, answer, assert_kept, kept, leftovers, state

KILLS_A_ROUND = 10
KILLS_OF_SLOW_ONES = 2
IMPRINT = ("--mode", "imprint", "--threads", "1")
TRAIN = (
    *("--mode", "prd", "--recipe", "edge", "--train-from", "layer4.0", "--epochs", "2"),
    *("--seed", "0", "--threads", "1"),
)


def begin(*arguments: object, preloaded: bool) -> int:
    """Start `prd-edge` and return its process. A preloaded one does without the second that imports
    take."""
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(LONGEST)
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silence, stream)
            words = [str(argument) for argument in arguments]
            if not preloaded:
                os.execv(sys.executable, [sys.executable, "-m", "prd_edge", *words])
            from prd_edge.cli.main import main

            main(words)
        finally:
            os._exit(99)
    return child


def exit_code(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


class Session:
    """A session to be learned by copies of one store, undisturbed and killed."""

    def __init__(self, store: Path, folder: Path, *options: str, preloaded: bool) -> None:
        self._source, self._place = store, folder / "victim"
        self._data = tiny_store.write_session(folder / "data", images=5, start=20)
        self._options, self._preloaded = options, preloaded
        self.old = state(Store(store))
        started = time.monotonic()
        self.new = self._to_its_end()
        self._seconds = time.monotonic() - started

    def kill(self, random: Random) -> str:
        """Kill one, check what it left, let it be learned again; returns what it came to."""
        victim = self._copy()
        process = begin(*self._command(), preloaded=self._preloaded)
        time.sleep(random.uniform(0, self._seconds))
        os.kill(process, signal.SIGKILL)
        code = exit_code(process)
        assert code in (0, KILLED), code
        found = state(victim)
        assert found in (self.old, self.new)
        assert found == self.new or code == KILLED, "it said it had learned and has not"
        answer(victim, found)
        assert_kept(victim, kept(Store(self._source)))
        assert exit_code(begin(*self._command(), preloaded=self._preloaded)) == 0
        assert int(victim.live().name) == int(found.version) + 1
        assert found == self.new or state(victim) == self.new, "not as if it had never happened"
        assert leftovers(victim) == []
        assert not any(victim.problems().values())
        return "kills" if code == KILLED else "finished before the kill"

    def _to_its_end(self) -> State:
        victim = self._copy()
        assert exit_code(begin(*self._command(), preloaded=self._preloaded)) == 0
        return state(victim)

    def _copy(self) -> Store:
        shutil.rmtree(self._place, ignore_errors=True)  # of the last one
        return Store(shutil.copytree(self._source, self._place))

    def _command(self) -> list[object]:
        return ["learn-session", self._data, "--store", self._place, *self._options]


def imprint_campaign(random: Random, folder: Path) -> Counter[str]:
    """Now and then from the very start of a process, with its imports."""
    tiny_store.teach(folder / "store")
    preloaded = random.random() < 0.8
    session = Session(folder / "store", folder, *IMPRINT, preloaded=preloaded)
    kills = KILLS_A_ROUND if preloaded else KILLS_OF_SLOW_ONES
    return Counter(session.kill(random) for _ in range(kills))


@cache
def _training() -> Session:
    """Made once: it takes as long as several kills."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    store = folder / "store"
    first = tiny_store.write_session(folder / "first")
    init = ("init", "--encoder", "resnet18_scratch", "--image-size", "32", "--store", store)
    for arguments in (init, ("learn-session", first, "--store", store, *IMPRINT)):
        assert exit_code(begin(*arguments, preloaded=False)) == 0
    return Session(store, folder, *TRAIN, preloaded=False)


def training_campaign(random: Random, folder: Path) -> Counter[str]:
    return Counter([_training().kill(random)])

"""Everything that writes to a store, to be killed, failed and cut off at any of its operations.

A new command is one entry in `SCENARIOS`: the kill, I/O-error and power-loss suites and the soak
take it from there.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from prd_edge import Runtime, files
from prd_edge.commit import writing
from prd_edge.errors import InvalidInputError
from prd_edge.kept_version import TEMPORARY, doomed_of, draft_of
from prd_edge.repair import repair
from prd_edge.store import Store
from tests import tiny_store
from tests.crash.faults import Killed, interrupting
from tests.tiny_store import COLOURS, pairs, picture

Step = Callable[[Runtime], object]


def nothing(_: Runtime) -> None:
    pass


@dataclass(frozen=True)
class Scenario:
    run: Step
    before: Step = nothing  # what the store has been through
    again: Step = nothing  # what must be done again after a fault, before the next session
    changes_older: bool = False  # it is meant to: others leave every version as it was


class State(NamedTuple):
    """What a reader sees of the live version: all but the time it was made."""

    version: str
    classes: tuple[tuple[str, int], ...]
    files: tuple[tuple[str, str], ...]  # name, sha256 of the bytes that are there


NO_STORE = State("none", (), ())


def state(store: Store) -> State:
    if not store.exists():
        return NO_STORE
    live = store.live()
    digests = {name: _sha256(live.path / name) for name in live.manifest.files}
    return State(live.name, tuple(live.manifest.classes.items()), tuple(digests.items()))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "missing"


def kept(store: Store) -> dict[str, dict[str, str]]:
    """Every committed version, byte for byte."""
    return {
        name: {
            path.name: _sha256(path)
            for path in sorted((store.versions / name).iterdir())
            if not path.name.startswith(TEMPORARY)  # of a repair that was cut off
        }
        for name in store.version_names()
    }


def assert_kept(store: Store, *allowed: dict[str, dict[str, str]], but: Iterable[str] = ()) -> None:
    """Each of the first of these is there as it was, or as it is in another of them."""
    there = kept(store)
    for name in allowed[0].keys() - set(but):
        path = store.versions / name
        is_away = doomed_of(path).exists() and draft_of(path).exists()  # about to be rewritten
        is_right = there.get(name) in [own.get(name) for own in allowed]
        assert is_right or (is_away and name not in there), name


def collect_garbage(runtime: Runtime) -> None:
    with writing(runtime.store) as writer:
        writer.gc(1)


def spoil(runtime: Runtime) -> None:
    """Files that the live version does not predict with; their bytes are there once more."""
    store = runtime.store
    for path in (
        store.live().path / "snapshot.safetensors",
        store.version("2").path / "encoder.onnx",
    ):
        path.unlink()  # not in place: others share the bytes
        path.write_bytes(b"spoiled")


def forget(runtime: Runtime) -> None:
    with suppress(InvalidInputError):  # it was forgotten before the fault
        runtime.forget("green")


def mend(runtime: Runtime) -> None:
    repair(runtime.store)


def remove_store(runtime: Runtime) -> None:
    shutil.rmtree(runtime.store.path)


def create(runtime: Runtime) -> None:
    if not runtime.store.exists():
        tiny_store.create(runtime.store.path)


def leave_unfinished_work(runtime: Runtime) -> None:
    """What a killed commit, a killed gc and a killed repair leave, all at once."""
    store = runtime.store
    with interrupting("rename", "CURRENT"), suppress(Killed):
        runtime.rename("red", "scarlet")
    half_removed = store.versions / ".tmp-removed-000001"
    files.rename(store.versions / "000001", half_removed)
    (half_removed / "encoder.onnx").unlink()
    (store.versions / ".tmp-000005").mkdir()
    (store.versions / ".tmp-000005/preprocess.onnx").write_bytes(b"half")
    (store.path / ".tmp-checkpoint").write_bytes(b"half")
    (store.versions / "000002/.tmp-encoder.onnx").write_bytes(b"half")


def lose_current(runtime: Runtime) -> None:
    runtime.store.current.write_bytes(b"live 00")


def lose_it_after_a_rollback(runtime: Runtime) -> None:
    runtime.rollback("2")
    lose_current(runtime)


def lose_both(runtime: Runtime) -> None:
    lose_current(runtime)
    runtime.store.copy.unlink()


def fill_up(runtime: Runtime) -> None:
    """As many versions as are kept: the next commit removes one."""
    for old, new in (("red", "scarlet"), ("scarlet", "red")):
        runtime.rename(old, new)


def learn(runtime: Runtime, start: int = 20) -> Any:
    return runtime.learn_session(pairs("blue", "red", images=5, start=start), mode="imprint")


SCENARIOS: dict[str, Scenario] = {
    "learn-session": Scenario(learn, before=fill_up, changes_older=True),
    "feedback": Scenario(lambda runtime: runtime.feedback(RED, not_label="red")),
    "rename": Scenario(lambda runtime: runtime.rename("red", "scarlet")),
    "remove": Scenario(lambda runtime: runtime.remove("green")),
    "forget": Scenario(forget, again=forget, changes_older=True),
    "rollback": Scenario(lambda runtime: runtime.rollback()),
    # Live is not the newest: a lost CURRENT would show.
    "rolling forward": Scenario(
        lambda runtime: runtime.rollback("2"), before=lambda runtime: runtime.rollback("1")
    ),
    "gc": Scenario(collect_garbage, changes_older=True),
    "repair": Scenario(mend, before=spoil, again=mend, changes_older=True),
    "recovery": Scenario(lambda runtime: runtime.rollback(), before=leave_unfinished_work),
    "lost CURRENT": Scenario(lambda runtime: runtime.remove("green"), before=lose_current),
    "lost CURRENT after a rollback": Scenario(
        lambda runtime: runtime.remove("green"), before=lose_it_after_a_rollback
    ),
    "lost CURRENT and its copy": Scenario(
        lambda runtime: runtime.remove("green"), before=lose_both
    ),
    "first version": Scenario(create, before=remove_store, again=create),
}
RED = picture(COLOURS["red"], 999)


class Stage:
    """A scenario about to run, as often as wanted, on copies of one store."""

    def __init__(self, name: str, taught: Path, folder: Path) -> None:
        """`taught` is a store of `tiny_store.teach`; `folder` takes the copies."""
        self.scenario = SCENARIOS[name]
        self.desk = folder / "desk"  # where the copy stands, alone
        self.desk.mkdir()
        self._source = Store(shutil.copytree(taught, folder / "source"))
        self.scenario.before(open_quietly(self._source))
        self.old = state(self._source)
        self._kept = kept(self._source)
        finished = self.copy()
        self.operations = len(recorded(partial(self.run, finished)))
        self.new = state(finished)
        self._kept_after = kept(finished) if self.scenario.changes_older else self._kept
        self.discard(finished)

    def copy(self) -> Store:
        target = self.desk / "store"
        if self._source.path.exists():
            shutil.copytree(self._source.path, target)
        return Store(target)

    def discard(self, victim: Store) -> None:
        shutil.rmtree(victim.path, ignore_errors=True)

    def run(self, victim: Store) -> None:
        self.scenario.run(open_quietly(victim))

    def check(self, victim: Store) -> State:
        """Right after a fault: the old version or the new one, and it answers."""
        found = state(victim)
        assert found in (self.old, self.new)
        assert_kept(victim, self._kept, self._kept_after)
        answer(victim, found)
        return found

    def check_that_it_goes_on(self, victim: Store) -> None:
        """The next session succeeds, and clears up."""
        runtime = open_quietly(victim)
        self.scenario.again(runtime)
        before = state(victim)
        report = learn(runtime, start=40)
        assert report.parent == before.version
        assert victim.live().name == report.version
        assert leftovers(victim) == []
        assert_kept(victim, self._kept, self._kept_after, but=report.removed_versions)
        assert not any(victim.problems().values())
        answer(victim, state(victim))


def open_quietly(store: Store) -> Runtime:
    """On one thread: a process that is forked later has no others."""
    return Runtime.open(store.path, threads=1)


def answer(store: Store, seen: State) -> None:
    labels = [label for label, _ in seen.classes]
    if labels:
        prediction = open_quietly(store).predict(RED, always_answer=True)
        assert prediction.version == seen.version
        assert prediction.label in labels


def leftovers(store: Store) -> list[Path]:
    return [path for path in store.path.rglob("*") if path.name.startswith(".tmp-")]


def recorded(run: Callable[[], object]) -> list[tuple[str, Path]]:
    """The operations of a run, in order."""
    seen: list[tuple[str, Path]] = []
    files.before_operation = lambda operation, path: seen.append((operation, path))
    try:
        run()
    finally:
        files.before_operation = files._do_nothing
    return seen

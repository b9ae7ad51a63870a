"""A real full disk and a real read-only one, with real commands."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random

from prd_edge.cli.main import _run
from prd_edge.store import Store
from tests import tiny_store
from tests.cli.conftest import Outcome, assert_refused, fingerprint, mounted, temporaries
from tests.crash.scenarios import NO_STORE, kept, state

PAGE = 4096
WRITES = (
    ("classes", "rename", "red", "scarlet"),
    ("classes", "remove", "green"),
    ("feedback", "{red}", "--not", "red"),
    ("rollback",),
    ("gc", "--keep", "1"),
)


def prd_edge(*arguments: object) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = _run([str(argument) for argument in arguments])
    return Outcome(code, out.getvalue(), err.getvalue())


def done(*arguments: object) -> None:
    outcome = prd_edge(*arguments)
    assert outcome.code == 0, outcome.err


class Desk:
    """Pictures and a place for exports, on a disk that works."""

    def __init__(self, folder: Path) -> None:
        self.data = tiny_store.write_session(folder / "data", images=5, start=20)
        self.red = self.data / "red/20.png"
        self._model = folder / "model.onnx"

    def check_that_it_reads(self, store: Path, *, export: bool) -> None:
        done("predict", self.red, "--store", store)
        done("evaluate", self.data, "--store", store)
        done("verify", "--store", store)
        if export:  # the slowest
            done("export", "-o", self._model, "--store", store)

    def learn(self, store: Path) -> Outcome:
        return prd_edge("learn-session", self.data, "--store", store, "--mode", "imprint")

    def forget(self, store: Path) -> Outcome:
        return prd_edge("forget", "green", "--yes", "--store", store)

    def rename(self, store: Path) -> Outcome:
        return prd_edge("classes", "rename", "red", "scarlet", "--store", store)


def full(folder: Path, free_pages: int, *, export: bool) -> bool:
    """Learn with so much space; returns whether it was enough."""
    desk = Desk(folder)
    with mounted(folder / "disk", "-t", "tmpfs", "-o", "size=1m", "tmpfs") as disk:
        store = disk / "store"
        tiny_store.teach(store)
        old = state(Store(store))
        ballast = disk / "ballast"
        leave(free_pages, ballast)
        before = fingerprint(store / "versions")
        outcome = desk.learn(store)
        found = state(Store(store))
        if outcome.code:
            assert_refused(outcome, 4, ("disk is full", "free some space"))
            assert found == old
            assert fingerprint(store / "versions") == before
        else:
            assert int(found.version) == int(old.version) + 1
        assert temporaries(store) == []
        desk.check_that_it_reads(store, export=export)
        ballast.unlink()
        done("learn-session", desk.data, "--store", store, "--mode", "imprint")
        desk.check_that_it_reads(store, export=False)
        assert int(Store(store).live().name) == int(found.version) + 1
    return outcome.code == 0


def full_at_a_change(
    folder: Path, free_pages: int, change: Callable[[Desk, Path], Outcome]
) -> bool:
    """Rename or forget with so much space: nothing is lost, and it can be done again."""
    desk = Desk(folder)
    with mounted(folder / "disk", "-t", "tmpfs", "-o", "size=1m", "tmpfs") as disk:
        store = disk / "store"
        tiny_store.teach(store)
        old = kept(Store(store))
        leave(free_pages, disk / "ballast")
        outcome = change(desk, store)
        desk.check_that_it_reads(store, export=False)
        if outcome.code:
            assert_refused(outcome, 4, ("disk is full", "free some space"))
            assert old.keys() <= kept(Store(store)).keys()
        assert temporaries(store) == []
        (disk / "ballast").unlink()
        again = change(desk, store)
        assert (again.code == 0) == (outcome.code != 0), again.err  # what is done cannot be again
        desk.check_that_it_reads(store, export=False)
    return outcome.code == 0


def full_at_the_first_version(folder: Path, free_pages: int) -> bool:
    with mounted(folder / "disk", "-t", "tmpfs", "-o", "size=1m", "tmpfs") as disk:
        leave(free_pages, disk / "ballast")
        try:
            tiny_store.create(disk / "store")
        except Exception as error:
            is_made = False
            complaint = str(error)
        else:
            is_made, complaint = True, "disk is full"
        assert "disk is full" in complaint, complaint
        assert is_made == (state(Store(disk / "store")) != NO_STORE)
        (disk / "ballast").unlink()
        if not is_made:
            tiny_store.create(disk / "store")
    return is_made


def leave(pages: int, ballast: Path) -> None:
    ballast.write_bytes(bytes(shutil.disk_usage(ballast.parent).free - pages * PAGE))


def read_only(folder: Path, *, export: bool) -> int:
    """Every command that writes is refused; returns how many."""
    desk = Desk(folder)
    tiny_store.teach(folder / "store")
    with frozen(folder / "store", folder / "frozen") as store:
        before = fingerprint(store)
        commands = [[word.format(red=desk.red) for word in words] for words in WRITES]
        commands.append(["learn-session", str(desk.data), "--mode", "imprint"])
        for command in commands:
            outcome = prd_edge(*command, "--store", store)
            assert_refused(outcome, 4, (str(store), "read-only"))
        desk.check_that_it_reads(store, export=export)
        assert fingerprint(store) == before
    done("learn-session", desk.data, "--store", folder / "store", "--mode", "imprint")
    return len(commands)


@contextmanager
def frozen(store: Path, place: Path) -> Iterator[Path]:
    with mounted(place, "--bind", str(store)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
        yield place


def campaign(random: Random, folder: Path) -> Counter[str]:
    export = random.random() < 0.1
    kind = random.random()
    if kind < 0.2:
        return Counter({"writes to a read-only store": read_only(folder, export=export)})
    pages = random.randrange(10)
    if kind < 0.3:
        is_enough = full_at_the_first_version(folder, pages)
    elif kind < 0.6:
        change = random.choice((Desk.rename, Desk.forget))
        is_enough = full_at_a_change(folder, random.randrange(25), change)
    else:
        is_enough = full(folder, pages, export=export)
    return Counter({"just enough space" if is_enough else "full disks": 1})

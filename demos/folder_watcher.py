"""Watch a folder, and learn whatever is dropped into it.

    python demos/folder_watcher.py inbox --store prd_store
    cp -r pictures/mug inbox/                     # a sub-folder is a class

A sub-folder is taken when nothing in it has changed for a while, so never half copied. Those that
are ready together are one session. Where a picture lies tells what became of it:

    inbox/mug                just dropped, or still being copied
    inbox/.learning-000002   being learned, by a store whose newest version is 000002
    inbox/learned/000003     learned, and version 000003 is what came of it
    inbox/refused            could not be learned; why was printed

`--then delete` removes pictures once they are learned, but for those that could not be read. Ctrl-C
or SIGTERM stops it; the next start takes up what was cut off.
"""

from __future__ import annotations

import signal
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from contextlib import suppress
from pathlib import Path
from threading import Event

from prd_edge import PrdEdgeError, Runtime
from prd_edge.errors import Cancelled, InvalidInputError, NoUsableDataError

TAKEN = ".learning-"


class Watcher:
    def __init__(self, inbox: Path, rt: Runtime, settle: float, then: str) -> None:
        self.inbox, self.rt, self.settle, self.then = inbox, rt, settle, then
        self.stop = Event()
        self._seen: dict[Path, tuple[object, float]] = {}  # what a folder held, and since when
        self._said = ""

    def run(self) -> None:
        say(f"watching {self.inbox}; drop a folder of pictures a class into it")
        while not self.stop.is_set():
            try:
                self.take_in()
                for session in self.inbox.glob(f"{TAKEN}*"):
                    self.learn(session)
            except Cancelled:
                say("cut off while learning; the next start goes on with it")
            except (PrdEdgeError, OSError) as error:  # a locked store, a full disk: it may pass
                if str(error) != self._said:
                    say(f"{error}; trying again until it works")
                self._said = str(error)
            self.stop.wait(min(0.5, max(0.05, self.settle / 2)))
        say("stopped")

    def take_in(self) -> None:
        """Move what is whole out of the way of whoever copies. One session at a time."""
        ready = [path for path in sorted(self.inbox.iterdir()) if self.is_ready(path)]
        if ready and not any(self.inbox.glob(f"{TAKEN}*")):
            taken = self.inbox / f"{TAKEN}{max(self.sessions(), default='000000')}"
            taken.mkdir()
            for path in ready:
                path.rename(taken / path.name)

    def is_ready(self, path: Path) -> bool:
        if path.name.startswith(".") or path.name in ("learned", "refused") or not path.is_dir():
            return False
        holds = []
        for file in path.rglob("*"):
            with suppress(FileNotFoundError):  # moved away meanwhile
                holds.append((file, file.stat().st_size, file.stat().st_mtime_ns))
        before, since = self._seen.get(path, (None, 0.0))
        if holds != before:
            self._seen[path] = holds, time.monotonic()
        return holds == before and bool(holds) and time.monotonic() - since >= self.settle

    def learn(self, session: Path) -> None:
        classes = {path.name for path in session.iterdir()}
        for version, taught in self.sessions().items():
            if version > session.name.removeprefix(TAKEN) and taught == classes:
                say(f"version {version} had been learned when it was cut off; pictures are kept")
                put(session, self.inbox / "learned" / version)
                return
        there = {path.relative_to(session) for path in session.rglob("*") if path.is_file()}
        try:
            report = self.rt.learn_session(session, cancel=self.stop)
        except (InvalidInputError, NoUsableDataError) as error:
            self.refuse(session, error)
            return
        what = f"{', '.join(sorted(classes))} ({report.images_used} pictures"
        say(f"learned {what}, {len(report.skipped)} not usable): version {report.version}")
        place = put(session, self.inbox / "learned" / str(report.version))
        if self.then == "delete":
            read = {place / path for path in there if "/." not in f"/{path}"}  # nothing hidden
            for file in read - {place / skipped.name for skipped in report.skipped}:
                file.unlink()

    def sessions(self) -> dict[str, set[str]]:
        """The kept versions and the classes that each was taught."""
        kept = self.rt.history() if self.rt.store.exists() else []
        return {
            m.version: {*m.metrics.get("added", ()), *m.metrics.get("updated", ())} for m in kept
        }

    def refuse(self, session: Path, error: PrdEdgeError) -> None:
        """Bad classes go, the others stay for another try; all go where none is bad by itself."""
        reasons: dict[Path, PrdEdgeError] = {}
        for path in sorted(session.iterdir()):
            pairs = [(file, path.name) for file in path.rglob("*") if file.is_file()]
            try:
                self.rt.learn_session(pairs, mode="imprint", dry_run=True, cancel=self.stop)
            except (InvalidInputError, NoUsableDataError) as own:
                reasons[path] = own
        for path in reasons or session.iterdir():
            place = put(path, self.inbox / "refused" / path.name)
            say(f"refused {path.name!r}: {reasons.get(path, error)} (moved to {place})")
        with suppress(OSError):  # where others stay
            session.rmdir()


def put(path: Path, place: Path) -> Path:
    """Move to a place, or to a free one named like it."""
    place.parent.mkdir(exist_ok=True)
    while place.exists():
        place = place.with_name(f"{place.name}-again")
    return path.rename(place)


def say(line: str) -> None:
    print(time.strftime("%H:%M:%S"), line, flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("inbox", type=Path, help="the folder to watch")
    parser.add_argument("--store", type=Path, default=Path("prd_store"), help="(prd_store)")
    parser.add_argument("--then", choices=("keep", "delete"), default="keep", help="(keep)")
    parser.add_argument("--settle", type=float, default=2.0, help="seconds without a change (2)")
    options = parser.parse_args(arguments)
    if not options.inbox.is_dir():
        parser.error(f"no folder {options.inbox}; make it first")
    watcher = Watcher(options.inbox, Runtime.open(options.store), options.settle, options.then)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: watcher.stop.set())
    watcher.run()


if __name__ == "__main__":
    main()

"""The processes of a race: each reads or writes one store for a while and notes what it saw."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from prd_edge import Runtime
from prd_edge.commit import writing
from prd_edge.difference import difference
from prd_edge.errors import InvalidInputError, StoreChangedError, StoreError, StoreLockedError
from prd_edge.model import load_knowledge, load_prototypes
from tests.crash.faults import LONGEST
from tests.tiny_store import COLOURS, picture

LABELS = tuple(COLOURS)
Note = dict[str, Any]
Player = Callable[[Runtime, Random, str], Note]


def read(runtime: Runtime, random: Random, _: str) -> Note:
    """A long-lived reader now and then moves on; a new process begins from nothing."""
    if random.random() < 0.5:
        runtime = Runtime.open(runtime.store.path, threads=1)
    else:
        runtime.refresh()
    asked = random.choice(LABELS)
    answer = runtime.predict(picture(COLOURS[asked], 999), top_k=10, always_answer=True)
    ranked = sorted((own.label, own.confidence) for own in answer.top_k)
    return {"did": "read", "version": answer.version, "asked": asked, "ranked": ranked}


def verify(runtime: Runtime, random: Random, _: str) -> Note:
    found = runtime.store.problems()
    assert not any(found.values()), found
    return {"did": "verify"}


def teach(runtime: Runtime, random: Random, own: str) -> Note:
    """One picture more of a class that only this writer teaches."""
    image = picture(COLOURS[own], random.getrandbits(30))
    report = runtime.learn_session([(image, own)], mode="imprint")
    note = {"did": "commit", "version": report.version, "parent": report.parent, "label": own}
    with suppress(InvalidInputError, FileNotFoundError):  # it may have been removed already
        note["classes"] = dict(runtime.store.version(report.version).manifest.classes)
    return note


def roll_back(runtime: Runtime, random: Random, _: str) -> Note:
    names = runtime.store.version_names()
    manifest = runtime.rollback(random.choice(names[1:] or names))
    return {"did": "rollback", "version": manifest.version}


def collect(runtime: Runtime, random: Random, _: str) -> Note:
    with writing(runtime.store) as writer:
        return {"did": "gc", "removed": writer.gc(random.randint(1, 4))}


def forget(runtime: Runtime, random: Random, own: str) -> Note:
    """Rewrites older versions in place, under the eyes of all who read them."""
    try:
        answer = runtime.forget(own)
    except InvalidInputError:  # not taught again since
        return {"did": "nothing"}
    return {"did": "forget", "version": answer.version, "removed": answer.removed}


def look_back(runtime: Runtime, random: Random, _: str) -> Note:
    """Older versions, and what changed between two of them."""
    for version in runtime.store.readable_versions():
        with suppress(StoreChangedError):  # removed meanwhile
            load_knowledge(version)
            load_prototypes(version)
    names = runtime.store.version_names()
    with suppress(StoreChangedError, InvalidInputError):
        a, b = (runtime.store.version(name) for name in random.choices(names, k=2))
        difference(a, b)
    return {"did": "look back"}


WRITERS: tuple[Player, ...] = (teach, roll_back, collect, forget)


def play(player: Player, own: str, store: Path, seconds: float, seed: int, notes: Path) -> int:
    """Forks a process that plays; returns its number. It ends with 0 unless something is wrong."""
    child = os.fork()
    if child:
        return child
    code = 1
    signal.alarm(int(seconds) + LONGEST)
    try:
        with notes.open("w") as stream:
            for note in _played(player, own, store, seconds, Random(seed)):
                stream.write(json.dumps(note) + "\n")
        code = 0
    except BaseException:
        notes.with_suffix(".error").write_text(f"{player.__name__}: {traceback.format_exc()}")
    finally:
        sys.stdout.flush()
        os._exit(code)


def _played(
    player: Player, own: str, store: Path, seconds: float, random: Random
) -> Iterator[Note]:
    runtime = Runtime.open(store, threads=1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        started = time.monotonic()
        try:
            yield player(runtime, random, own)
        except StoreLockedError as error:
            if player not in WRITERS:
                raise
            yield {"did": "told", "seconds": time.monotonic() - started, "says": str(error)}
        except (InvalidInputError, StoreError):
            if player is not roll_back:  # its version may have been removed since it looked
                raise
        if player in WRITERS:
            time.sleep(random.uniform(0, 0.03))

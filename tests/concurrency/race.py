"""Eight readers, two that look back, a verifier, three that teach, one that forgets what one
of them teaches, a rollback and a gc on one store, each a process."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from random import Random

from tests import tiny_store
from tests.concurrency.players import (
    Note,
    collect,
    forget,
    look_back,
    play,
    read,
    roll_back,
    teach,
    verify,
)
from tests.crash.scenarios import leftovers

FORGOTTEN = "green"
ROLES = [
    *[(read, "")] * 8,
    (look_back, ""),
    (look_back, ""),
    (verify, ""),
    (teach, "red"),
    (teach, "blue"),
    (teach, FORGOTTEN),
    (forget, FORGOTTEN),
    (roll_back, ""),
    (collect, ""),
]
SECONDS_A_ROUND = 3.0


def race(folder: Path, seconds: float, random: Random) -> Counter[str]:
    store = tiny_store.teach(folder / "store").store
    first = {own.name: dict(own.manifest.classes) for own in store.readable_versions()}
    children = {}
    for number, (player, own) in enumerate(ROLES):
        notes = folder / f"{number}.notes"
        children[play(player, own, store.path, seconds, random.getrandbits(32), notes)] = notes
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    errors = [path.read_text() for path in folder.glob("*.error")]
    assert not errors, errors[0]
    assert set(codes) == {0}
    lines = [line for path in children.values() for line in path.read_text().splitlines()]
    notes = [json.loads(line) for line in lines]
    counts = Counter(note["did"] for note in notes)
    committed = {note["version"] for note in notes if note["did"] in ("commit", "forget")}
    _check_reads(notes, {*first, *committed})
    assert not any(note["removed"] for note in notes if note["did"] == "forget")  # none is damaged
    _check_commits(notes, first)
    assert all("another process" in note["says"] for note in notes if note["did"] == "told")
    assert not any(store.problems().values())
    assert leftovers(store) == []
    return Counter(
        {
            "reads": counts["read"],
            "verified meanwhile": counts["verify"],
            "versions committed": counts["commit"],
            "rollbacks": counts["rollback"],
            "collections": counts["gc"],
            "classes forgotten": counts["forget"],
            "older versions read": counts["look back"],
            "writers told to wait": counts["told"],
            "of them told for whom": sum(", process " in note.get("says", "") for note in notes),
        }
    )


def _check_reads(notes: list[Note], versions: set[str]) -> None:
    """A version gives one answer to one picture, whoever reads it and whenever; and another one
    once a class was taken out of it."""
    answers: dict[tuple[str, str, tuple[str, ...]], object] = {}
    for note in notes:
        if note["did"] == "read":
            assert note["version"] in versions, note
            labels = [label for label, _ in note["ranked"]]
            key = note["version"], note["asked"], tuple(sorted(labels))
            assert answers.setdefault(key, note["ranked"]) == note["ranked"], note


def _check_commits(notes: list[Note], first: dict[str, dict[str, int]]) -> None:
    """No update is lost: a version is its parent and one picture more, but for what was forgotten
    since, and has a second child only if it was rolled back to."""
    commits = [note for note in notes if note["did"] == "commit"]
    classes = first | {note["version"]: note["classes"] for note in commits if "classes" in note}
    assert len({note["version"] for note in commits}) == len(commits)
    for note in commits:
        if note["version"] in classes and note["parent"] in classes:
            expected = Counter(classes[note["parent"]]) + Counter({note["label"]: 1})
            found = Counter(classes[note["version"]])
            for counts in (expected, found):
                counts.pop(FORGOTTEN, None)
            assert found == expected, note
    returns = Counter(note["version"] for note in notes if note["did"] == "rollback")
    for parent, children in Counter(note["parent"] for note in commits).items():
        assert children <= 1 + returns[parent], parent


def campaign(random: Random, folder: Path) -> Counter[str]:
    return race(folder, SECONDS_A_ROUND, random)

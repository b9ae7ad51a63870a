"""Eight readers, a verifier, two writers, a rollback and a gc on one store, each a process."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from random import Random

from tests import tiny_store
from tests.concurrency.players import Note, collect, play, read, roll_back, teach, verify
from tests.crash.scenarios import leftovers

ROLES = [
    *[(read, "")] * 8,
    (verify, ""),
    (teach, "red"),
    (teach, "blue"),
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
    _check_reads(notes, {*first, *(note["version"] for note in notes if note["did"] == "commit")})
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
            "writers told to wait": counts["told"],
            "of them told for whom": sum(", process " in note.get("says", "") for note in notes),
        }
    )


def _check_reads(notes: list[Note], versions: set[str]) -> None:
    """A version gives one answer to one picture, whoever reads it and whenever."""
    answers: dict[tuple[str, str], object] = {}
    for note in notes:
        if note["did"] == "read":
            assert note["version"] in versions, note
            key = note["version"], note["asked"]
            assert answers.setdefault(key, note["ranked"]) == note["ranked"], note


def _check_commits(notes: list[Note], first: dict[str, dict[str, int]]) -> None:
    """No update is lost: a version is its parent and one picture more, and has a second child only
    if it was rolled back to."""
    commits = [note for note in notes if note["did"] == "commit"]
    classes = first | {note["version"]: note["classes"] for note in commits if "classes" in note}
    assert len({note["version"] for note in commits}) == len(commits)
    for note in commits:
        if note["version"] in classes and note["parent"] in classes:
            expected = Counter(classes[note["parent"]]) + Counter({note["label"]: 1})
            assert classes[note["version"]] == expected, note
    returns = Counter(note["version"] for note in notes if note["did"] == "rollback")
    for parent, children in Counter(note["parent"] for note in commits).items():
        assert children <= 1 + returns[parent], parent


def campaign(random: Random, folder: Path) -> Counter[str]:
    return race(folder, SECONDS_A_ROUND, random)

"""Class names and the folders they come from: text in the store, or refused; never a path, and
nothing that a terminal would obey."""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from prd_edge import Runtime
from prd_edge.classes import MAX_NAME_BYTES, clean_class_name
from prd_edge.errors import InvalidInputError
from prd_edge.manifest import Manifest

from ..attacks.test_name_attacks import HOSTILE, assert_only_a_store
from . import tiny
from .command import assert_short, fingerprint, is_harmless, run
from .rounds import rounds

PIECES = (
    *("a", "B", "é", "e\u0301", "ñ", "茶", "한", "ᄒ", "ᅡ", "ע", "ع", "👩\u200d🔬", "🍎", "ß", "İ"),
    *("..", "/", "\\", "\0", "\n", "\t", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\ufeff"),
    *("\ud800", "\udcff", "\u2028", "\u00a0", "\u3000", "\ue000", "\U0010ffff", "\u0378"),
    *(" ", ".", "-", "~", "$", "'", '"', "%", "{", "<b>", "CON", "nul", "x" * 250, "é" * 5000),
)  # fmt: skip


def hostile_name(random: Random) -> str:
    if random.random() < 0.1:
        return random.choice(HOSTILE)
    if random.random() < 0.3:
        return "".join(chr(random.randrange(0x110000)) for _ in range(random.randint(1, 8)))
    return "".join(random.choices(PIECES, k=random.randint(0, 4)))


def campaign(random: Random, folder: Path) -> Counter[str]:
    done: Counter[str] = Counter()
    store = tiny.make_store(folder / "store")
    manifest = Runtime.open(store).store.live().manifest
    names = [hostile_name(random) for _ in range(100)]
    allowed = {}
    for name in names:
        done["class names fuzzed"] += 1
        try:
            clean = clean_class_name(name)
        except InvalidInputError as error:
            assert_short(error)
            continue
        assert_safe(clean)
        allowed[clean] = 1
    classes = dict(sorted(allowed.items()))
    identities = {name: f"{number:016x}" for number, name in enumerate(classes)}
    changed = {**manifest.__dict__, "classes": classes, "identities": identities}
    assert Manifest.from_bytes(Manifest(**changed).to_bytes()).classes == allowed
    assert_names_stay_names(random, store, names, folder)
    some = random.sample(sorted(allowed), min(4, len(allowed)))
    if random.random() < 0.3:
        some.append(random.choice(names))
    done["session folders fuzzed"] += 1
    done["session folders learned"] += is_learned(random, store, some, folder)
    shutil.rmtree(store)
    return done


def assert_safe(clean: str) -> None:
    assert unicodedata.is_normalized("NFC", clean)
    assert clean == clean_class_name(clean)
    assert clean.strip() == clean != ""
    assert not set(clean) & set("/\\\0\n\r\x1b")
    assert is_harmless(clean)
    assert len(clean.encode()) <= MAX_NAME_BYTES
    assert not clean.startswith(".")


def assert_names_stay_names(random: Random, store: Path, names: list[str], folder: Path) -> None:
    """Those that are given to commands: nothing appears beside the store."""
    old, new = random.choice(["red", random.choice(names)]), random.choice(names)
    run("classes", "rename", "--store", store, "--", old, new)
    run("classes", "list", "--store", store)
    run("classes", "list", "--json", "--store", store)
    run("classes", "remove", "--store", store, "--", random.choice(names))
    run("predict", folder / "none.png", "--among", random.choice(names), "--store", store)
    assert_only_a_store(store)
    assert [path.name for path in folder.iterdir()] == ["store"]


def is_learned(random: Random, store: Path, names: list[str], folder: Path) -> bool:
    """A session folder with anything in it is learned or refused, and what lies outside of it
    stays as it is."""
    outside = tiny.write_session(folder / "outside", "blue", images=1)
    data = tiny.write_session(folder / "data", "red", images=1)
    for name in names:
        if "/" in name:  # no folder can have it, and here it would lead out of this one
            continue
        try:
            (data / name).mkdir()
        except (OSError, ValueError):  # this system has no such name
            continue
        (data / name / "good").write_bytes(tiny.png("green", len(list(data.iterdir()))))
        put_anything(random, data / name / random.choice(("x.png", "y")), outside)
    before = fingerprint(folder)
    outcome = run("learn-session", data, "--mode", "imprint", "--store", store, "--dry-run")
    assert outcome.code in (0, 2, 3)
    assert fingerprint(folder) == before
    shutil.rmtree(data)
    shutil.rmtree(outside)
    return outcome.code == 0


def put_anything(random: Random, path: Path, outside: Path) -> None:
    kind = random.randrange(8)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.symlink_to("/dev/zero")
    elif kind == 2:
        path.symlink_to(path)  # a loop
    elif kind == 3:
        path.symlink_to("nowhere")
    elif kind == 4:
        path.symlink_to(outside)
    elif kind == 5:
        path.symlink_to(outside / "blue/0.png")
    elif kind == 6:
        path.symlink_to(path.parents[1])  # a folder within itself
    else:
        path.write_bytes(tiny.png("green", random.randrange(9)))


@pytest.mark.parametrize("seed", range(4))
def test_names(tmp_path: Path, seed: int) -> None:
    done = rounds(campaign, seed, tmp_path, count=5)
    assert done["class names fuzzed"] == 500
    assert done["session folders learned"] > 0

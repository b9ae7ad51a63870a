"""Every file of a store, damaged in every way: noticed before use and named, and there is a way
back."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from . import tiny
from .command import Outcome, fingerprint, run
from .rounds import rounds

NEEDED_TO_PREDICT = (
    "manifest.json",
    "preprocess.onnx",
    "encoder.onnx",
    "prototypes.safetensors",
)
LIVE = "000003"
POINTERS = ("CURRENT", "CURRENT.copy")
KINDS = (
    *("flip", "truncate", "extend", "zero", "overwrite", "swap", "other version"),
    *("missing", "link", "endless", "folder", "pipe", "huge"),
)


def campaign(random: Random, folder: Path) -> Counter[str]:
    done: Counter[str] = Counter()
    data = tiny.write_session(folder / "data", "blue", "green")
    store = tiny.make_store(folder / "store")
    files = sorted(path for path in store.rglob("*") if path.is_file() and path.name != "LOCK")
    good = {path: path.read_bytes() for path in files}
    for _ in range(20):
        path, kind = random.choice(files), random.choice(KINDS)
        if damage(random, path, kind):
            done["files damaged"] += 1
            assert_noticed(random, store, path, data, kind)
        restore(path, good)
    shutil.rmtree(store)
    shutil.rmtree(data)
    return done


def restore(path: Path, good: dict[Path, bytes]) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)
    path.with_name(f"{path.name}.aside").unlink(missing_ok=True)
    path.write_bytes(good[path])
    for own in (path for path in good if path.name in POINTERS):  # it was rolled back
        own.write_bytes(good[own])


def damage(random: Random, path: Path, kind: str) -> bool:
    """False where that made no difference."""
    before = path.read_bytes()
    data = bytearray(before)
    at = random.randrange(len(data))
    if kind == "flip":
        for _ in range(random.choice((1, 1, 1, 2, 8))):
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    elif kind == "truncate":
        del data[at:]
    elif kind == "extend":
        data += random.randbytes(random.randint(1, 600))
    elif kind == "zero":
        length = min(random.choice((1, 16, 512, 4096)), len(data) - at)
        data[at : at + length] = bytes(length)
    elif kind == "overwrite":
        length = min(random.choice((1, 16, 512)), len(data) - at)
        data[at : at + length] = random.randbytes(length)
    elif kind in ("swap", "other version"):
        store = path.parents[2] if path.name not in POINTERS else path.parent
        pattern = path.name if kind == "other version" else "*.*"
        data[:] = random.choice(sorted(store.glob(f"versions/*/{pattern}")) or [path]).read_bytes()
    else:
        put_something_else(path, kind)
        return True
    path.write_bytes(data)
    return bytes(data) != before


def put_something_else(path: Path, kind: str) -> None:
    aside = path.with_name(f"{path.name}.aside")
    path.rename(aside)
    if kind == "link":
        path.symlink_to(aside)  # to the very bytes: but they are not the store's own
        return
    aside.unlink()
    if kind == "endless":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "huge":
        with path.open("wb") as stream:
            stream.truncate(2**40)  # sparse: takes no room, and would fill the memory


def assert_noticed(random: Random, store: Path, path: Path, data: Path, kind: str) -> None:
    before = fingerprint(store) if kind != "huge" else None
    is_live = path.parent.name == LIVE
    predicted = run("predict", data / "blue/0.png", "--json", "--threads", 1, "--store", store)
    if is_live and path.name in NEEDED_TO_PREDICT:
        assert_refused(predicted, path)
    else:
        assert_answered(predicted, LIVE)
    verified = run("verify", "--store", store)
    if (path.name, kind) == ("CURRENT.copy", "missing"):  # nothing is lost without it
        assert verified.code == 0
    else:
        assert verified.code == 4
        assert str(path) in verified.err
    ask_another(random, store, path, data, is_live=is_live)
    if before is not None:
        assert fingerprint(store) == before
    assert_way_back(store, path, data)


def ask_another(random: Random, store: Path, path: Path, data: Path, *, is_live: bool) -> None:
    """Of those that look at the live version; none changes the store if it is damaged."""
    picture = data / "green/1.png"
    commands = [
        ("info",), ("info", "--card"), ("history",), ("classes", "list"), ("diff", 2, 3),
        ("evaluate", data), ("feedback", picture, "--is", "blue"), ("gc",),
        ("classes", "rename", "red", "rot"), ("learn-session", data, "--mode", "imprint"),
    ]  # fmt: skip
    if random.random() < 0.004:
        commands = [("export", "-o", store.parent / "model.onnx")]
    command = random.choice(commands)
    if not is_live and command[0] in ("feedback", "classes", "learn-session", "gc"):
        command = ("learn-session", data, "--mode", "imprint", "--dry-run")  # others may succeed
    if is_live and command[0] == "gc" and path.name != "manifest.json":
        return  # it looks at manifests alone
    outcome = run(*command, "--store", store)
    if is_live and path.name == "manifest.json":
        assert outcome.code == 4, (command, outcome)
    elif is_live and command[0] == "learn-session":
        assert_refused(outcome, path)
    for made in store.parent.glob("model.onnx*"):
        made.unlink()


def assert_way_back(store: Path, path: Path, data: Path) -> None:
    good = [n for n in ("000001", "000002") if n != path.parent.name]
    back = run("rollback", "--store", store)
    if path.name in POINTERS and path.is_dir():
        assert back.code == 4
        return
    assert back.code == 0, back
    assert f"version {good[-1]} is live" in back.out
    if good[-1] == "000002":
        assert_answered(
            run("predict", data / "blue/0.png", "--json", "--threads", 1, "--store", store),
            good[-1],
        )


def assert_refused(outcome: Outcome, path: Path) -> None:
    assert (outcome.code, outcome.out) == (4, ""), outcome
    assert str(path) in outcome.err
    assert "prd-edge rollback" in outcome.err
    assert len(outcome.complaints) == 1


def assert_answered(outcome: Outcome, version: str) -> None:
    assert outcome.code == 0, outcome
    answer = json.loads(outcome.out)
    assert (answer["label"], answer["version"]) == ("blue", version)


@pytest.mark.parametrize("name", ["CURRENT", "CURRENT.copy"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_rollback_outlives_damage_to_one_of_two(tmp_path: Path, name: str, kind: str) -> None:
    """The live version is not the newest, and no version tells which one it is."""
    store = tiny.make_store(tmp_path / "store")
    assert run("rollback", "2", "--store", store).code == 0
    (picture,) = tiny.write_session(tmp_path / "data", "blue", images=1).glob("*/*")
    for seed in range(20):
        if not damage(Random(seed), store / name, kind):
            continue
        answer = run("predict", picture, "--json", "--threads", 1, "--store", store)
        assert_answered(answer, "000002")
        if (kind, name) != ("missing", "CURRENT.copy"):
            verified = run("verify", "--store", store)
            assert (verified.code, len(verified.complaints)) == (4, 1)
            assert f"{store / name} is damaged" in verified.err
        if (store / name).is_dir():
            return  # it is somebody else's: nobody writes then
        assert run("classes", "rename", "green", "verde", "--store", store).code == 0
        assert run("verify", "--store", store).code == 0
        assert tiny.Store(store).live().manifest.parent == "000002"
        shutil.rmtree(store)
        tiny.make_store(store)
        assert run("rollback", "2", "--store", store).code == 0


def test_no_version_is_good(tmp_path: Path) -> None:
    """Then rollback says so, and nothing is answered."""
    store = tiny.make_store(tmp_path / "store")
    for path in store.glob("versions/*/prototypes.safetensors"):
        damage(Random(4), path, "flip")
    before = fingerprint(store)
    outcome = run("rollback", "--store", store)
    assert outcome.code == 4
    assert "no good version before 000003" in outcome.err
    (picture,) = tiny.write_session(tmp_path / "data", "red", images=1).glob("*/*")
    assert run("predict", picture, "--store", store).code == 4
    assert fingerprint(store) == before


@pytest.mark.parametrize("seed", range(10))
def test_damage(tmp_path: Path, seed: int) -> None:
    assert rounds(campaign, seed, tmp_path, count=6)["files damaged"] >= 100

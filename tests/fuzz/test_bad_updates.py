"""Sessions that must not be learned: nothing is committed, and the reason is said. What training
itself may do wrong is in tests/learn."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

from prd_edge.manifest import FileRecord, Manifest

from . import tiny
from .command import fingerprint, run
from .rounds import rounds

BAD = {
    "an empty class": (3, "no images for"),
    "no class": (3, "holds nothing"),
    "pictures without a class": (3, "holds only files"),
    "a class of broken pictures": (3, "has no usable image"),
    "only broken pictures": (3, "has no usable image"),
    "a class of pipes": (3, "not a regular file"),
    "one picture in two classes": (3, "the same picture is in"),
    "two spellings of a class": (2, "different Unicode forms"),
    "a class that is a trick": (2, "forbidden character"),
    "an encoder that gives no numbers": (4, "not numbers"),
    "a hold-out of everything": (2, "holdout"),
}


def campaign(random: Random, folder: Path) -> Counter[str]:
    done: Counter[str] = Counter()
    for _ in range(5):
        kind = random.choice(sorted(BAD))
        assert_refused(random, folder, kind)
        done["bad updates"] += 1
    return done


def assert_refused(random: Random, folder: Path, kind: str) -> None:
    store = tiny.make_store(folder / "store")
    data = tiny.write_session(folder / "data", "red", "blue", images=random.randint(1, 6))
    spoil(random, kind, store, data)
    options = ()
    if kind == "a hold-out of everything":
        options = ("--holdout", random.choice(("1", "1.5", "nan", "-0.1")))
    before = fingerprint(store)
    outcome = run("learn-session", data, "--mode", "imprint", *options, "--store", store)
    code, reason = BAD[kind]
    assert (outcome.code, outcome.out) == (code, ""), (kind, outcome)
    assert reason in outcome.err, (kind, outcome)
    assert len(outcome.complaints) == 1
    assert fingerprint(store) == before
    shutil.rmtree(store)
    shutil.rmtree(data)


def spoil(random: Random, kind: str, store: Path, data: Path) -> None:
    spoiled = data / random.choice(("red", "blue"))
    if kind == "an empty class":
        (data / "cup").mkdir()
    elif kind in ("no class", "pictures without a class"):
        shutil.rmtree(data)
        data.mkdir()
        if kind != "no class":
            (data / "x.png").write_bytes(tiny.png("red", 1))
    elif kind in ("a class of broken pictures", "only broken pictures"):
        for path in (data if kind.startswith("only") else spoiled).rglob("*.png"):
            content = path.read_bytes()
            path.write_bytes(content[: random.randrange(len(content) // 2)])
    elif kind == "a class of pipes":
        for path in spoiled.iterdir():
            path.unlink()
            os.mkfifo(path)
    elif kind == "one picture in two classes":
        shutil.rmtree(data / "red")
        shutil.copytree(data / "blue", data / "red")
    elif kind == "two spellings of a class":
        for name in ("caf\u00e9", "cafe\u0301"):
            shutil.copytree(spoiled, data / name)
    elif kind == "a class that is a trick":
        spoiled.rename(data / random.choice(("a\nb", "\u202ered", "a\x1b[2J", "a\\b")))
    elif kind == "an encoder that gives no numbers":
        give_no_numbers(store)


def give_no_numbers(store: Path) -> None:
    """With a good checksum: as an encoder that training has spoiled would be."""
    path = store / "versions/000003/encoder.onnx"
    spoiled = path.read_bytes().replace(np.float32(120.5).tobytes(), np.float32("nan").tobytes())
    path.write_bytes(spoiled)
    manifest = Manifest.from_bytes((path.parent / "manifest.json").read_bytes())
    files = {**manifest.files, path.name: FileRecord.of(spoiled)}
    again = Manifest(**{**manifest.__dict__, "files": files})
    (path.parent / "manifest.json").write_bytes(again.to_bytes())


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_update(tmp_path: Path, kind: str) -> None:
    for seed in range(2):
        assert_refused(Random(seed), tmp_path, kind)


def test_bad_updates(tmp_path: Path) -> None:
    assert rounds(campaign, 0, tmp_path, count=2)["bad updates"] == 10


def test_one_image_is_learned_with_a_warning(tmp_path: Path) -> None:
    """It is too few, but it is not wrong."""
    store = tiny.make_store(tmp_path / "store")
    data = tiny.write_session(tmp_path / "data", "red", images=1)
    (data / "red").rename(data / "cup")
    outcome = run("learn-session", data, "--mode", "imprint", "--store", store)
    assert outcome.code == 0
    assert "warning" in outcome.err

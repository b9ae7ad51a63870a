"""Files beside a version: the evaluation that a card is given, and the checkpoint of a session that
was cut off."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from prd_edge.checkpoint import CheckpointFile

from . import tiny
from .command import run, watchdog
from .hostile_json import mutated
from .rounds import rounds

EVALUATION = {
    "schema": 1,
    "version": "000003",
    "images": 40,
    "accuracy": 0.9,
    "balanced_accuracy": 0.8,
    "unknown": 3,
    "never_taught": {"images": 5, "called_unknown": 0.4, "auroc": 0.7},
}
KEY = "0123456789abcdef" * 4


def campaign(random: Random, folder: Path) -> Counter[str]:
    done: Counter[str] = Counter()
    store = tiny.make_store(folder / "store")
    path = folder / "evaluation.json"
    for _ in range(20):
        path.write_bytes(damaged(random, written(mutated(random, EVALUATION))))
        outcome = run("info", "--card", "--evaluation", path, "--store", store)
        assert outcome.code in (0, 2)
        assert len(outcome.err) < 2000
        done["side files fuzzed"] += 1
    path.unlink()
    checkpoint = CheckpointFile(folder / "checkpoint")
    for _ in range(20):
        content = random.randbytes(random.randint(0, 300))
        checkpoint.save(KEY, content)
        good = checkpoint.path.read_bytes()
        assert checkpoint.load(KEY) == content
        assert checkpoint.load(KEY.replace("0", "1")) is None
        bad = damaged(random, good, always=True)
        checkpoint.path.write_bytes(bad)
        assert checkpoint.load(KEY) is None or bad == good
        done["side files fuzzed"] += 1
    checkpoint.remove()
    shutil.rmtree(store)
    return done


def written(document: object) -> bytes:
    try:
        return json.dumps(document).encode()
    except RecursionError:
        return b"[" * 100_000


def damaged(random: Random, data: bytes, *, always: bool = False) -> bytes:
    changed = bytearray(data)
    kind = random.randrange(0 if always else -3, 4)
    at = random.randrange(len(changed))
    if kind == 0:
        changed[at] ^= 1 << random.randrange(8)
    elif kind == 1:
        del changed[at:]
    elif kind == 2:
        changed += random.randbytes(5)
    elif kind == 3:
        changed[at:at] = random.randbytes(5)
    return bytes(changed)


@pytest.mark.parametrize("seed", range(2))
def test_side_files(tmp_path: Path, seed: int) -> None:
    assert rounds(campaign, seed, tmp_path, count=5)["side files fuzzed"] == 200


@pytest.mark.parametrize("what", ["a pipe", "an endless device", "a folder", "a huge file"])
def test_an_evaluation_that_is_no_file(tmp_path: Path, what: str) -> None:
    store, path = tiny.make_store(tmp_path / "store"), tmp_path / "evaluation.json"
    put(path, what)
    assert run("info", "--card", "--evaluation", path, "--store", store).code == 2


@pytest.mark.parametrize("what", ["a pipe", "an endless device", "a folder", "a huge file"])
def test_a_checkpoint_that_is_no_file(tmp_path: Path, what: str) -> None:
    put(tmp_path / "checkpoint", what)
    with watchdog(20):
        assert CheckpointFile(tmp_path / "checkpoint").load(KEY) is None


def put(path: Path, what: str) -> None:
    if what == "a pipe":
        os.mkfifo(path)
    elif what == "a folder":
        path.mkdir()
    elif what == "a huge file":
        with path.open("wb") as stream:
            stream.truncate(2**42)  # sparse: it takes no room
    else:
        path.symlink_to("/dev/zero")

"""Manifests with a good checksum and hostile content: refused by name, or harmless in every
command that reads them."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from prd_edge.errors import StoreError
from prd_edge.manifest import Manifest

from . import tiny
from .command import assert_short, run
from .hostile_json import mutated
from .rounds import rounds


def campaign(random: Random, folder: Path) -> Counter[str]:
    store = tiny.make_store(folder / "store")
    picture = tiny.write_session(folder / "data", "red", images=1) / "red/0.png"
    path = store / "versions/000003/manifest.json"
    good = path.read_bytes()
    body = json.loads(good)
    done: Counter[str] = Counter()
    for _ in range(100):
        data = signed(random, mutated(random, body))
        done["manifests fuzzed"] += 1
        try:
            manifest = Manifest.from_bytes(data)
        except StoreError as error:
            assert_short(error)
            is_accepted = False
        else:
            assert Manifest.from_bytes(manifest.to_bytes()) == manifest
            is_accepted = True
        if random.random() < (0.4 if is_accepted else 0.02):
            path.write_bytes(data)
            code = ask(random, store, picture)
            assert is_accepted or code == 4
    for made in (store, folder / "data"):
        shutil.rmtree(made)
    return done


def signed(random: Random, body: Any) -> bytes:
    """With a checksum as it should be, where the content can have one."""
    if isinstance(body, dict):
        body.pop("checksum", None)
        try:
            checksum = hashlib.sha256(canonical(body)).hexdigest()
        except (ValueError, RecursionError):
            checksum = "0" * 64
        body = {**body, "checksum": checksum}
    try:
        data = canonical(body)
    except UnicodeEncodeError:
        data = json.dumps(body, indent=1, sort_keys=True).encode()
    except RecursionError:
        data = b"[" * 100_000
    if random.random() < 0.03:  # a key that is there twice
        data = data.replace(b'{\n "action"', b'{\n "action": "x",\n "action"', 1)
    return data


def canonical(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, indent=1, sort_keys=True).encode() + b"\n"


def ask(random: Random, store: Path, picture: Path) -> int:
    command = random.choice(
        [
            ("info",), ("info", "--json"), ("info", "--card"), ("history",), ("history", "--json"),
            ("classes", "list"), ("classes", "list", "--json"), ("diff", 2, 3),
            ("diff", 2, 3, "--json"), ("predict", picture), ("predict", picture, "--json"),
            ("verify", "--privacy"), ("verify", "--privacy", "--json"),
            ("learn-session", picture.parents[1], "--mode", "imprint", "--dry-run"),
        ]
    )  # fmt: skip
    return run(*command, "--store", store).code


@pytest.mark.parametrize("seed", range(4))
def test_manifests(tmp_path: Path, seed: int) -> None:
    assert rounds(campaign, seed, tmp_path, count=5)["manifests fuzzed"] == 500


def test_a_key_that_is_there_twice(tmp_path: Path) -> None:
    store = tiny.make_store(tmp_path / "store")
    good = (store / "versions/000003/manifest.json").read_bytes()
    twice = good.replace(b'{\n "action"', b'{\n "action": "x",\n "action"', 1)
    assert twice != good
    with pytest.raises(StoreError, match="checksum"):
        Manifest.from_bytes(twice)


def test_a_signed_manifest_is_taken_for_good(tmp_path: Path) -> None:
    """Else the others would be refused for the wrong reason."""
    store = tiny.make_store(tmp_path / "store")
    body = json.loads((store / "versions/000003/manifest.json").read_bytes())
    body["action"] = "something else"
    assert Manifest.from_bytes(signed(Random(1), body)).action == "something else"

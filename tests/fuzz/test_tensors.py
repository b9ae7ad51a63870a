"""Tensors with a good checksum and hostile content: refused by name, or numbers to the end."""

from __future__ import annotations

import json
import shutil
import struct
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from safetensors.numpy import load, save

from prd_edge.drift import drift_between
from prd_edge.errors import StoreCorruptError
from prd_edge.manifest import FileRecord
from prd_edge.model import load_knowledge, load_prototypes, load_readout
from prd_edge.readout import Readout
from prd_edge.store import Store, Version

from . import tiny
from .command import assert_short, watchdog
from .rounds import rounds

FILES = ("prototypes.safetensors", "prototypes.safetensors", "covariance.safetensors")
VALUES = (0, -1, 1, 2**31, 2**53, -(2**62), 1e-320, 1e300, -1e300, np.nan, np.inf, -np.inf, 1e38)
KINDS = ("F64", "F32", "F16", "BF16", "F8_E4M3", "I64", "I8", "U8", "BOOL", "C64", "X", "")


def campaign(random: Random, folder: Path) -> Counter[str]:
    store = tiny.make_store(folder / "store")
    live = Store(store).live()
    embedding = np.full(12, 12**-0.5, np.float32)
    done: Counter[str] = Counter()
    for _ in range(100):
        file = random.choice(FILES)
        path = live.path / file
        good = path.read_bytes()
        change = random.choice((with_other_values, with_other_shapes, with_another_header))
        with np.errstate(all="ignore"):
            data = change(random, good)
        path.write_bytes(data)
        records = {**live.manifest.files, file: FileRecord.of(data)}
        version = Version(live.path, replace(live.manifest, files=records))
        with watchdog(), warnings.catch_warnings():
            warnings.simplefilter("error")
            done["tensors fuzzed"] += 1
            done["tensors accepted"] += use(version, embedding)
        path.write_bytes(good)
    shutil.rmtree(store)
    return done


def use(version: Version, embedding: np.ndarray) -> bool:
    """Whether they were taken; all that follows from them is numbers then."""
    try:
        verdict = load_readout(version).verdict(embedding)
        assert np.isfinite(verdict.confidences).all()
        prototypes = load_prototypes(version)
        assert all(np.isfinite(own).all() for own in prototypes.values())
        assert all(
            np.isfinite(own.distance) for own in drift_between(prototypes, prototypes).values()
        )
        known = load_knowledge(version)
        bank = known.bank.add(embedding[None], ["red"])
        assert np.isfinite(Readout.of(bank).weights).all()
    except StoreCorruptError as error:
        assert_short(error)
        return False
    return True


def with_other_values(random: Random, good: bytes) -> bytes:
    tensors = {name: own.copy() for name, own in load(good).items()}
    for _ in range(random.choice((1, 1, 3))):
        own = tensors[random.choice(sorted(tensors))]
        value = np.float64(random.choice(VALUES)).astype(own.dtype)
        if own.size:
            own.flat[random.randrange(own.size) if random.random() < 0.8 else slice(None)] = value
    return save(tensors)


def with_other_shapes(random: Random, good: bytes) -> bytes:
    tensors = dict(load(good))
    name = random.choice(sorted(tensors))
    own = tensors[name]
    kind = random.randrange(6)
    if kind == 0:
        del tensors[name]
    elif kind == 1:
        tensors[name] = own.astype(random.choice((np.float16, np.float32, np.int8, np.uint64)))
    elif kind == 2:
        tensors[name] = np.zeros((0, random.choice((1, 12, 10**9, 2**40))), own.dtype)
    elif kind == 3:
        tensors[name] = np.ones(random.choice(((), (1,), (3, 12), (4, 12), (3, 3, 3))), own.dtype)
    elif kind == 4:
        tensors[name] = own.reshape(-1, *[1] * random.randrange(9))
    else:
        tensors = {random.choice(sorted(tensors)): own, "x": own}
    return save({n: np.ascontiguousarray(t) for n, t in tensors.items()})


def with_another_header(random: Random, good: bytes) -> bytes:
    (length,) = struct.unpack("<Q", good[:8])
    header, body = json.loads(good[8 : 8 + length]), good[8 + length :]
    own = header[random.choice(sorted(header))]
    kind = random.randrange(7)
    if kind == 0:
        own["dtype"] = random.choice(KINDS)
    elif kind == 1:
        own["shape"] = random.choice(([], [-1], [2**63], [2**64 - 1, 2], [1] * 100, "x", [0.5]))
    elif kind == 2:
        own["data_offsets"] = random.choice(([0, 8], [8, 0], [-8, 0], [0, 2**64], [], [0, 2**40]))
    elif kind == 3:
        header["__metadata__"] = random.choice(({"x": "y"}, {"x": 1}, [], "x"))
    elif kind == 4:
        own["data_offsets"] = header[random.choice(sorted(header))]["data_offsets"]  # overlap
    elif kind == 5:
        header[random.choice(("", "x" * 10_000, "\0", "\x1b[2J"))] = own
    text = json.dumps(header).encode()
    length = random.choice((len(text),) * 6 + (0, len(text) + 1, 2**40, 2**64 - 1))
    if kind == 6:
        text = random.choice((b"", b"{", b"[" * 5000, b"\xff" * 50, text + b" " * 2000))
    return struct.pack("<Q", length) + text + body


@pytest.mark.parametrize("seed", range(4))
def test_tensors(tmp_path: Path, seed: int) -> None:
    done = rounds(campaign, seed, tmp_path, count=5)
    assert done["tensors fuzzed"] == 500
    assert 10 < done["tensors accepted"] < 250

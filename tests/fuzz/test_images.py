"""Mutated pictures: an array or an `ImageError`, in bounded memory; in a session, skipped and
named."""

from __future__ import annotations

import resource
import shutil
import warnings
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

from prd_edge import Runtime
from prd_edge.errors import ImageError
from prd_edge.images import decode

from ..attacks.test_image_attacks import INTERESTING, SAMPLES
from . import tiny
from .command import assert_short, watchdog
from .rounds import rounds

MEGABYTES = 1000  # the limit of 64 million pixels, in every form that decoding needs


def campaign(random: Random, folder: Path) -> Counter[str]:
    done: Counter[str] = Counter()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    readable = []
    for _ in range(50):
        data = mutated(random)
        done["images fuzzed"] += 1
        if is_readable(data):
            done["images readable"] += 1
            readable.append(data)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEGABYTES * 1024
    if random.random() < 0.2:
        assert_skipped_and_named(folder, [*readable[:3], mutated(random), mutated(random)])
    return done


def is_readable(data: bytes) -> bool:
    with watchdog(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="PIL")
        try:
            found = decode(data)
        except ImageError as error:
            assert_short(error)
            return False
    assert (found.ndim, found.shape[2], found.dtype) == (3, 3, np.uint8)
    assert found.size > 0
    return True


def assert_skipped_and_named(folder: Path, files: list[bytes]) -> None:
    store = tiny.make_store(folder / "store")
    data = tiny.write_session(folder / "data", "red", images=1)
    bad = []
    for number, content in enumerate(files):
        (data / f"red/fuzz{number}").write_bytes(content)
        if not is_readable(content):
            bad.append(f"red/fuzz{number}")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="PIL")
        report = Runtime.open(store).learn_session(data, mode="imprint", dry_run=True)
    assert [skipped.name for skipped in report.skipped] == bad
    assert report.images_used + report.duplicates + len(bad) == len(files) + 1
    shutil.rmtree(store)
    shutil.rmtree(data)


def mutated(random: Random) -> bytes:
    """A good file with some bytes changed, cut out, repeated or taken from another file."""
    data = bytearray(random.choice(SAMPLES))
    most = 64 if random.random() < 0.5 else len(data)  # in the header a change does most
    for _ in range(random.randint(1, 6)):
        at = random.randrange(max(min(len(data), most), 1))
        length = random.randint(1, 12)
        kind = random.randrange(8)
        if kind == 0:
            data[at : at + 1] = bytes([random.choice(INTERESTING)])
        elif kind == 1:
            data[at : at + length] = random.randbytes(length)
        elif kind == 2:
            del data[at : at + length]
        elif kind == 3:
            data[at:at] = data[at : at + length] * random.randint(1, 40)
        elif kind == 4:
            data[at:] = random.choice(SAMPLES)[at:]
        elif kind == 5:
            del data[at:]
        elif kind == 6 and data:
            data[at % len(data)] ^= 1 << random.randrange(8)
        else:  # a length or a number of pixels, in either order of bytes
            number = random.choice((0, 1, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF))
            data[at : at + 4] = number.to_bytes(4, random.choice(("big", "little")))
    return bytes(data)


@pytest.mark.parametrize("seed", range(4))
def test_images(tmp_path: Path, seed: int) -> None:
    done = rounds(campaign, seed, tmp_path, count=5)
    assert done["images fuzzed"] == 250
    assert 10 < done["images readable"] < 200

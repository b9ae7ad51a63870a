"""Accuracy of `learn_session` on real data, session by session.

    .venv/bin/python benchmarks/accuracy.py [--mode imprint|prd] [grocery] [trashnet] [cifar100]

By imprinting each data set is learned twice: all classes at once, and in many sessions in a
shuffled order, some classes split over two of them, which must not matter. By training it is
learned in those sessions only. Exact duplicates, which only a single session could notice, are
taken out first. The data sets are found in PRD_EDGE_DATA (default: ../shared/data beside the
project).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from prd_edge import Runtime, StoreConfig
from prd_edge.evaluate import evaluate
from prd_edge.images import decode
from prd_edge.model import load_predictor

DATA = Path(os.environ.get("PRD_EDGE_DATA", Path(__file__).parents[2] / "shared/data"))
Pairs = list[tuple[object, str]]


def grocery() -> tuple[Pairs, Pairs, int]:
    return folder(DATA / "grocery/train"), folder(DATA / "grocery/test"), 224


def trashnet() -> tuple[Pairs, Pairs, int]:
    """The first 70 % of each class after a shuffle with seed 0 are for training."""
    train: Pairs = []
    test: Pairs = []
    by_class: dict[str, Pairs] = {}
    for pair in folder(DATA / "trashnet"):
        by_class.setdefault(pair[1], []).append(pair)
    for pairs in by_class.values():
        random.Random(0).shuffle(pairs)
        cut = round(0.7 * len(pairs))
        train += pairs[:cut]
        test += pairs[cut:]
    return train, test, 224


def cifar100() -> tuple[Pairs, Pairs, int]:
    return cifar_part("train"), cifar_part("test"), 128


def cifar_part(part: str) -> Pairs:
    pairs: Pairs = []
    for strip in sorted((DATA / "cifar100" / part).glob("*.webp")):
        images = np.asarray(Image.open(strip).convert("RGB")).reshape(-1, 32, 32, 3)
        pairs += [(image, strip.stem[3:]) for image in images]
    return pairs


def folder(root: Path) -> Pairs:
    return [(path, path.parent.name) for path in sorted(root.glob("*/*.jpg"))]


def without_duplicates(pairs: Pairs) -> Pairs:
    """One of each picture; none of those that stand under two labels."""
    labels: dict[bytes, set[str]] = {}
    digests = [hashlib.blake2b(decode(image).tobytes()).digest() for image, _ in pairs]
    for digest, (_, label) in zip(digests, pairs, strict=True):
        labels.setdefault(digest, set()).add(label)
    kept: Pairs = []
    for digest, pair in zip(digests, pairs, strict=True):
        if len(labels.pop(digest, ())) == 1:
            kept.append(pair)
    return kept


def shuffled_sessions(pairs: Pairs, sessions: int, seed: int) -> Iterator[Pairs]:
    """Classes in random order; every fifth comes in two halves, in neighbouring sessions."""
    generator = random.Random(seed)
    labels = sorted({label for _, label in pairs})
    generator.shuffle(labels)
    parts: list[Pairs] = [[] for _ in range(sessions)]
    for position, label in enumerate(labels):
        images = [pair for pair in pairs if pair[1] == label]
        generator.shuffle(images)
        home = position * sessions // len(labels)
        cut = len(images) // 2 if position % 5 == 0 else len(images)
        parts[home] += images[:cut]
        parts[(home + 1) % sessions] += images[cut:]
    yield from (part for part in parts if part)


def measure(
    test: Pairs, size: int, sessions: Callable[[], Iterator[Pairs]], mode: str
) -> tuple[float, float, np.ndarray]:
    with tempfile.TemporaryDirectory() as scratch:
        runtime = Runtime.open(scratch + "/store", config=StoreConfig(image_size=size))
        started = time.perf_counter()
        for session in sessions():
            report = runtime.learn_session(session, mode=mode, seed=0)
            if report.training:
                print(report.training.note or "kept", file=sys.stderr, flush=True)
        seconds = time.perf_counter() - started
        predictor = load_predictor(runtime.store.live())
        return (
            evaluate(predictor, test, always_answer=True).accuracy,
            seconds,
            predictor.readout.weights,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=["grocery", "trashnet", "cifar100"])
    parser.add_argument("--mode", choices=["imprint", "prd"], default="imprint")
    options = parser.parse_args()
    known = {"grocery": (grocery, 9), "trashnet": (trashnet, 3), "cifar100": (cifar100, 20)}
    print("| data | images | sessions | accuracy | learning |")
    print("|---|---|---|---|---|", flush=True)
    for name in options.data:
        load, count = known[name]
        train, test, size = load()
        train = without_duplicates(train)
        streams: dict[str, Callable[[], Iterator[Pairs]]] = {
            "1": lambda train=train: iter([train]),
            f"{count}, shuffled": lambda train=train, count=count: shuffled_sessions(
                train, count, seed=1
            ),
        }
        if options.mode == "prd":
            del streams["1"]
        weights = []
        for label, sessions in streams.items():
            accuracy, seconds, readout = measure(test, size, sessions, options.mode)
            weights.append(readout)
            print(
                f"| {name}, {size} px | {len(train)} → {len(test)} | {label} "
                f"| {100 * accuracy:.2f} % | {seconds:.0f} s |",
                flush=True,
            )
        if len(weights) < 2:
            continue
        same = np.array_equal(*weights)
        print(f"| | | | readouts {'identical to the bit' if same else 'DIFFER'} | |", flush=True)


if __name__ == "__main__":
    main()

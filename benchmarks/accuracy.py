"""Accuracy of `learn_session` on real data, session by session.

    .venv/bin/python benchmarks/accuracy.py [--mode imprint|default] [grocery] [trashnet] [cifar100]

By imprinting each data set is learned twice: all classes at once, and in many sessions in a
shuffled order, some classes split over two of them, which must not matter. By default, where some
sessions train, it is learned in those sessions only. Exact duplicates, which only a single session
could notice, are taken out first. The data sets are found in PRD_EDGE_DATA (default: ../shared/data
beside the project).
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import numpy as np
from incremental.data import DATA_SETS, Pairs, without_duplicates

from prd_edge import Runtime, StoreConfig
from prd_edge.evaluate import evaluate
from prd_edge.model import load_predictor

SESSIONS = {"grocery": 9, "trashnet": 3, "cifar100": 20}


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
    test: Pairs, size: int, sessions: Callable[[], Iterator[Pairs]], mode: str | None
) -> tuple[float, float, np.ndarray]:
    with tempfile.TemporaryDirectory() as scratch:
        runtime = Runtime.open(scratch + "/store", config=StoreConfig(image_size=size))
        started = time.perf_counter()
        for session in sessions():
            report = runtime.learn_session(session, mode=mode, seed=0)
            how = report.training.note or "trained" if report.training else "imprinted"
            print(how, file=sys.stderr, flush=True)
        seconds = time.perf_counter() - started
        predictor = load_predictor(runtime.store.live())
        return (
            evaluate(predictor, test, always_answer=True).accuracy,
            seconds,
            predictor.readout.weights,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=[*SESSIONS], metavar="|".join(SESSIONS))
    parser.add_argument("--mode", choices=["imprint", "default"], default="imprint")
    options = parser.parse_args()
    mode = "imprint" if options.mode == "imprint" else None
    print("| data | images | sessions | accuracy | learning |")
    print("|---|---|---|---|---|", flush=True)
    for name in options.data:
        count, size = SESSIONS[name], DATA_SETS[name].size
        train, test = DATA_SETS[name].load()
        train = without_duplicates(train)
        streams: dict[str, Callable[[], Iterator[Pairs]]] = {
            "1": lambda train=train: iter([train]),
            f"{count}, shuffled": lambda train=train, count=count: shuffled_sessions(
                train, count, seed=1
            ),
        }
        if options.mode == "default":
            del streams["1"]
        weights = []
        for label, sessions in streams.items():
            accuracy, seconds, readout = measure(test, size, sessions, mode)
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

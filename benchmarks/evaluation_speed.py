"""Evaluating many pictures against predicting them: throughput, and memory that stays as it is.

    .venv/bin/python benchmarks/evaluation_speed.py [--pictures 10000] [--repeats 3]

Whole processes of `prd-edge evaluate` and `prd-edge predict`, in turn, on the same photographs of
grocery (PRD_EDGE_DATA), which stand in the folder as often as it takes.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from itertools import cycle, islice
from pathlib import Path

from incremental.data import DATA
from whole_process import measured

from prd_edge import Runtime

CLASSES = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        store = Path(scratch) / "store"
        train = sorted((DATA / "grocery/train").iterdir())[:CLASSES]
        pairs = [(path, folder.name) for folder in train for path in sorted(folder.iterdir())[:20]]
        Runtime.open(store).learn_session(pairs, mode="imprint")
        few = linked(Path(scratch) / "few", options.pictures // 20)
        many = linked(Path(scratch) / "many", options.pictures)
        memory = [measured(["evaluate", few, "--store", store, "--json"])[1]]
        seconds: dict[str, list[float]] = {"predict": [], "evaluate": []}
        for _ in range(options.repeats):
            seconds["predict"].append(
                measured(["predict", many, "--store", store, "--jsonl", "--top-k", "1"])[0]
            )
            took, peak = measured(["evaluate", many, "--store", store, "--json"])
            seconds["evaluate"].append(took)
            memory.append(peak)
        predict, evaluate = (statistics.median(own) for own in seconds.values())
        fewer = f"with {options.pictures // 20} pictures {memory[0]:.0f} MB"
        print(
            "| pictures | predict | evaluate | throughput of evaluate over predict | peak memory |"
        )
        print("|---|---|---|---|---|")
        print(
            f"| {options.pictures} | {predict:.1f} s | {evaluate:.1f} s | {predict / evaluate:.2f} "
            f"| {max(memory[1:]):.0f} MB; {fewer} |"
        )


def linked(folder: Path, count: int) -> Path:
    """Test photographs of the ten classes, under as many names as asked for."""
    names = [path.name for path in sorted((DATA / "grocery/train").iterdir())[:CLASSES]]
    paths = [path for name in names for path in sorted((DATA / "grocery/test" / name).iterdir())]
    for number, path in enumerate(islice(cycle(paths), count)):
        target = folder / path.parent.name / f"{number}.jpg"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(path)
    return folder


if __name__ == "__main__":
    main()

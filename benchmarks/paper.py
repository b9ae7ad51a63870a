"""The paper's tables and figures, from scratch: reduced for an hour, or in full for days.

    .venv/bin/python benchmarks/paper.py                          the reduced suite
    .venv/bin/python benchmarks/paper.py class-incremental half-pretrained --seeds 0
    .venv/bin/python benchmarks/paper.py beta alpha --scale full
    .venv/bin/python benchmarks/paper.py folder --data ./pictures --tasks 200

A table is one command; tables share the runs that they have in common. `--scale reduced` (the
default) is a ResNet-18 an eighth as wide, at 16 px, for 8 epochs a task; `--scale full` the paper's
protocol. Every run keeps its state after each task, and its result with seed and configuration, in
--work: a killed command goes on where it stopped. Writes tables.md and curves beside them;
`--render` only that. CIFAR-100 is found in PRD_EDGE_DATA, or downloaded by torchvision to --data;
other data sets are read from your copy (incremental/local_copies.py).
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from incremental.data import DATA
from incremental.jobs import PaperJob
from incremental.loop import finish_all
from incremental.methods import FROM_SCRATCH
from incremental.paper_plots import plots
from incremental.paper_tables import TABLES, comparison, details, runs_of
from incremental.pixels import SCALES, Scale
from incremental.scenarios import SCENARIOS


def main() -> None:
    options = arguments().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the workers end as well
    scale = scaled(options)
    tables = options.tables or ["headline"]
    scenarios = list(dict.fromkeys(s for table in tables for s in TABLES[table].scenarios))

    def job(scenario: str, method: str, seed: int) -> PaperJob:
        places = scale, options.data, options.tasks, options.work
        return PaperJob(scenario, method, seed, *places)

    wanted = dict.fromkeys(
        job(scenario, method, seed)
        for seed in options.seeds
        for table in tables
        for scenario in TABLES[table].scenarios
        for method in (options.methods or TABLES[table].methods)
        if method in FROM_SCRATCH
    )
    if not options.render:
        finish_all(wanted, options.workers)
    found = {
        (scenario, method): runs_of(job(scenario, method, seed) for seed in options.seeds)
        for scenario in scenarios
        for method in FROM_SCRATCH
    }
    text = "\n\n".join(
        [f"## {TABLES[t].title}\n\n{comparison(TABLES[t], found)}" for t in tables]
        + [
            f"## {SCENARIOS[s].title}: all that was measured\n\n{details(s, found)}"
            for s in scenarios
        ]
    )
    target = options.work / scale.name
    target.mkdir(parents=True, exist_ok=True)
    (target / "tables.md").write_text(text + "\n")
    print(text)
    for s in scenarios:
        by_method = {method: found[s, method] for method in FROM_SCRATCH if found[s, method]}
        for path in plots(SCENARIOS[s].title, by_method, target / s) if by_method else ():
            print(f"wrote {path}", file=sys.stderr)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--scale", choices=SCALES, default="reduced")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--methods", nargs="+", choices=FROM_SCRATCH, metavar="METHOD")
    parser.add_argument("--data", type=Path, default=DATA, help="your copy of the data set")
    parser.add_argument("--tasks", type=int, help="another number of them")
    for name, kind in _CHANGEABLE.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, help="instead of the scale's")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="runs side by side")
    parser.add_argument("--render", action="store_true", help="of finished runs; run nothing")
    parser.add_argument("--work", type=Path, default=Path("work/paper"))
    return parser


_CHANGEABLE = {
    "base_width": int,
    "pixels": int,
    "per_class": int,
    "epochs": int,
    "batch_size": int,
    "learning_rate": float,
}


def scaled(options: argparse.Namespace) -> Scale:
    """The scale with what was changed of it, which is told by its name as well."""
    scale = SCALES[options.scale]
    changes = {name: getattr(options, name) for name in _CHANGEABLE if getattr(options, name)}
    if not changes:
        return scale
    name = "-".join([scale.name, *(f"{name}-{value}" for name, value in changes.items())])
    return replace(scale, name=name.replace("_", "-"), **changes)


if __name__ == "__main__":
    main()

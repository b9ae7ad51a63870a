"""The paper's tables and figures, from scratch: reduced for an hour, or in full for days.

    .venv/bin/python benchmarks/paper.py                          the reduced suite
    .venv/bin/python benchmarks/paper.py class-incremental half-pretrained --seeds 0
    .venv/bin/python benchmarks/paper.py beta alpha --scale full
    .venv/bin/python benchmarks/paper.py folder --data ./pictures --tasks 200

A table is one command; tables share the runs that they have in common. `--scale reduced` (the
default) is a ResNet-18 an eighth as wide, at 16 px, for 8 epochs a task; `--scale full` has the
paper's width, pixels, epochs, batches and rate (docs/reproduction.md says what still differs).
Every run keeps its state after each task, and its result with seed and configuration, in --work: a
killed command goes on where it stopped. Writes tables and curves beside them; `--render` only that.
CIFAR-100 is found in PRD_EDGE_DATA, or downloaded by torchvision to --data; other data sets are
read from your copy (incremental/local_copies.py).
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

from incremental.jobs import PaperJob
from incremental.loop import finish_all
from incremental.methods import FROM_SCRATCH
from incremental.paper_plots import plots
from incremental.paper_tables import TABLES, comparison, details, runs_of
from incremental.pixels import SCALES, Scale
from incremental.scenarios import SCENARIOS, local_copy


def main() -> None:
    options = arguments().parse_args()
    scale = scaled(options)
    tables = options.tables or ["headline"]
    copies = {s: local_copy(s, options.data) for table in tables for s in TABLES[table].scenarios}

    def job(scenario: str, method: str, seed: int) -> PaperJob:
        places = scale, copies[scenario], options.tasks, options.work
        return PaperJob(scenario, method, seed, *places)

    wanted = dict.fromkeys(
        job(scenario, method, seed)
        for seed in options.seeds
        for table in tables
        for scenario in TABLES[table].scenarios
        for method in (options.methods or TABLES[table].methods)
        if method in FROM_SCRATCH
    )
    failed = 0 if options.render else finish_all(wanted, options.workers)
    found = {
        (scenario, method): runs_of(job(scenario, method, seed) for seed in options.seeds)
        for scenario in copies
        for method in FROM_SCRATCH
    }
    target = options.work / scale.name
    target.mkdir(parents=True, exist_ok=True)
    for name in tables:
        table = TABLES[name] if options.tasks is None else TABLES[name]._replace(paper={})
        write(target / f"table-{name}.md", f"## {table.title}\n\n{comparison(table, found)}")
    for name in copies:
        title = SCENARIOS[name].title
        write(
            target / f"all-{name}.md",
            f"## {title}: all that was measured\n\n{details(name, found)}",
        )
        by_method = {method: found[name, method] for method in FROM_SCRATCH if found[name, method]}
        for path in plots(title, by_method, target / name) if by_method else ():
            print(f"wrote {path}", file=sys.stderr)
    if failed:
        sys.exit(f"{failed} runs failed; the others are above")


def write(path: Path, text: str) -> None:
    path.write_text(text + "\n")
    print(text + "\n")


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--scale", choices=SCALES, default="reduced")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--methods", nargs="+", choices=FROM_SCRATCH, metavar="METHOD")
    parser.add_argument("--data", type=Path, help="your copy of the data set")
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

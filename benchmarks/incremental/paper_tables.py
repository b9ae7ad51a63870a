"""The tables and figures of the paper: which runs they are made of, and what the paper has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from statistics import mean
from typing import NamedTuple

import numpy as np

from incremental.jobs import PaperJob
from incremental.loop import cumulative_accuracy
from incremental.methods import COEFFICIENTS, FROM_SCRATCH, KEPT
from incremental.tables import Run, spread
from prd_edge.metrics import backward_transfer, forgetting


class PaperTable(NamedTuple):
    title: str
    scenarios: tuple[str, ...]
    methods: tuple[str, ...]
    measure: str
    paper: Mapping[str, tuple[float, ...]] = {}  # a figure a scenario; of methods we lack, too


def _of_each(name: str) -> tuple[str, ...]:
    return tuple(f"{name}, M = {m}" for m in KEPT)


def _along(methods: tuple[str, ...], *figures: float) -> dict[str, tuple[float]]:
    return {method: (figure,) for method, figure in zip(methods, figures, strict=True)}


_BETAS = tuple(f"PRD, β = {c}" if c != 4 else "PRD" for c in COEFFICIENTS)
_ALPHAS = tuple(f"PRD, α = {c}" if c != 2 else "PRD" for c in COEFFICIENTS)
_REPLAY_FREE = ("fine-tuning", "LwF", "EWC")
_OURS = ("PRD, closed form", "random filters, streaming LDA")
_WITH_REPLAY = tuple(
    method for name in ("ER", "iCaRL", "ER-AML", "ER-ACE", "PRD") for method in _of_each(name)
)

TABLES = {
    "headline": PaperTable(
        "What the reduced suite has to show",
        ("cifar-20",),
        (*_REPLAY_FREE, "ER, M = 5", "ER, M = 20", "PRD", "PRD, β = 0", "PRD, α = 0", _OURS[1]),
        "class-incremental",
    ),
    "class-incremental": PaperTable(
        "Table 1 and figure 4: class-incremental, by pictures kept",
        ("cifar-20",),
        ("iid", *_REPLAY_FREE, "PRD", *_WITH_REPLAY, *_OURS),
        "class-incremental",
        {
            "iid": (65.3,),
            "fine-tuning": (4.6,),
            "PRD": (27.8,),
            "ER, M = 5": (15.2,),
            "ER, M = 20": (29.6,),
            "ER, M = 50": (38.3,),
            "iCaRL, M = 5": (19.8,),
            "iCaRL, M = 20": (28.6,),
            "iCaRL, M = 50": (32.9,),
            "ER-AML, M = 5": (21.4,),
            "ER-AML, M = 20": (35.3,),
            "ER-AML, M = 50": (42.4,),
            "ER-ACE, M = 5": (22.8,),
            "ER-ACE, M = 20": (35.7,),
            "ER-ACE, M = 50": (43.3,),
            "PRD, M = 5": (32.0,),
            "PRD, M = 20": (39.5,),
            "PRD, M = 50": (45.1,),
        },
    ),
    "mini-imagenet": PaperTable(
        "Table 1, right: class-incremental on MiniImageNet",
        ("mini-imagenet-20",),
        ("iid", *_REPLAY_FREE, "PRD", *_WITH_REPLAY, *_OURS),
        "class-incremental",
        {
            "iid": (54.5,),
            "fine-tuning": (4.4,),
            "PRD": (20.0,),
            "ER, M = 5": (13.4,),
            "ER, M = 20": (21.7,),
            "ER, M = 50": (28.7,),
            "iCaRL, M = 5": (16.2,),
            "iCaRL, M = 20": (22.8,),
            "iCaRL, M = 50": (26.1,),
            "ER-AML, M = 5": (17.1,),
            "ER-AML, M = 20": (26.3,),
            "ER-AML, M = 50": (32.3,),
            "ER-ACE, M = 5": (18.8,),
            "ER-ACE, M = 20": (27.1,),
            "ER-ACE, M = 50": (34.2,),
            "PRD, M = 5": (25.7,),
            "PRD, M = 20": (31.3,),
            "PRD, M = 50": (35.8,),
        },
    ),
    "task-incremental": PaperTable(
        "Figures 2 and 6: task-incremental, what is learned and what is kept",
        ("cifar-20",),
        ("iid", *_REPLAY_FREE, *_of_each("ER"), "PRD", *_OURS),
        "task-incremental",
        {"PRD": (83.5,)},
    ),
    "half-pretrained": PaperTable(
        "Table 2: half of the classes first",
        ("cifar-half-6", "cifar-half-11"),
        ("fine-tuning", "LwF", "EWC", "SDC", "PRD", *_OURS),
        "cumulative",
        {
            "iid, at every step": (73.4, 73.2),
            "fine-tuning": (22.3, 12.6),
            "LwF-E": (57.0, 56.8),
            "EWC-E": (56.3, 55.4),
            "MAS-E": (56.9, 56.6),
            "SDC": (57.1, 56.8),
            "SPB": (60.9, 60.4),
            "PRD": (64.3, 63.7),
        },
    ),
    "half-pretrained-imagenet": PaperTable(
        "Table 2, right: half of the classes first, ImageNet-Subset",
        ("imagenet-half-6", "imagenet-half-11"),
        ("fine-tuning", "LwF", "EWC", "SDC", "PRD", *_OURS),
        "cumulative",
        {
            "iid, at every step": (82.0, 82.7),
            "fine-tuning": (23.6, 13.2),
            "LwF-E": (65.5, 65.6),
            "EWC-E": (65.2, 64.1),
            "MAS-E": (65.8, 65.8),
            "SDC": (65.6, 65.7),
            "SPB": (68.7, 67.2),
            "PRD": (71.8, 70.3),
        },
    ),
    "beta": PaperTable(
        "Table 3: the weight of relation distillation",
        ("cifar-20",),
        _BETAS,
        "task-incremental",
        _along(_BETAS, 39.4, 80.0, 82.1, 83.5, 83.1, 82.7),
    ),
    "beta-mini-imagenet": PaperTable(
        "Table 3: the weight of relation distillation, MiniImageNet",
        ("mini-imagenet-20",),
        _BETAS,
        "task-incremental",
        _along(_BETAS, 31.2, 59.3, 63.7, 68.3, 70.9, 67.2),
    ),
    "alpha": PaperTable(
        "Table 4: the weight of the prototypes",
        ("cifar-20",),
        _ALPHAS,
        "task-incremental",
        _along(_ALPHAS, 20.6, 81.8, 82.2, 83.5, 82.7, 82.3),
    ),
    "alpha-mini-imagenet": PaperTable(
        "Table 4: the weight of the prototypes, MiniImageNet",
        ("mini-imagenet-20",),
        _ALPHAS,
        "task-incremental",
        _along(_ALPHAS, 20.2, 68.0, 69.8, 68.3, 67.9, 67.4),
    ),
    "options": PaperTable(
        "Where the paper's equations and its code differ",
        ("cifar-20",),
        ("PRD", "PRD, over prototypes", "PRD, student first", "PRD, sum over prototypes"),
        "task-incremental",
    ),
    "long": PaperTable(
        "Figures 3 and 5, shorter: a long sequence",
        ("cifar-50",),
        ("fine-tuning", "EWC", "ER, M = 50", "PRD", "PRD, β = 0", *_OURS),
        "task-incremental",
    ),
    "long-imagenet32": PaperTable(
        "Figures 3 and 5: a long sequence",
        ("imagenet32-200",),
        ("fine-tuning", "EWC", "ER, M = 5", "ER, M = 50", *_BETAS),
        "task-incremental",
        _along(_BETAS, 21.3, 55.4, 59.2, 62.7, 65.1, 67.5),
    ),
    "folder": PaperTable(
        "A long sequence of your own pictures",
        ("folder",),
        ("fine-tuning", "EWC", "ER, M = 5", "PRD", *_OURS),
        "task-incremental",
    ),
    "domains": PaperTable(
        "Table 5, on superclasses: the same classes in other guises",
        ("cifar-domains",),
        (*_REPLAY_FREE, "PRD", *_OURS),
        "mean class accuracy",
    ),
    "domains-clad-c": PaperTable(
        "Table 5: days and nights",
        ("clad-c",),
        (*_REPLAY_FREE, "PRD", *_OURS),
        "mean class accuracy",
        {"fine-tuning": (40.5,), "EWC": (62.5,), "LwF": (63.7,), "PRD": (65.1,)},
    ),
}


def _old_tasks(run: Run) -> float:
    """Mean over the tasks of the accuracy on those before, when each has been learned."""
    return mean(mean(row[:-1]) for row in run["within"] if len(row) > 1)


def _forward(run: Run) -> float:
    pairs = zip(run["untaught"][1:], run["untrained"][1:], strict=True)
    return mean(before - untrained for before, untrained in pairs)


# All in per cent. Those of one task are task-incremental: the answer is among its classes.
MEASURES: dict[str, Callable[[Run], float]] = {
    "class-incremental": lambda run: mean(run["matrix"][-1]),
    "task-incremental": lambda run: mean(run["within"][-1]),
    "cumulative": lambda run: cumulative_accuracy(run["matrix"], run["sizes"]),
    "mean class accuracy": lambda run: mean(run["balanced"]),
}
_ALONG_THE_WAY: dict[str, Callable[[Run], float]] = {
    "forgetting": lambda run: forgetting(run["within"], range(len(run["within"]))),
    "current task": lambda run: mean(row[-1] for row in run["within"]),
    "old tasks": _old_tasks,
    "backward transfer": lambda run: backward_transfer(run["within"], range(len(run["within"]))),
    "forward transfer": _forward,
    "task 1, linear probe": lambda run: run["probe"][-1],
}


def runs_of(jobs: Iterable[PaperJob]) -> list[Run]:
    return [json.loads(job.file.read_text()) for job in jobs if job.file.exists()]


def comparison(table: PaperTable, found: Mapping[tuple[str, str], list[Run]]) -> str:
    """Ours beside the paper's; by (scenario, method)."""
    heads = [head for s in table.scenarios for head in (f"{s}: ours", "the paper's")]
    lines = [f"| method | {' | '.join(heads)} | seeds |", "|---|" + "---|" * (len(heads) + 1)]
    measured = MEASURES[table.measure]
    for method in dict.fromkeys((*table.methods, *table.paper)):
        cells, seeds = [], 0
        for place, scenario in enumerate(table.scenarios):
            runs = found.get((scenario, method), [])
            seeds = max(seeds, len(runs))
            cells.append(spread([measured(run) for run in runs]) if runs else "")
            cells.append(f"{table.paper[method][place]:.1f}" if method in table.paper else "")
        if any(cells):
            lines.append(f"| {method} | {' | '.join(cells)} | {seeds or ''} |")
    return "\n".join(lines)


def details(scenario: str, found: Mapping[tuple[str, str], list[Run]]) -> str:
    """Everything that is known of the runs of a scenario."""
    columns = {**MEASURES, **_ALONG_THE_WAY}
    lines = [
        f"| method | {' | '.join(columns)} | time of a run | peak memory | seeds |",
        "|---|" + "---|" * (len(columns) + 3),
    ]
    for method in FROM_SCRATCH:
        runs = found.get((scenario, method), [])
        if not runs:
            continue
        cells = [_cell(name, measure, runs) for name, measure in columns.items()]
        minutes = np.median([sum(run["seconds"]) for run in runs]) / 60
        memory = max(run["peak_memory_mb"] for run in runs)
        cells += [f"{minutes:.1f} min", f"{memory:.0f} MB", str(len(runs))]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(name: str, measure: Callable[[Run], float], runs: list[Run]) -> str:
    is_course = all(len(run["matrix"]) > 1 for run in runs)  # iid learns once, at the end
    needs = {"mean class accuracy": "balanced", "forward transfer": "untaught"}
    needs["task 1, linear probe"] = "probe"
    if name not in ("class-incremental", "task-incremental") and not is_course:
        return ""
    if name in needs and not all(run[needs[name]] for run in runs):
        return ""
    return spread([measure(run) for run in runs])

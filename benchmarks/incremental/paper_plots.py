"""The paper's figures: accuracy along the sequence of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import mean

from incremental.tables import Run

_CURVES = {
    "class-incremental": ("matrix", "average observed accuracy, %"),
    "task-incremental": ("within", "average observed accuracy, task known, %"),
    "current task": ("within", "accuracy on the current task, %"),
    "old tasks": ("within", "average accuracy on earlier tasks, %"),
    "linear probe": ("probe", "linear probe of task 1, %"),
}


def plots(title: str, found: Mapping[str, list[Run]], target: Path) -> list[Path]:
    """One a measure; by method."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    written = []
    for name, (key, label) in _CURVES.items():
        figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
        for method, runs in found.items():
            curves = [_curve(name, run[key]) for run in runs]
            curve = [mean(values) for values in zip(*curves, strict=True)]
            if not curve:
                continue
            if len(curve) == 1:  # all at once, at the end
                if name in ("class-incremental", "task-incremental"):
                    axes.axhline(curve[0], color="black", linestyle=":", label=method)
                continue
            style = "--" if "M = " in method else "-"  # as in the paper: dashed with replay
            width = 2.5 if method.startswith("PRD") else 1.2
            first = len(runs[0]["seconds"]) - len(curve) + 1
            axes.plot(range(first, first + len(curve)), curve, style, label=method, linewidth=width)
        axes.set(title=title, xlabel="tasks learned", ylabel=label)
        axes.set_ylim(bottom=0)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
        figure.legend(loc="outside right upper", fontsize=8, frameon=False)
        path = target.with_name(f"{target.name}-{name.replace(' ', '-')}.png")
        figure.savefig(path, dpi=130)
        pyplot.close(figure)
        written.append(path)
    return written


def _curve(name: str, kept: list) -> list[float]:
    if name == "linear probe":
        return kept
    if name == "current task":
        return [row[-1] for row in kept]
    if name == "old tasks":
        return [mean(row[:-1]) for row in kept if len(row) > 1]
    return [mean(row) for row in kept]

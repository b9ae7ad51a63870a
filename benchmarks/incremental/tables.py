"""Finished runs as tables and curves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

from incremental.jobs import RivalJob
from incremental.loop import average_accuracy
from incremental.streams import STREAMS
from prd_edge.metrics import forgetting

Run = dict[str, Any]


def finished(stream: str, method: str, seeds: Iterable[int], work: Path) -> list[Run]:
    files = [RivalJob(stream, method, seed, work).file for seed in seeds]
    return [json.loads(file.read_text()) for file in files if file.exists()]


def table(stream: str, methods: Iterable[str], seeds: Iterable[int], work: Path) -> str:
    lines = [
        f"### {STREAMS[stream].title}",
        "",
        "| method | last accuracy | average | forgetting | a session | state a class | peak memory "
        "| seeds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for method in methods:
        runs = finished(stream, method, seeds, work)
        if runs:
            lines.append(f"| {method} | {_row(runs)} | {len(runs)} |")
    return "\n".join(lines)


def accuracy_table(
    streams: Iterable[str], methods: Mapping[str, str], seeds: Iterable[int], work: Path
) -> str:
    """One column a stream; methods by the title of their row."""
    streams = list(streams)
    lines = ["| | " + " | ".join(streams) + " |", "|---|" + "---|" * len(streams)]
    for title, method in methods.items():
        cells = []
        for stream in streams:
            runs = finished(stream, method, seeds, work)
            cells.append(spread([float(run["last_accuracy"]) for run in runs]) if runs else "")
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def confidence_table(
    streams: Iterable[str], methods: Iterable[str], seeds: Iterable[int], work: Path
) -> str:
    """Of methods that tell how sure they are."""
    names = {
        "calibration_error": "calibration error",
        "auroc": "AUROC of known against unknown",
        "right_withheld": "right answers withheld",
        "wrong_withheld": "wrong ones withheld",
        "strangers_told": "unknown called unknown",
    }
    lines = ["| | " + " | ".join(names.values()) + " |", "|---|" + "---|" * len(names)]
    for stream in streams:
        for method in methods:
            runs = finished(stream, method, seeds, work)
            if not all("calibration_error" in run for run in runs) or not runs:
                continue
            cells = [
                f"{mean(float(run[name]) for run in runs):.3f}" if name in runs[0] else ""
                for name in names
            ]
            lines.append(f"| {stream}, {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _row(runs: list[Run]) -> str:
    matrices = [run["matrix"] for run in runs]
    is_curve = all(len(m) > 1 for m in matrices)
    seconds = median(s for run in runs for s in run["seconds"])
    state = mean(run["state_bytes"] / run["classes"] for run in runs) / 1000
    cells = [
        spread([float(run["last_accuracy"]) for run in runs]),
        spread([average_accuracy(m) for m in matrices]) if is_curve else "",
        spread([forgetting(m, range(len(m))) for m in matrices]) if is_curve else "",
        f"{seconds:.1f} s" if is_curve else "",
        f"{state:.0f} kB" if is_curve else "",
        f"{max(run['peak_memory_mb'] for run in runs):.0f} MB",
    ]
    return " | ".join(cells)


def spread(values: list[float]) -> str:
    if len(values) < 2:
        return f"{values[0]:.1f}"
    return f"{mean(values):.1f} ± {stdev(values) / len(values) ** 0.5:.1f}"


def plot(stream: str, methods: Iterable[str], seeds: Iterable[int], work: Path) -> Path:
    """Accuracy on all that was taught, session by session."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for method in methods:
        matrices = [run["matrix"] for run in finished(stream, method, seeds, work)]
        if not matrices:
            continue
        curve = [mean(mean(m[i]) for m in matrices) for i in range(len(matrices[0]))]
        if len(curve) == 1:
            axes.axhline(curve[0], color="black", linestyle=":", label=method)
        else:
            is_ours = method.startswith("prd-edge")
            width, marker = (2.5, "o") if is_ours else (1.2, None)
            sessions = range(1, len(curve) + 1)
            axes.plot(sessions, curve, label=method, linewidth=width, marker=marker, markersize=4)
    axes.set(
        title=STREAMS[stream].title, xlabel="sessions learned", ylabel="accuracy on all taught, %"
    )
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    path = work / f"{stream}.png"
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return path

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prd_edge.cli.options import (
    PathType,
    json_option,
    percent,
    print_json,
    print_pairs,
    say,
    store_option,
    threads_option,
)

if TYPE_CHECKING:
    from prd_edge.harvest import OnProgress
    from prd_edge.report import SessionReport

_SKIPPED_SHOWN = 20
_CLASSES_SHOWN = 8


@click.command()
@click.argument("data", type=PathType())
@store_option
@click.option(
    "--mode",
    type=click.Choice(["imprint"]),
    default="imprint",
    show_default=True,
    help="imprint: closed form, exact, in seconds; the encoder stays as it is.",
)
@click.option(
    "--holdout",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of the session used to measure accuracy before it is learned as well.",
)
@click.option("--dry-run", is_flag=True, help="Do everything but change the store.")
@threads_option
@json_option
def learn_session(
    data: Path,
    store: Path,
    mode: str,
    holdout: float,
    dry_run: bool,
    threads: int | None,
    as_json: bool,
) -> None:
    """Learn the images in DATA, a folder with one sub-folder a class.

    Classes already known are updated, new ones are added. No image is kept. The store is made
    on first use. If anything goes wrong the store stays as it was.
    """
    from prd_edge.runtime import Runtime

    runtime = Runtime.open(store, threads=threads)
    with _progress_bar() as on_progress:
        report = runtime.learn_session(
            data, mode=mode, holdout=holdout, dry_run=dry_run, on_progress=on_progress
        )
    if as_json:
        print_json(report.as_dict())
    else:
        _print_report(report)


@contextmanager
def _progress_bar() -> Iterator[OnProgress | None]:
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading images", total=None)
        yield lambda step: bar.update(
            task, description=step.stage, completed=step.done, total=step.total
        )


def _print_report(report: SessionReport) -> None:
    for warning in report.warnings:
        say(f"warning: {warning}")
    for skipped in report.skipped[:_SKIPPED_SHOWN]:
        say(f"skipped {skipped.name}: {skipped.reason}")
    if len(report.skipped) > _SKIPPED_SHOWN:
        say(f"… and {len(report.skipped) - _SKIPPED_SHOWN} more skipped")

    lines = [
        ("classes added", _classes(report.added)),
        ("classes updated", _classes(report.updated)),
        ("images used", str(report.images_used)),
        ("images skipped", f"{len(report.skipped)}, and {report.duplicates} duplicates"),
    ]
    if report.holdout_accuracy is not None:
        before = percent(report.holdout_accuracy_before)
        after = percent(report.holdout_accuracy)
        lines.append((f"hold-out ({report.holdout_images} images)", f"{before} → {after}"))
    if report.drift:
        label, drift = max(report.drift.items(), key=lambda entry: entry[1])
        lines.append(("largest drift", f"{drift:.4f} ({label})"))
    lines += [
        ("time", f"{report.seconds:.1f} s"),
        ("peak memory", f"{report.peak_memory_mb:.0f} MB"),
        ("new version", report.version or "none (dry run)"),
    ]
    if report.removed_versions:
        lines.append(("old versions removed", ", ".join(report.removed_versions)))
    print_pairs(lines)


def _classes(counts: Mapping[str, int]) -> str:
    if not counts:
        return "none"
    shown = ", ".join(f"{label} ({count})" for label, count in [*counts.items()][:_CLASSES_SHOWN])
    more = len(counts) - _CLASSES_SHOWN
    return f"{len(counts)}: {shown}" + (f" and {more} more" if more > 0 else "")

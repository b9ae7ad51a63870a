from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prd_edge.cli.options import (
    PathType,
    json_option,
    once_done,
    percent,
    print_json,
    print_pairs,
    print_table,
    say,
    store_option,
    threads_option,
)
from prd_edge.figures import counted

if TYPE_CHECKING:
    from prd_edge.drift import Drift
    from prd_edge.progress import Estimate, Losses, OnProgress, Progress
    from prd_edge.report import SessionReport

_SKIPPED_SHOWN = 20
_CLASSES_SHOWN = 8
_DRIFT_SHOWN = 20
_VISIBLE_DRIFT = 5e-5
_ROUNDING = 1e-9
_IMAGES_TO_CALIBRATE = 100  # with fewer the error is mostly chance


@click.command()
@click.argument("data", type=PathType())
@store_option
@click.option(
    "--mode",
    type=click.Choice(["prd", "imprint"]),
    envvar="PRD_EDGE_MODE",
    help="prd: train the encoder's last stages. imprint: leave it as it is; closed form, in "
    "seconds. By default a session is trained if torch is installed and it brings at least four "
    "classes, a fair part of all that are known then; otherwise it is imprinted.",
)
@click.option("--recipe", help="How to train: edge, or paper (default if untrained).")
@click.option("--epochs", type=click.IntRange(1), help="Passes over the images.")
@click.option("--train-from", metavar="STAGE", help="First stage of the encoder to train.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32),
    help="Two runs with one seed and the same number of threads give the same bytes.",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(1),
    help="Be done within this time, with what has been learned by then.",
)
@click.option(
    "--max-memory",
    type=click.FloatRange(100),
    metavar="MB",
    help="Keep the whole process within this.",
)
@click.option(
    "--holdout",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="About this share of the images is not trained on, and decides whether training is kept; "
    "pictures of one series are held out together.",
)
@click.option("--dry-run", is_flag=True, help="Do everything but change the store.")
@threads_option
@json_option
def learn_session(
    data: Path,
    store: Path,
    mode: str | None,
    recipe: str | None,
    epochs: int | None,
    train_from: str | None,
    seed: int | None,
    max_seconds: float | None,
    max_memory: float | None,
    holdout: float,
    dry_run: bool,
    threads: int | None,
    as_json: bool,
) -> None:
    """Learn the images in DATA, a folder with one sub-folder a class.

    Classes already known are updated, new ones are added. No image is kept. The store is made
    on first use. If anything goes wrong the store stays as it was; run the same command again to
    go on with a training that was cut off.
    """
    from prd_edge.runtime import Runtime

    runtime = Runtime.open(store, threads=threads)
    with _progress_shown() as on_progress:
        report = runtime.learn_session(
            data,
            mode=mode,
            recipe=recipe,
            epochs=epochs,
            train_from=train_from,
            seed=seed,
            max_seconds=max_seconds,
            max_memory=max_memory,
            holdout=holdout,
            dry_run=dry_run,
            on_progress=on_progress,
        )
    with once_done():
        if as_json:
            print_json(report.as_dict())
        else:
            _print_report(report)


@contextmanager
def _progress_shown() -> Iterator[OnProgress]:
    """The estimate as a line; on a terminal, a bar for the rest."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda step: say(_estimate(step.estimate)) if step.estimate else None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading images", total=None)

        def show(step: Progress) -> None:
            with suppress(OSError):  # the terminal may be gone, which is no reason to stop
                if step.estimate:
                    bar.console.print(_estimate(step.estimate), highlight=False, markup=False)
                else:
                    what = f"{step.stage}{_losses(step.losses)}"
                    bar.update(task, description=what, completed=step.done, total=step.total)

        yield show


def _estimate(estimate: Estimate) -> str:
    views = f"{estimate.views} views each" if estimate.views else "views made anew for every step"
    return (
        f"estimate: {estimate.seconds:.0f} s and {estimate.memory_mb:.0f} MB "
        f"({estimate.images} images, {views}, {estimate.epochs} epochs, "
        f"{estimate.threads} {'thread' if estimate.threads == 1 else 'threads'})"
    )


def _losses(losses: Losses | None) -> str:
    """The paper's names: contrastive, prototype tightness, relation distillation."""
    if losses is None:
        return ""
    return (
        f" · L_sc {losses.contrastive:.2f}  L_p {losses.tightness:.2f}  L_d {losses.relation:.3f}"
    )


def _print_report(report: SessionReport) -> None:
    for warning in report.warnings:
        say(f"warning: {warning}")
    if report.training and report.training.note:
        say(f"note: {report.training.note}")
    for skipped in report.skipped[:_SKIPPED_SHOWN]:
        say(f"skipped {skipped.name}: {skipped.reason}")
    if len(report.skipped) > _SKIPPED_SHOWN:
        say(f"… and {len(report.skipped) - _SKIPPED_SHOWN} more skipped")

    lines = [
        ("classes added", _classes(report.added)),
        ("classes updated", _classes(report.updated)),
        ("images used", str(report.images_used)),
        ("images skipped", f"{len(report.skipped)}, and {counted(report.duplicates, 'duplicate')}"),
        ("learned by", _learned_by(report)),
    ]
    if report.holdout_accuracy is not None:
        before = percent(report.holdout_accuracy_before)
        after = percent(report.holdout_accuracy)
        floor = report.training.imprint_accuracy if report.training else None
        compared = f" (imprinting: {percent(floor)})" if floor is not None else ""
        lines.append(
            (f"hold-out ({report.holdout_images} images)", f"{before} → {after}{compared}")
        )
    if report.calibration_error is not None and report.holdout_images >= _IMAGES_TO_CALIBRATE:
        lines.append(("confidence", f"off by {percent(report.calibration_error)} on the hold-out"))
    lines += [
        ("time", f"{report.seconds:.1f} s"),
        ("peak memory", f"{report.peak_memory_mb:.0f} MB"),
        ("new version", report.version or "none (dry run)"),
    ]
    if report.removed_versions:
        lines.append(("old versions removed", ", ".join(report.removed_versions)))
    print_pairs(lines)
    _print_drift(report.drift)


def _learned_by(report: SessionReport) -> str:
    training = report.training
    if training is None or not training.kept:
        return f"imprinting ({report.note})" if report.note else "imprinting"
    resumed = f", resumed after epoch {training.resumed_after}" if training.resumed_after else ""
    return (
        f"training, recipe {training.recipe}, from {training.train_from}: "
        f"{training.steps} of {training.steps_planned} steps{resumed}"
    )


def _print_drift(drift: Mapping[str, Drift]) -> None:
    """Of every class known before, those that moved most first."""
    moved = sorted(drift.items(), key=lambda entry: -entry[1].distance)
    moved = [(label, own) for label, own in moved if _has_changed(own)]
    if drift and not moved:
        click.echo(f"no prototype of the {len(drift)} known classes moved")
    if not moved:
        return
    click.echo()
    shown = moved[:_DRIFT_SHOWN]
    if shown[0][1].distance < _ROUNDING:  # imprinting moves none, but may bring a neighbour
        print_table(
            ("known class", "nearest class"), [(label, _neighbours(own)) for label, own in shown]
        )
    else:
        print_table(
            ("known class", "moved", "nearest class"),
            [(label, f"{own.distance:.4f}", _neighbours(own)) for label, own in shown],
        )
    if len(moved) > _DRIFT_SHOWN:
        click.echo(f"… and {len(moved) - _DRIFT_SHOWN} more; --json has them all")


def _has_changed(drift: Drift) -> bool:
    return drift.distance >= _VISIBLE_DRIFT or drift.nearest_before != drift.nearest_after


def _neighbours(drift: Drift) -> str:
    if drift.nearest_before == drift.nearest_after:
        return drift.nearest_after or "none"
    return f"{drift.nearest_before or 'none'} → {drift.nearest_after or 'none'}"


def _classes(counts: Mapping[str, int]) -> str:
    if not counts:
        return "none"
    shown = ", ".join(f"{label} ({count})" for label, count in [*counts.items()][:_CLASSES_SHOWN])
    more = len(counts) - _CLASSES_SHOWN
    return f"{len(counts)}: {shown}" + (f" and {more} more" if more > 0 else "")

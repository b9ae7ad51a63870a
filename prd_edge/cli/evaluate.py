from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from prd_edge.cli.completion import version_names
from prd_edge.cli.options import (
    PathType,
    json_option,
    percent,
    print_json,
    print_pairs,
    print_table,
    say,
    store_option,
    threads_option,
)

if TYPE_CHECKING:
    from prd_edge.course import Course
    from prd_edge.evaluate import Evaluation
    from prd_edge.store import Store

_CONFUSIONS_SHOWN = 5


@click.command()
@click.argument("data", type=PathType())
@store_option
@click.option(
    "--version", help="A kept version [default: the live one].", shell_complete=version_names
)
@click.option("--all-versions", is_flag=True, help="The live one and all that it came from.")
@click.option("--always-answer", is_flag=True, help="Name a class even if a picture is like none.")
@click.option("--report", type=PathType(), help="Write an HTML page with plots to this file.")
@threads_option
@json_option
def evaluate(
    data: Path,
    store: Path,
    version: str | None,
    all_versions: bool,
    always_answer: bool,
    report: Path | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Measure how good the answers are on DATA, a folder with one sub-folder a class.

    Pictures of classes that were never taught count apart: they should be called unknown. With
    --all-versions accuracy is measured from version to version, and what was forgotten.
    """
    from prd_edge.course import evaluate_course
    from prd_edge.evaluate import evaluate as measure
    from prd_edge.files import explained
    from prd_edge.model import load_predictor
    from prd_edge.store import Store
    from prd_edge.targets import refuse_target

    if version and all_versions:
        raise click.UsageError("give either --version or --all-versions")
    if report is not None:
        with explained(report, "write"):
            refuse_target(report)
    opened = Store(store)
    course = None
    if all_versions:
        course = evaluate_course(opened, data, threads=threads, always_answer=always_answer)
        result = course.evaluations[-1]
    else:
        chosen = opened.version(version) if version else opened.live()
        result = measure(load_predictor(chosen, threads), data, always_answer=always_answer)
    if report is not None:
        _write_report(report, opened, result, course, data)
        say(f"written to {report}")
    if as_json:
        print_json(course.as_dict() if course else result.as_dict())
        return
    for skipped in result.skipped:
        say(f"skipped {skipped.name}: {skipped.reason}")
    _print_classes(result)
    click.echo()
    _print_figures(result)
    if course:
        click.echo()
        _print_course(course)


def _print_classes(result: Evaluation) -> None:
    from prd_edge.metrics import precision, recall

    found, right = recall(result.of_taught), precision(result.confusion)
    rows = []
    for label, images in result.support().items():
        if label in result.taught:
            rows.append((label, images, percent(found[label]), percent(right.get(label))))
        else:
            told = percent(result.confusion[label, None] / images)
            rows.append((f"{label} (not taught)", images, f"{told} unknown", "–"))
    print_table(("class", "images", "found", "right when named"), rows)


def _print_figures(result: Evaluation) -> None:
    known = len(result.confidences)
    lines = [
        ("accuracy", f"{percent(result.accuracy)} of {known} images"),
        ("balanced accuracy", percent(result.balanced_accuracy)),
        ("confidence", f"off by {percent(result.calibration_error)}"),
    ]
    if result.unknown:
        lines.append(("called unknown", f"{result.unknown} of {known + result.strangers} images"))
    if result.strangers:
        auroc = "–" if result.auroc is None else f"{result.auroc:.3f}"
        lines.append(
            (
                "never taught",
                f"{percent(result.strangers_told)} of {result.strangers} images called unknown, "
                f"AUROC {auroc}",
            )
        )
    lines.append(
        ("speed", f"{result.milliseconds:.0f} ms an image, {result.images_per_second:.0f} a second")
    )
    if mistakes := result.confusions()[:_CONFUSIONS_SHOWN]:
        listed = ", ".join(f"{t} taken for {a or 'unknown'} ({n})" for t, a, n in mistakes)
        lines.append(("most frequent", listed))
    print_pairs(lines)


def _print_course(course: Course) -> None:
    print_table(*course.table())
    figures = course.figures()
    click.echo()
    print_pairs([(name.replace("_", " "), percent(value)) for name, value in figures.items()])


def _write_report(
    report: Path, store: Store, result: Evaluation, course: Course | None, data: Path
) -> None:
    from prd_edge.files import explained, replace_file
    from prd_edge.model import load_prototypes
    from prd_edge.page.page import evaluation_page

    *earlier, version = store.version(result.version).lineage()
    page = evaluation_page(
        result,
        data=str(data),
        course=course,
        prototypes=load_prototypes(version),
        former=load_prototypes(earlier[-1]) if earlier else None,
    )
    with explained(report, "write"):
        replace_file(report, page.encode(errors="replace"))

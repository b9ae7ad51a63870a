"""What stands on the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from prd_edge import metrics
from prd_edge.figures import percent
from prd_edge.page import plots
from prd_edge.version import __version__

if TYPE_CHECKING:
    from prd_edge.course import Course
    from prd_edge.evaluate import Evaluation

_CONFUSIONS = 20
Prototypes = Mapping[str, np.ndarray]


def evaluation_page(
    evaluation: Evaluation,
    *,
    data: str,
    course: Course | None = None,
    prototypes: Prototypes | None = None,
    former: Prototypes | None = None,
) -> str:
    """The page of the live or another version; with `course` what was forgotten on the way to it.
    `prototypes` and those of the version before are drawn as a map."""
    sections = [
        _head(evaluation, data),
        _figures(_headline(evaluation, course)),
        _course(course) if course and len(course.evaluations) > 1 else "",
        _classes(evaluation) if evaluation.of_taught else "",
        _strangers(evaluation) if evaluation.strangers else "",
        _confusion(evaluation),
        '<div class="side">',
        _calibration(evaluation) if evaluation.of_taught else "",
        _map(prototypes, former or {}) if prototypes and len(prototypes) > 2 else "",
        "</div>",
        _mistakes(evaluation) if evaluation.mistakes else "",
        _footer(),
    ]
    style = files("prd_edge.page").joinpath("page.css").read_text()
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>prd-edge: version {escape(evaluation.version)}, evaluated</title>\n"
        f"<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(sections)
        + "\n</body>\n</html>\n"
    )


def _head(evaluation: Evaluation, data: str) -> str:
    asked = len(evaluation.support())
    return (
        "<h1>How good are the answers?</h1>\n"
        f'<p class="quiet">Version {escape(evaluation.version)}, {len(evaluation.taught)} classes '
        f"taught, asked about {evaluation.images} pictures of {asked} classes in "
        f"<code>{escape(data)}</code>.</p>"
    )


def _headline(evaluation: Evaluation, course: Course | None) -> list[tuple[str, str]]:
    figures = [
        ("accuracy", percent(evaluation.accuracy)),
        ("balanced accuracy", percent(evaluation.balanced_accuracy)),
        ("confidence off by", percent(evaluation.calibration_error)),
        ("called unknown", str(evaluation.unknown)),
        ("one picture", f"{evaluation.milliseconds:.0f} ms"),
        ("many pictures", f"{evaluation.images_per_second:.0f} / s"),
    ]
    if evaluation.strangers:
        figures += [
            ("never taught, told", percent(evaluation.strangers_told)),
            (
                "AUROC of known, unknown",
                "–" if evaluation.auroc is None else f"{evaluation.auroc:.3f}",
            ),
        ]
    if course and len(course.evaluations) > 1:
        found = course.figures()
        figures += [
            ("average over versions", percent(found["average_incremental_accuracy"])),
            ("forgotten", percent(found["forgetting"])),
        ]
    return figures


def _figures(figures: Iterable[tuple[str, str]]) -> str:
    items = "".join(f"<li>{escape(name)}<b>{escape(value)}</b></li>" for name, value in figures)
    return f'<ul class="figures">{items}</ul>'


def _course(course: Course) -> str:
    versions = [own.version for own in course.evaluations]
    curves, found = course.curves(), course.figures()
    return _section(
        "From version to version",
        "Accuracy on all that a version had been taught (thick), and on the classes that came with "
        "each version (thin). Backward transfer "
        f"{_signed(found['backward_transfer'])}: how much better the last version "
        "knows the classes of earlier ones than they did "
        f"themselves. Forward transfer {_signed(found['forward_transfer'])}: a class "
        "cannot be named before it is taught.",
        _plot(plots.course_curve(versions, course.accuracies(), curves)),
        _table(*course.table(), 1),
    )


def _classes(evaluation: Evaluation) -> str:
    recall = metrics.recall(evaluation.of_taught)
    precision = metrics.precision(evaluation.confusion)
    support = evaluation.support()
    rows = [
        [
            label,
            support[label],
            _Bar(recall[label]),
            percent(recall[label]),
            _Bar(precision.get(label, 0.0)),
            percent(precision.get(label)),
        ]
        for label in sorted(recall, key=lambda label: (recall[label], label))
    ]
    header = ["class", "pictures", "found", "", "right when named", ""]
    return _section(
        "Class by class",
        "The weakest first. Found: the share of the class's pictures that were given its name. "
        "Right when named: the share of the pictures given its name that are of it.",
        _table(header, rows, 1),
    )


def _strangers(evaluation: Evaluation) -> str:
    support = evaluation.support()
    told = {
        label: evaluation.confusion[label, None] / n
        for label, n in support.items()
        if label not in evaluation.taught
    }
    rows = [
        [label, support[label], _Bar(share), percent(share)]
        for label, share in sorted(told.items(), key=lambda entry: entry[1])
    ]
    return _section(
        "Never taught",
        "Pictures of these classes should be called unknown.",
        _table(["class", "pictures", "told", ""], rows, 1),
    )


def _confusion(evaluation: Evaluation) -> str:
    labels = sorted({*evaluation.support(), *(a for _, a in evaluation.confusion if a is not None)})
    most = evaluation.confusions()[:_CONFUSIONS]
    rows = [[truth, answer or plots.UNKNOWN, n] for truth, answer, n in most]
    return _section(
        "What was taken for what",
        "A row for each class, a column for each answer; a full cell is all pictures of the row. "
        "Point at a cell for its number.",
        f'<div class="wide">{plots.confusion_matrix(evaluation.confusion, labels)}</div>',
        _table(["pictures of", "taken for", "times"], rows, 2) if rows else "",
    )


def _calibration(evaluation: Evaluation) -> str:
    bins = metrics.reliability(evaluation.confidences, evaluation.is_right)
    return _section(
        "What confidence means",
        "Answers of one confidence, and how often they were right; larger dots are more answers. "
        "On the dashed line confidence means what it says.",
        _plot(plots.reliability_curve(bins)),
    )


def _map(prototypes: Prototypes, former: Prototypes) -> str:
    points = np.stack([*prototypes.values()])  # (C, D)
    middle = points.mean(axis=0)
    _, _, directions = np.linalg.svd(points - middle, full_matrices=False)

    def place(point: np.ndarray) -> tuple[float, float]:
        x, y = directions[:2] @ (point - middle)
        return float(x), float(y)

    marks = [
        plots.Mark(label, place(point), place(former[label]) if label in former else None)
        for label, point in prototypes.items()
    ]
    return _section(
        "Prototypes",
        "In the two directions in which they differ most; a line leads from where one was in the "
        "version before.",
        _plot(plots.prototype_map(marks)),
    )


def _mistakes(evaluation: Evaluation) -> str:
    rows = [
        [own.name, own.truth, own.answer, percent(own.confidence)] for own in evaluation.mistakes
    ]
    return _section(
        "The worst mistakes",
        "Wrong answers that were given with the highest confidence. Look at the files: some may be "
        "labelled wrongly.",
        _table(["file", "is", "was called", "confidence"], rows, 3),
    )


def _section(title: str, text: str, *parts: str) -> str:
    body = "\n".join(parts)
    return f"<section>\n<h2>{escape(title)}</h2>\n<p>{escape(text)}</p>\n{body}\n</section>"


def _plot(svg: str) -> str:
    return f'<div class="plot">{svg}</div>'


def _footer() -> str:
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f'<p class="quiet">prd-edge {__version__}, {now}. The pictures are not kept.</p>'


class _Bar:
    def __init__(self, share: float) -> None:
        self.html = f'<span class="bar"><i style="width:{100 * share:.1f}%"></i></span>'


def _table(header: Sequence[str], rows: Iterable[Sequence[object]], first_number: int) -> str:
    """Numbers stand right, from the given column on."""

    def cell(kind: str, column: int, value: object) -> str:
        html = value.html if isinstance(value, _Bar) else escape(str(value))
        is_number = column >= first_number and not isinstance(value, _Bar)
        return f"<{kind}{' class=number' if is_number else ''}>{html}</{kind}>"

    def row(kind: str, values: Sequence[object]) -> str:
        return f"<tr>{''.join(cell(kind, i, value) for i, value in enumerate(values))}</tr>"

    body = "\n".join([row("th", header), *(row("td", values) for values in rows)])
    return f'<div class="wide"><table>\n{body}\n</table></div>'


def _signed(share: float) -> str:
    return f"{100 * share:+.1f} %"

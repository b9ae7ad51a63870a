"""Plots as SVG: crisp at any size, readable in the page's source, and no plotting package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prd_edge.metrics import Bin, Confusion

_SMALLEST_CELL, _LARGEST_CELL = 12, 26  # pixels a class, in the matrix
_MATRIX = 800
_LETTER = 5.7  # of small text, at most about as wide as that
_LONGEST = 28  # letters of a name that are shown
UNKNOWN = "unknown"


class Mark(NamedTuple):
    """A prototype on the map."""

    label: str
    place: tuple[float, float]
    former: tuple[float, float] | None  # where it was before the last session


def confusion_matrix(confusion: Confusion, labels: Sequence[str]) -> str:
    """A row for each class asked about, a column for each answer; darker where more of the row."""
    columns: list[str | None] = [*labels, None]
    rows = [label for label in labels if any(confusion.get((label, c), 0) for c in columns)]
    cell = max(_SMALLEST_CELL, min(_LARGEST_CELL, _MATRIX // len(columns)))
    longest = max((len(_short(label)) for label in labels), default=0)
    margin = round(_LETTER * max(longest, len(UNKNOWN))) + 12
    width, height = margin + cell * len(columns) + 4, margin + cell * len(rows) + 4
    parts = []
    for y, truth in enumerate(rows):
        total = sum(confusion.get((truth, c), 0) for c in columns)
        top = margin + y * cell
        parts.append(_text(margin - 6, top + cell / 2 + 3, _short(truth), "end small"))
        for x, answer in enumerate(columns):
            if n := confusion.get((truth, answer), 0):
                kind = "right" if truth == answer else "wrong"
                said = f"{truth}: {n} of {total} called {answer or UNKNOWN}"
                parts.append(
                    f'<rect x="{margin + x * cell}" y="{top}" width="{cell - 1}" '
                    f'height="{cell - 1}" class="{kind}" '
                    f'fill-opacity="{0.12 + 0.88 * n / total:.2f}"><title>{escape(said)}</title>'
                    "</rect>"
                )
    for x, answer in enumerate(columns):
        left = margin + x * cell + cell / 2 + 3
        name = UNKNOWN if answer is None else _short(answer)
        parts.append(
            f'<text class="small" transform="translate({left} {margin - 6}) rotate(-90)">'
            f"{escape(name)}</text>"
        )
    return _svg(width, height, parts, "What each class was called")


def reliability_curve(bins: Sequence[Bin]) -> str:
    """Accuracy over confidence; on the diagonal confidence means what it says."""
    plot = _Axes("confidence", "right")
    largest = max((own.answers for own in bins), default=1)
    parts = [plot.line([(0, 0), (1, 1)], "guide")]
    parts += [plot.line([(own.confidence, own.accuracy) for own in bins], "curve")]
    for own in bins:
        x, y = plot.at(own.confidence, own.accuracy)
        said = f"{own.answers} answers: sure to {own.confidence:.0%}, right in {own.accuracy:.0%}"
        radius = 3 + 6 * (own.answers / largest) ** 0.5
        parts.append(_dot(x, y, radius, "dot", said))
    return plot.drawn(parts, "Accuracy over confidence")


def course_curve(
    versions: Sequence[str], overall: Sequence[float], groups: Mapping[str, Sequence[float | None]]
) -> str:
    """Accuracy after each version: on all that was taught, and on what came with each version."""
    plot = _Axes("version", "right", ticks=versions)
    last = max(1, len(versions) - 1)
    parts = []
    for name, values in groups.items():
        points = [(i / last, value) for i, value in enumerate(values) if value is not None]
        parts.append(plot.line(points, "thin", f"classes that came with {name}"))
    parts.append(plot.line([(i / last, value) for i, value in enumerate(overall)], "curve"))
    for i, value in enumerate(overall):
        x, y = plot.at(i / last, value)
        parts.append(_dot(x, y, 4, "dot", f"{versions[i]}: {value:.1%} of all that was taught"))
    return plot.drawn(parts, "Accuracy from version to version")


def prototype_map(marks: Sequence[Mark]) -> str:
    """Prototypes in two dimensions; a line leads from where one was before the last session."""
    width, height, edge = 640, 460, 40
    places = [mark.place for mark in marks] + [mark.former for mark in marks if mark.former]
    low = [min(place[axis] for place in places) for axis in (0, 1)]
    span = [max(place[axis] for place in places) - low[axis] or 1.0 for axis in (0, 1)]

    def at(place: tuple[float, float]) -> tuple[float, float]:
        x, y = ((place[axis] - low[axis]) / span[axis] for axis in (0, 1))
        return edge + x * (width - 2 * edge), edge / 2 + y * (height - edge)

    parts: list[str] = []
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in (at(mark.place) for mark in marks)]
    for mark in marks:
        x, y = at(mark.place)
        if mark.former is not None:
            a, b = at(mark.former)
            parts.append(f'<path class="drift" d="M{a:.1f} {b:.1f}L{x:.1f} {y:.1f}"/>')
        parts.append(_dot(x, y, 3.5, "dot", mark.label))
        name = _short(mark.label)
        reach = _LETTER * len(name)
        left = x + 7 if x + 7 + reach < width else x - 7 - reach
        box = (left, y - 7, left + reach, y + 5)
        if not any(_overlap(box, other) for other in taken):  # the others have their tooltip
            taken.append(box)
            parts.append(_text(left, y + 3.5, name, "small"))
    return _svg(width, height, parts, "Prototypes, in two dimensions")


class _Axes:
    """A square plot from 0 to 1, in per cent where no ticks are named."""

    width, height, left, bottom, top, right = 520, 340, 52, 46, 12, 30

    def __init__(self, across: str, up: str, ticks: Sequence[str] | None = None) -> None:
        self.across, self.up, self.ticks = across, up, ticks

    def at(self, x: float, y: float) -> tuple[float, float]:
        wide, high = self.width - self.left - self.right, self.height - self.top - self.bottom
        return self.left + x * wide, self.top + (1 - y) * high

    def line(self, points: Iterable[tuple[float, float]], kind: str, title: str = "") -> str:
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in (self.at(*point) for point in points))
        said = f"<title>{escape(title)}</title>" if title else ""
        return f'<path class="{kind}" d="M{path}">{said}</path>' if path else ""

    def drawn(self, parts: Iterable[str], title: str) -> str:
        grid = []
        for step in range(5):
            x, y = self.at(0, step / 4)
            grid.append(self.line([(0, step / 4), (1, step / 4)], "grid"))
            grid.append(_text(x - 8, y + 4, f"{25 * step} %", "end"))
        names = self.ticks or [f"{25 * step} %" for step in range(5)]
        every = -(-len(names) // 8)  # more would overlap
        for i, name in enumerate(names):
            if i % every == 0:
                x, y = self.at(i / max(1, len(names) - 1), 0)
                grid.append(_text(x, y + 18, name, "middle"))
        x, y = self.at(0.5, 0)
        grid.append(_text(x, y + 38, self.across, "middle quiet"))
        return _svg(
            self.width, self.height, [*grid, *parts], f"{title}: {self.up} over {self.across}"
        )


def _svg(width: float, height: float, parts: Iterable[str], title: str) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(text)}</text>'


def _dot(x: float, y: float, radius: float, kind: str, title: str) -> str:
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" class="{kind}">'
        f"<title>{escape(title)}</title></circle>"
    )


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]

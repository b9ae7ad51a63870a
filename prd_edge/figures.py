"""Figures and times as people read them; – where there is none."""

from __future__ import annotations


def utc(created: str) -> str:
    """A manifest's time."""
    return created.removesuffix("+00:00").replace("T", " ")


def percent(fraction: float | None) -> str:
    return "–" if fraction is None else f"{100 * fraction:.1f} %"


def percent_change(before: float | None, after: float | None) -> str:
    if after is None:
        return "–"
    return f"{percent(before).removesuffix(' %')} → {percent(after)}"


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def seconds(count: float | None) -> str:
    if count is None:
        return "–"
    return f"{count:.1f} s" if count < 10 else f"{count:.0f} s"

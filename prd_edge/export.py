"""Formats in which a version can leave the store: whatever is installed under the entry point."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from prd_edge.errors import InvalidInputError

GROUP = "prd_edge.exporters"


def formats() -> list[str]:
    return sorted(point.name for point in entry_points(group=GROUP))


def exporter_named(name: str) -> Any:
    """An `Exporter`, as `exporters/base.py` has it."""
    for point in entry_points(group=GROUP, name=name):
        return point.load()()
    raise InvalidInputError(f"no format named {name!r}; choose one of {', '.join(formats())}")


def certificate_of(target: Path) -> Any | None:
    """That of an exported file or folder, whatever its format; None where it is lost."""
    for name in formats():
        found = exporter_named(name).certificate(target)
        if found is not None:
            return found
    return None

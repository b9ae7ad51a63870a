"""Where a file may be written that a person asks for: an export, a report."""

from __future__ import annotations

import os
from pathlib import Path

from prd_edge.errors import InvalidInputError
from prd_edge.store import is_store


def refuse_target(path: Path) -> None:
    """A place where no file can be written is refused before the work, not after it."""
    if path.is_dir():
        raise InvalidInputError(f"{path} is a folder; name a file")
    refuse_parent(path)


def refuse_parent(path: Path) -> None:
    if not path.parent.exists():
        raise InvalidInputError(f"no folder {path.parent}; make it first")
    if not path.parent.is_dir():
        raise InvalidInputError(f"{path.parent} is a file, not a folder; choose another place")
    real = Path(os.path.realpath(path))  # unlike `resolve`, never raises
    for folder in (real, *real.parents):
        if is_store(folder):
            raise InvalidInputError(f"{path} is within the store {folder}; choose another place")

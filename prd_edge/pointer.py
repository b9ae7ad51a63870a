"""CURRENT: which version is live, and which is the newest that was ever committed.

The two differ after a rollback. A version beyond the newest is a commit that was cut short.

No version tells which one was live, so the same bytes are kept once more, in CURRENT.copy. It is
written first: cut short between the two, it is ahead of CURRENT, and what it names is whole. It is
read only where CURRENT cannot be.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from prd_edge.errors import StoreError
from prd_edge.plain_file import NotPlainError, read_plain_file
from prd_edge.system_errors import explained, is_hardware

_FORMAT = re.compile(r"live ([0-9]{6})\nnewest ([0-9]{6})\nsha256 ([0-9a-f]{64})\n")
_LARGEST = 1024


class Pointer(NamedTuple):
    live: str
    newest: str

    def to_bytes(self) -> bytes:
        body = f"live {self.live}\nnewest {self.newest}\n"
        return f"{body}sha256 {hashlib.sha256(body.encode()).hexdigest()}\n".encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Pointer | None:
        match = _FORMAT.fullmatch(data.decode("ascii", errors="replace"))
        pointer = cls(match[1], match[2]) if match else None
        return pointer if pointer and pointer.to_bytes() == data else None


def pointer_in(path: Path) -> Pointer | None:
    """None where it is missing or damaged."""
    with explained(path, "read"):
        try:
            return Pointer.from_bytes(read_plain_file(path, most=_LARGEST))
        except (FileNotFoundError, NotADirectoryError, NotPlainError):
            return None


def pointer_of(current: Path, copy: Path, versions: Path) -> Pointer | None:
    """None where both are missing or damaged."""
    unreadable = None
    try:
        if own := pointer_in(current):
            return own
    except StoreError as error:
        if not is_hardware(error):  # the copy may be older, and CURRENT as it should be
            raise
        unreadable = error
    own = pointer_in(copy)
    if own and (versions / own.live).exists():  # or it is left from before a restored backup
        return own
    if unreadable:
        raise unreadable
    return None

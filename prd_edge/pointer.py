"""CURRENT: which version is live, and which is the newest that was ever committed.

The two differ after a rollback. A version beyond the newest is a commit that was cut short.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

_FORMAT = re.compile(r"live (\d{6})\nnewest (\d{6})\nsha256 ([0-9a-f]{64})\n")


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

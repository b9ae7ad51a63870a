"""The one file in which a session in progress survives a power cut.

It holds weights, never samples, under a key made of everything the result depends on. A file that
does not match its key or its checksum is as good as none. Every commit removes it.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from prd_edge import files
from prd_edge.errors import StoreCorruptError, StoreError
from prd_edge.plain_file import read_plain_file

_LARGEST = 4 * 2**30
_KEY = re.compile(r"[0-9a-f]{64}")


class CheckpointFile(NamedTuple):
    path: Path

    def load(self, key: str) -> bytes | None:
        try:
            content = read_plain_file(self.path, most=_LARGEST)
        except OSError:
            return None
        data = content[len(_header(key, b"")) :]
        return data if content.startswith(_header(key, data)) else None

    def save(self, key: str, data: bytes) -> None:
        """A full disk costs the checkpoint, not the session."""
        with suppress(OSError), suppress(StoreError):
            files.replace_file(self.path, _header(key, data) + data)

    def remove(self) -> None:
        for path in (self.path.with_name(f".tmp-{self.path.name}"), self.path):
            files.remove_file(path)


def tensors_of(path: Path) -> bytes:
    """What stands behind the key, whichever it is, and the checksum."""
    content = read_plain_file(path, most=_LARGEST)
    data = content[len(_header("0" * 64, b"")) :]
    key = content[:64].decode("ascii", errors="replace")
    if not _KEY.fullmatch(key) or not content.startswith(_header(key, data)):
        raise StoreCorruptError(f"{path} is no checkpoint")
    return data


def _header(key: str, data: bytes) -> bytes:
    return f"{key}\n{hashlib.sha256(data).hexdigest()}\n".encode()

"""JPEG files that are small or well-formed, and yet take minutes to open.

A decoder copies metadata again for each segment, and runs over all pixels for each scan. Neither
is bounded by the format; honest pictures stay far below these limits.
"""

from __future__ import annotations

import io
from typing import IO

from prd_edge.errors import ImageError

MAX_METADATA_BYTES = 16 * 2**20
MAX_SCANS = 100

_START = b"\xff\xd8"
_SCAN = 0xDA


def refuse_jpeg_bomb(stream: IO[bytes]) -> None:
    """Check a stream that may hold a JPEG, and rewind it."""
    if stream.read(len(_START)) == _START:
        scans_begin = _after_metadata(stream)
        stream.seek(scans_begin)
        if stream.read().count(bytes((0xFF, _SCAN))) > MAX_SCANS:
            raise ImageError(f"a JPEG of more than {MAX_SCANS} scans; save it anew")
    stream.seek(0)


def _after_metadata(stream: IO[bytes]) -> int:
    """Where the first scan begins, or the segments end to make sense."""
    while True:
        position = stream.tell()
        if position > MAX_METADATA_BYTES:
            raise ImageError(f"more than {MAX_METADATA_BYTES:,} bytes of metadata; save it anew")
        header = stream.read(4)
        if len(header) < 4 or header[0] != 0xFF or header[1] == _SCAN:
            return position
        stream.seek(int.from_bytes(header[2:], "big") - 2, io.SEEK_CUR)

"""JPEG files that are small or well-formed, and yet take minutes to open.

A decoder copies metadata again for each segment, and runs over all pixels for each scan. Neither
is bounded by the format; honest pictures stay far below these limits.
"""

from __future__ import annotations

import re
from typing import IO

from prd_edge.errors import ImageError

MAX_METADATA_BYTES = 16 * 2**20
MAX_SCANS = 32

_START, _END, _SCAN = 0xD8, 0xD9, 0xDA
_ALONE = {0x01, _START}  # markers without a segment
# After any number of fill bytes; neither a stuffed 0xFF of the pixels nor a restart within them.
_MARKER = re.compile(rb"\xff+([^\x00\xff\xd0-\xd7])")


def refuse_jpeg_bomb(stream: IO[bytes]) -> None:
    """Check a stream that may hold a JPEG, and rewind it."""
    if stream.read(2) == bytes((0xFF, _START)):
        _check(stream.read())
    stream.seek(0)


def _check(data: bytes) -> None:
    """Walk from segment to segment as a decoder does; what lies behind the end is not looked at:
    telephones append films."""
    scans = position = 0
    while found := _MARKER.search(data, position):
        kind, position = found[1][0], found.end()
        if kind == _END:
            return
        if kind not in _ALONE:
            position += max(int.from_bytes(data[position : position + 2], "big"), 2)
        scans += kind == _SCAN
        if scans == 1 and data.count(bytes((0xFF, _SCAN)), position) < MAX_SCANS:
            return  # nearly always, and at once
        if scans > MAX_SCANS:
            raise ImageError(f"a JPEG of more than {MAX_SCANS} scans; save it anew")
        if not scans and position > MAX_METADATA_BYTES:
            raise ImageError(f"more than {MAX_METADATA_BYTES:,} bytes of metadata; save it anew")

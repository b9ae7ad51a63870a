"""Markdown in which a person's words stay what they are."""

from __future__ import annotations

import re
from collections.abc import Sequence

_READ_BY_MARKDOWN = re.compile(r"[\\`*_\[\]<>|~&$#]")


def escaped(text: str) -> str:
    """As a part of a line, or in a table."""
    return _READ_BY_MARKDOWN.sub(r"\\\g<0>", text)


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)

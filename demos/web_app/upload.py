"""How the page sends a lesson: one line of JSON, then the bytes of all pictures, one after another.

{"quick": false, "classes": [{"name": "mug", "sizes": [48213, 50127]}, …]}
"""

from __future__ import annotations

import json
from typing import NamedTuple

from prd_edge.classes import clean_class_name
from prd_edge.errors import InvalidInputError

MOST_PICTURES = 5000
_LONGEST_LINE = 2**20


class Lesson(NamedTuple):
    pairs: list[tuple[object, str]]
    quick: bool


def parse_lesson(body: bytes) -> Lesson:
    line = body[:_LONGEST_LINE].partition(b"\n")[0]
    try:
        head = json.loads(line)
        classes = [(clean_class_name(own["name"]), list(own["sizes"])) for own in head["classes"]]
        quick = head["quick"] is True
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InvalidInputError("this is not what the page sends; load it anew") from None
    sizes = [size for _, own in classes for size in own]
    if any(type(size) is not int or size < 0 for size in sizes):
        raise InvalidInputError("the size of a picture is not a number; load the page anew")
    if len(line) + 1 + sum(sizes) != len(body):
        raise InvalidInputError("the pictures did not arrive whole; press Learn again")
    if not 0 < len(sizes) <= MOST_PICTURES:
        raise InvalidInputError(
            f"{len(sizes)} pictures; give at least one, and at most {MOST_PICTURES}"
        )
    pairs: list[tuple[object, str]] = []
    start = len(line) + 1
    for name, own in classes:
        for size in own:
            pairs.append((body[start : start + size], name))
            start += size
    return Lesson(pairs, quick)

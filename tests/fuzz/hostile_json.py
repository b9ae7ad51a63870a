"""JSON documents as an attacker would change them: one value at a time, anywhere."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

TEXTS = (
    *("", "x", "..", "../../x", "/etc/passwd", "\0", "\n", "\x1b[2J", "\x9b", "\u202e", "\ud800"),
    *("é" * 3000, "e\u0301", "NaN", "000003", "999999", "１２３４５６", "💥", "\U000e0001"),
    *("manifest.json", "__proto__", "{}", "%s", "x" * 100_000),
)
NUMBERS = (
    *(0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e308, 5e-324),
    *(float("nan"), float("inf"), -float("inf"), True, False, None),
)


def deep(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"x": value}
    return value


def hostile_value(random: Random) -> Any:
    kind = random.randrange(8)
    if kind < 3:
        return random.choice(TEXTS)
    if kind < 6:
        return random.choice(NUMBERS)
    if kind == 6:
        return random.choice(([], {}, [[]], [None], {"x": 1}, {"": ""}, [1, "x"], ["encoder"]))
    return deep(random.choice((3, 9, 11, 50, 2000)))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if len(path) > 5:
        return found
    if isinstance(value, dict):
        for key in value:
            found += places(value[key], (*path, key))
    elif isinstance(value, list):
        for index in range(len(value)):
            found += places(value[index], (*path, index))
    return found


def mutated(random: Random, document: Any) -> Any:
    document = copy.deepcopy(document)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        (*path, last) = random.choice(places(document)[1:] or [(None,)])
        if last is None:  # nothing is left
            break
        parent = document
        for key in path:
            parent = parent[key]
        kind = random.randrange(5)
        if kind < 3:
            parent[last] = hostile_value(random)
        elif kind == 3:
            del parent[last]
        elif isinstance(parent, dict):
            parent[random.choice(TEXTS)] = parent[last] if random.random() < 0.5 else 1
        else:
            parent.append(hostile_value(random))
    return document

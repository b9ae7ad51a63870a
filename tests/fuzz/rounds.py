"""A campaign in small: a fixed number of its rounds, the same every time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

Campaign = Callable[[Random, Path], Counter[str]]


def rounds(campaign: Campaign, seed: int, folder: Path, *, count: int) -> Counter[str]:
    """Every round leaves the folder as it found it."""
    random = Random(seed)
    total: Counter[str] = Counter()
    for _ in range(count):
        total += campaign(random, folder)
        assert not list(folder.iterdir())
    return total

"""What `on_progress` is called with while a session is learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Losses(NamedTuple):
    """The three terms of PRD's objective, of one mini-batch."""

    contrastive: float
    tightness: float
    relation: float


@dataclass(frozen=True)
class Estimate:
    """What a session is going to take, by a short measurement before the work starts."""

    seconds: float
    memory_mb: float
    images: int
    views: int  # random views of each image; 0 where they are made anew for every step
    epochs: int
    threads: int


@dataclass(frozen=True)
class Progress:
    """How far a session has come; what `on_progress` is called with."""

    stage: str
    done: int
    total: int | None
    losses: Losses | None = None  # while the encoder is trained
    estimate: Estimate | None = None  # at the stage "estimate"


OnProgress = Callable[[Progress], object]

"""One picture, one word about it: what may change, and by how much.

Nothing of the picture may stay, so no prototype moves: the difference between two versions of a
prototype would be the picture's embedding. What changes is two numbers a class: its leaning, which
is added to its score, and its radius. A step is bounded, so that one odd picture cannot turn the
answers to all others.

- It is a: a's leaning rises and that of the class that was answered falls, until a leads; a's
  radius shrinks to let the picture in.
- It is not b: if b was answered, b's leaning falls until another class leads, and its radius grows
  past the picture's likeness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prd_edge.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prd_edge.bank import PrototypeBank
    from prd_edge.readout import Readout

_MOST_LEANING = 0.1  # in typical margins, of one feedback
_MOST_RADIUS = 0.1
_LEAD = 0.01  # in typical margins: enough to win by


class Feedback(NamedTuple):
    before: str | None  # what the picture was taken for; None is unknown
    after: str | None
    is_settled: bool  # False: one bounded step was not enough
    version: str | None  # None: nothing had to change


def corrected(
    bank: PrototypeBank,
    readout: Readout,
    embedding: NDArray[np.float32],
    label: str,
    *,
    is_it: bool,
) -> PrototypeBank:
    """The bank after a word about the picture with this embedding (D,)."""
    own = bank.index(label)
    if not is_it and len(bank.labels) == 1:
        raise InvalidInputError(
            f"{label!r} is the only class, so there is nothing else to answer; teach another one"
        )
    scores = readout.scores(embedding[None])[0].astype(np.float64)
    rival = _best(scores, excluding=own)
    lead = (scores[own] - scores[rival]) / readout.margin if rival is not None else np.inf
    like = float(readout.likeness(scores[None].astype(np.float32), _one(own))[0])
    if is_it:
        missing = min(max(_LEAD - lead, 0.0), 2 * _MOST_LEANING)
        if missing and rival is not None:
            bank = _leaned(bank, own, missing / 2)
            bank = _leaned(bank, rival, -missing / 2)
        radius = max(min(bank.radii[own], like), bank.radii[own] - _MOST_RADIUS)
        return bank.with_radii({label: float(radius)})
    if lead <= 0 or like < bank.radii[own]:  # it was not taken for that
        return bank
    bank = _leaned(bank, own, -min(lead + _LEAD, _MOST_LEANING))
    just_above = float(np.nextafter(np.float32(like), np.float32(np.inf)))
    radius = min(max(bank.radii[own], just_above), bank.radii[own] + _MOST_RADIUS)
    return bank.with_radii({label: float(radius)})


def _leaned(bank: PrototypeBank, row: int, step: float) -> PrototypeBank:
    return bank.with_leanings({bank.labels[row]: float(bank.leanings[row]) + step})


def _best(scores: NDArray[np.float64], *, excluding: int) -> int | None:
    others = scores.copy()
    others[excluding] = -np.inf
    return int(others.argmax()) if len(scores) > 1 else None


def _one(row: int) -> NDArray[np.int64]:
    return np.array([row])

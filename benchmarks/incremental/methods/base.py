"""What every method is asked: learn a session, then score pictures."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from incremental.streams import Session, Stream


class Method(Protocol):
    """Made anew for each stream and seed. It may look at the pictures of the session it is given,
    and at no other."""

    labels: list[str]  # that it knows, in the order of its scores

    def learn(self, stream: Stream, session: Session) -> None: ...

    def scores(self, part: Any, rows: np.ndarray) -> np.ndarray:
        """(N,) rows of pictures to (N, C)."""
        ...

    def state_bytes(self) -> int:
        """Kept between sessions because of what was learned, the network's own weights aside."""
        ...


@runtime_checkable
class Embeds(Protocol):
    """A method of which one can ask what its features are worth, whatever is made of them."""

    network: Any

    def features(self, part: Any, rows: np.ndarray) -> np.ndarray:
        """(N,) to (N, D)."""
        ...


def rows_of(labels: np.ndarray, known: list[str]) -> np.ndarray:
    """Positions of labels among those known; new ones are appended to the list."""
    for label in np.unique(labels):
        if label not in known:
            known.append(str(label))
    place = {label: row for row, label in enumerate(known)}
    return np.array([place[label] for label in labels])


def unit(x: np.ndarray) -> np.ndarray:
    """Rows of length 1."""
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)

"""Experience replay (Chaudhry et al. 2019): half of every mini-batch was kept from before."""

from __future__ import annotations

import numpy as np

from incremental.ground import Ground
from incremental.methods.fine_tuning import FineTuning
from incremental.replay import Buffer
from incremental.streams import Session, Stream
from prd_edge.learn.learner import SessionData


class Er(FineTuning):
    """L = CE(new) / 2 + CE(replayed) / 2, with M pictures of each class in the buffer.

    It is filled when a session begins, whose own classes are not left out (Caccia et al. 2022).
    """

    def __init__(self, seed: int, ground: Ground, kept: int) -> None:
        super().__init__(seed, ground)
        self.buffer = Buffer(kept, seed)

    def data(self, stream: Stream, session: Session, classes: np.ndarray) -> SessionData:
        self.buffer.add(stream.train, session.rows, classes)
        return self.buffer.beside(self.ground, stream.train, session.rows, classes)

    def state_bytes(self) -> int:
        return super().state_bytes() + self.buffer.bytes

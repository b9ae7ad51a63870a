"""Joint training: all sessions at once, what no learner in sessions is allowed. The upper bound."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from incremental.data import Part
from incremental.ground import one_view_batches
from incremental.methods.base import rows_of
from incremental.methods.trained import HEAD, WIDTH, CachedSession, fresh_tail, outputs
from incremental.streams import Session, Stream
from prd_edge.bank import PrototypeBank
from prd_edge.learn.recipes import EDGE
from prd_edge.readout import Readout

_IMAGES = 12_000  # learned from, each counted as often as it is seen; not all of 50,000


class Joint:
    """The last stages by cross-entropy on the images of all sessions, then prd-edge's readout of
    frozen and trained features."""

    def __init__(self, seed: int) -> None:
        self.labels: list[str] = []
        self.seed = seed
        self.tail = fresh_tail()
        self.readout: Readout | None = None

    def learn(self, stream: Stream, session: Session) -> None:
        if session is not stream.sessions[-1]:
            return
        rows = np.concatenate([own.rows for own in stream.sessions])
        labels = np.concatenate([own.labels for own in stream.sessions])
        classes = rows_of(labels, self.labels)
        data = CachedSession(stream.train, rows, classes)
        generator = torch.Generator().manual_seed(self.seed)
        weights = torch.randn(len(self.labels), HEAD, generator=generator).requires_grad_()
        optimiser = torch.optim.SGD(
            [*self.tail.parameters(), weights], lr=EDGE.learning_rate, momentum=EDGE.momentum
        )
        self.tail.train()
        for views in one_view_batches(data, _IMAGES, EDGE.batch_size, generator):
            features = self.tail(views.inputs)[:, -HEAD:]
            logits = F.normalize(features) @ F.normalize(weights).T / EDGE.temperature
            optimiser.zero_grad(set_to_none=True)
            F.cross_entropy(logits, views.classes).backward()
            optimiser.step()
        self.tail.eval()
        x = self.embeddings(stream.train, rows)
        self.readout = Readout.of(PrototypeBank.empty(x.shape[1]).add(x, [str(y) for y in labels]))
        self.labels = list(self.readout.labels)

    def embeddings(self, part: Part, rows: np.ndarray) -> np.ndarray:
        """Frozen and trained features, as prd-edge takes their mean."""
        x = part.anchor[rows].copy()
        late = slice(-WIDTH, None)
        x[:, late] = (x[:, late] + outputs(self.tail, part, rows, WIDTH)) / 2
        return x

    def scores(self, part: Part, rows: np.ndarray) -> np.ndarray:
        assert self.readout is not None
        return self.readout.scores(self.embeddings(part, rows))

    def state_bytes(self) -> int:
        return 0

"""prd-edge itself: its own code from the session's features on, hold-out and guards included."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import inf
from threading import Event

import numpy as np
import torch

from incremental.data import Part
from incremental.methods.trained import CachedSession, outputs
from incremental.streams import Session, Stream
from prd_edge.bank import PrototypeBank
from prd_edge.encoders import EncoderSpec
from prd_edge.encoders.efficientnet_lite0 import EMBEDDING_PARTS
from prd_edge.encoders.wheel_weights import read_wheel_weights
from prd_edge.harvest import Harvest
from prd_edge.imprint import Imprint
from prd_edge.learn.adapt import Adaptation
from prd_edge.learn.cut import Cut, cut
from prd_edge.learn.plan import Plan
from prd_edge.learn.recipes import EDGE
from prd_edge.model import Knowledge
from prd_edge.readout import Verdict
from prd_edge.series import series_of
from prd_edge.training import TrainingSettings, TrainingTask, is_worth_training

_HOLDOUT = 0.2


class Imprinted:
    """`--mode imprint`: the frozen floor."""

    def __init__(self, *, one_look: bool = False) -> None:
        self.knowledge = Knowledge.none(sum(EMBEDDING_PARTS))
        self.one_look = one_look

    @property
    def labels(self) -> list[str]:
        return list(self.knowledge.readout.labels)

    def learn(self, stream: Stream, session: Session) -> None:
        found = _harvest(self.embeddings(stream.train, session.rows), session)
        self.imprint(found)

    def imprint(self, found: Harvest) -> None:
        temperature = self.knowledge.readout.temperature
        learned = Imprint(self.knowledge.bank, temperature, found, holdout=_HOLDOUT).completed()
        self.knowledge = Knowledge(learned.bank, learned.readout)

    def embeddings(self, part: Part, rows: np.ndarray) -> np.ndarray:
        return part.usual[rows] if self.one_look else part.anchor[rows]

    def scores(self, part: Part, rows: np.ndarray) -> np.ndarray:
        return self.knowledge.readout.scores(self.embeddings(part, rows))

    def verdicts(self, part: Part, rows: np.ndarray) -> list[Verdict]:
        return [self.knowledge.readout.verdict(x) for x in self.embeddings(part, rows)]

    def state_bytes(self) -> int:
        return sum(map(len, self.knowledge.contents().values()))


class Edge(Imprinted):
    """`--mode prd`, or with parts of it left out."""

    def __init__(
        self,
        seed: int,
        *,
        sessions: int | None = None,
        beta: float = EDGE.beta,
        transport: bool = True,
        hard: bool = False,
        every: bool = False,
    ) -> None:
        """Training ends after so many sessions; what follows is imprinted. `every`: small sessions
        train as well."""
        super().__init__()
        self.seed = seed
        self.every = every
        self.sessions_left = inf if sessions is None else sessions
        later = None if hard else EDGE.later_learning_rate
        self.recipe = replace(EDGE, beta=beta, later_learning_rate=later)
        self.adaptation = Adaptation if transport else _WithoutTransport
        self.weights = read_wheel_weights()
        self.spec: EncoderSpec | None = None
        self.trained: Cut | None = None  # the encoder as it is, if it has been trained

    def learn(self, stream: Stream, session: Session) -> None:
        if self.spec is None:
            self.spec = EncoderSpec("efficientnet_lite0", stream.size, EMBEDDING_PARTS, "")
        labels = set(map(str, session.labels))
        is_worth_it = self.every or is_worth_training(self.spec, labels, self.labels)
        if self.sessions_left <= 0 or not is_worth_it:
            super().learn(stream, session)
            return
        self.sessions_left -= 1
        recipe = self.recipe.for_images(len(session.rows))
        made = cut(self.spec, self.weights, recipe, None)
        embeddings = self.embeddings(stream.train, session.rows)
        reading = _CachedReading(
            Plan(recipe, torch.get_num_threads(), 0.0, inf, None),  # type: ignore[arg-type]
            _harvest(embeddings, session),
            stream.train,
            session.rows,
        )
        task = TrainingTask(
            session=None,  # type: ignore[arg-type]
            spec=self.spec,
            weights=lambda: self.weights,
            embedder=None,  # type: ignore[arg-type]
            known=self.knowledge,
            started=time.perf_counter(),
            checkpoints=None,
            on_progress=lambda _: None,
            cancel=Event(),
        )
        settings = TrainingSettings(seed=self.seed, holdout=_HOLDOUT)
        learned = self.adaptation(task, settings, made, reading).result()  # type: ignore[arg-type]
        self.knowledge = Knowledge(learned.imprinted.bank, learned.imprinted.readout)
        if learned.encoder is not None:
            self.spec, self.weights = learned.encoder.spec, learned.encoder.weights
            self.trained = cut(self.spec, self.weights, recipe, None)

    def embeddings(self, part: Part, rows: np.ndarray) -> np.ndarray:
        anchor = super().embeddings(part, rows)
        if self.trained is None:
            return anchor
        made, anchor = self.trained, anchor.copy()
        width = made.trained.stop - made.trained.start
        anchor[:, made.trained] *= 1 - made.share
        anchor[:, made.trained] += made.share * outputs(made.tail, part, rows, width)
        return anchor


class _WithoutTransport(Adaptation):
    def moved_bank(self, before: np.ndarray, after: np.ndarray) -> PrototypeBank:
        return self.task.known.bank


@dataclass
class _CachedReading:
    """Stands for a session that was read: its features are on disk already."""

    plan: Plan
    found: Harvest
    part: Part
    rows: np.ndarray

    @property
    def cached_views(self) -> int:
        assert self.part.views is not None
        return self.part.views.shape[1]

    def prepared(self, positions: np.ndarray, classes: torch.Tensor) -> CachedSession:
        return CachedSession(self.part, self.rows[positions], classes.numpy())

    def forget_views(self) -> None:
        pass

    def sample_squares(self, _held: np.ndarray) -> np.ndarray:
        return np.array(self.part.squares)


def _harvest(embeddings: np.ndarray, session: Session) -> Harvest:
    labels = tuple(map(str, session.labels))
    return Harvest(
        embeddings=embeddings,
        labels=labels,
        digests=tuple(blake2b(row.tobytes(), digest_size=16).digest() for row in session.rows),
        skipped=(),
        duplicates=0,
        rows=np.arange(len(labels)),
        series=series_of(embeddings, labels),
    )

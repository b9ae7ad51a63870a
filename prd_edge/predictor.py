"""An embedder and a readout together answer: what is on this picture?"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from prd_edge.embedder import Embedder
from prd_edge.errors import ImageError, InvalidInputError, NoUsableDataError
from prd_edge.images import decode, decode_named, name_of, owned
from prd_edge.parallel import ordered_map
from prd_edge.readout import Readout

if TYPE_CHECKING:
    from numpy.typing import NDArray

OUTPUT_SCHEMA = 1


class Ranked(NamedTuple):
    label: str
    confidence: float


class Prediction(NamedTuple):
    """`label` is None where the picture is of nothing known (`unknown`) or could not be read
    (`error` says why). `likeness` to the most likely class: 1 is its prototype, 0 nothing at all.
    """

    source: str | None
    label: str | None
    confidence: float
    unknown: bool
    top_k: tuple[Ranked, ...]
    version: str
    ms: float
    likeness: float = 0.0
    error: str | None = None

    @classmethod
    def unreadable(cls, source: str | None, version: str, reason: str) -> Prediction:
        return cls(source, None, 0.0, False, (), version, 0.0, error=reason)

    def as_dict(self) -> dict[str, Any]:
        """What `predict --json` prints."""
        answer: dict[str, Any] = {
            "schema": OUTPUT_SCHEMA,
            "source": self.source,
            "label": self.label,
            "confidence": round(self.confidence, 6),
            "likeness": round(self.likeness, 6),
            "unknown": self.unknown,
            "top_k": [{"label": r.label, "confidence": round(r.confidence, 6)} for r in self.top_k],
            "version": self.version,
            "ms": round(self.ms, 2),
        }
        return answer if self.error is None else {**answer, "error": self.error}


class Predictor:
    """Immutable and thread-safe: it belongs to one version for ever."""

    def __init__(self, embedder: Embedder, readout: Readout, version: str) -> None:
        self.embedder = embedder
        self.readout = readout
        self.version = version

    def predict(
        self,
        source: object,
        *,
        top_k: int = 3,
        threshold: float = 0.0,
        always_answer: bool = False,
    ) -> Prediction:
        """A picture less like its class than the class's radius is unknown, and so is one of less
        confidence than `threshold`; with `always_answer` only the latter is."""
        self._check(top_k, threshold)
        started = time.perf_counter()
        self.embedder.prepare_for_one()
        embedding = self.embedder.embed_alone(decode_named(source))
        return self.answer(source, embedding, started, top_k, threshold, always_answer)

    def predict_many(
        self,
        sources: Iterable[object],
        *,
        top_k: int = 3,
        threshold: float = 0.0,
        always_answer: bool = False,
    ) -> Iterator[Prediction]:
        """Answers in the order of `sources`, in constant memory. An unreadable image gets an
        answer with `error` set instead of stopping the others."""
        self._check(top_k, threshold)
        if isinstance(sources, str | bytes | os.PathLike):
            raise InvalidInputError(f"predict_many takes several; give [{sources!r}]")

        def answer(source: object) -> Prediction:
            started = time.perf_counter()
            try:
                embedding = self.embedder.embed_among_many(decode(source))
            except ImageError as error:
                return Prediction.unreadable(name_of(source), self.version, str(error))
            return self.answer(source, embedding, started, top_k, threshold, always_answer)

        self.embedder.prepare_for_many()
        return ordered_map(answer, map(owned, sources), threads=self.embedder.threads)

    def among(self, labels: Sequence[str]) -> Predictor:
        """The same, choosing among these classes only."""
        return Predictor(self.embedder, self.readout.among(labels), self.version)

    def _check(self, top_k: int, threshold: float) -> None:
        if top_k < 1:
            raise InvalidInputError(f"top_k is {top_k}; it must be at least 1")
        if not 0.0 <= threshold <= 1.0:
            raise InvalidInputError(f"threshold is {threshold}; it must be from 0 to 1")
        self.refuse_empty()

    def refuse_empty(self) -> None:
        if not self.readout.labels:
            raise NoUsableDataError(
                "the store knows no class yet; teach it some with 'prd-edge learn-session FOLDER'"
            )

    def answer(
        self,
        source: object,
        embedding: NDArray[np.float32],
        started: float,
        top_k: int = 1,
        threshold: float = 0.0,
        always_answer: bool = False,
    ) -> Prediction:
        """Of a picture that was embedded already; `started`: when the work on it began."""
        verdict = self.readout.verdict(embedding)
        order = np.argsort(-verdict.confidences, kind="stable")[:top_k]
        ranked = tuple(Ranked(self.readout.labels[i], float(verdict.confidences[i])) for i in order)
        is_far = verdict.label is None and not always_answer
        unknown = is_far or ranked[0].confidence < threshold
        return Prediction(
            source=name_of(source),
            label=None if unknown else ranked[0].label,
            confidence=ranked[0].confidence,
            unknown=unknown,
            top_k=ranked,
            version=self.version,
            ms=(time.perf_counter() - started) * 1000,
            likeness=verdict.likeness,
        )

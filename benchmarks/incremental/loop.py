"""A method goes through a stream. After each session it is asked about all that it was taught."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from incremental.confidence import Confident, confidence
from incremental.methods import METHODS
from incremental.methods.base import Method
from incremental.streams import Session, Stream, open_stream
from prd_edge.memory import peak_memory_mb

_ALONG_THE_WAY = 400  # pictures asked about after a session that is not the last, about


class Job(NamedTuple):
    stream: str
    method: str
    seed: int
    work: Path

    @property
    def file(self) -> Path:
        name = "".join(c if c.isalnum() else "-" for c in self.method)
        return self.work / "runs" / f"{self.stream}-{name}-{self.seed}.json"


def finish(job: Job) -> Job:
    """Run what has not been run yet."""
    if not job.file.exists():
        import torch

        torch.set_num_threads(1)  # runs stand side by side
        stream = open_stream(job.stream, job.seed, job.work)
        result = run(METHODS[job.method](job.seed), stream)
        job.file.parent.mkdir(parents=True, exist_ok=True)
        partial = job.file.with_suffix(".partial")
        partial.write_text(json.dumps(result))
        partial.rename(job.file)
    return job


def run(method: Method, stream: Stream) -> dict[str, object]:
    """The accuracies R[i][j], after session i on what session j brought, and what it cost."""
    matrix: list[list[float]] = []
    seconds = []
    pictures = sum(len(session.test_rows) for session in stream.sessions)
    every = max(1, pictures // _ALONG_THE_WAY)
    for number, session in enumerate(stream.sessions):
        started = time.perf_counter()
        method.learn(stream, session)
        seconds.append(time.perf_counter() - started)
        is_last = number == len(stream.sessions) - 1
        if is_last or method.labels:
            seen = stream.sessions[: number + 1]
            matrix.append([accuracy(method, stream, own, 1 if is_last else every) for own in seen])
    sizes = [len(session.test_rows) for session in stream.sessions]
    return {
        **(confidence(method, stream) if isinstance(method, Confident) else {}),
        "last_accuracy": float(np.average(matrix[-1], weights=sizes)),
        "matrix": matrix,
        "seconds": seconds,
        "state_bytes": method.state_bytes(),
        "classes": len(method.labels),
        "peak_memory_mb": peak_memory_mb(),
    }


def accuracy(method: Method, stream: Stream, session: Session, every: int) -> float:
    """In per cent, on every so many of a session's test pictures, among all classes known."""
    labels = np.array(method.labels)
    answers = labels[method.scores(stream.test, session.test_rows[::every]).argmax(axis=1)]
    return 100 * float((answers == session.test_labels[::every]).mean())


def average_accuracy(matrix: list[list[float]]) -> float:
    """Mean over the sessions of the accuracy on all that was taught until then."""
    return float(np.mean([np.mean(row) for row in matrix]))

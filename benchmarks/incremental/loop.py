"""A method goes through a stream. After each session it is asked about all that it was taught."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Protocol

import numpy as np

from incremental.confidence import Confident, confidence
from incremental.methods.base import Embeds, Method
from incremental.probes import linear_probe, nearest_means
from incremental.streams import Session, Stream
from prd_edge.memory import peak_memory_mb


class Job(Protocol):
    """One method, one stream, one seed."""

    @property
    def file(self) -> Path:
        """Where the result is kept."""
        ...

    @property
    def configuration(self) -> dict[str, object]:
        """Recorded beside it."""
        ...

    @property
    def asked(self) -> int:
        """About how many pictures to ask about after a session that is not the last."""
        ...

    @property
    def is_long(self) -> bool:
        """Kept after every session, and asked what its features are worth."""
        ...

    def start(self) -> tuple[Method, Stream]: ...


@dataclass
class Course:
    """How far a method has come; all that the sessions to come depend on."""

    method: Method
    matrix: list[list[float]] = field(default_factory=list)  # R[i][j]: after i, on what j brought
    within: list[list[float]] = field(default_factory=list)  # the same among j's classes alone
    balanced: list[float] = field(default_factory=list)  # domains: mean over classes, all pictures
    probe: list[float] = field(default_factory=list)  # of the first session's classes
    untaught: list[float] = field(default_factory=list)  # of the next session's, by means
    untrained: list[float] = field(default_factory=list)  # the same before anything was learned
    seconds: list[float] = field(default_factory=list)


def finish_all(jobs: Iterable[Job], workers: int | None) -> int:
    """Side by side, each in a process of its own: one thread each wastes nothing on waiting for
    the other. What fails, or is killed for its memory, does not keep the others from being run;
    how many did is returned."""
    failed = 0
    with _ended_by_sigterm(), ThreadPool(workers) as pool:
        for name, exit_code in pool.imap_unordered(_attempt, jobs):
            failed += exit_code != 0
            end = f"failed with exit code {exit_code}" if exit_code else "finished"
            print(f"{end}: {name}", file=sys.stderr, flush=True)
    return failed


def _attempt(job: Job) -> tuple[str, int | None]:
    own = multiprocessing.get_context("spawn").Process(target=finish, args=(job,), daemon=True)
    own.start()
    own.join()
    return job.file.stem, own.exitcode


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """In good order, so that the processes of the runs end as well."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def finish(job: Job) -> Job:
    """Run what has not been run yet."""
    if not job.file.exists():
        import torch

        torch.set_num_threads(1)
        job.file.parent.mkdir(parents=True, exist_ok=True)
        state = job.file.with_suffix(".state")
        method, stream = job.start()
        result = run(method, stream, job.asked, state if job.is_long else None)
        _replace(job.file, json.dumps({**job.configuration, **result}).encode())
        state.unlink(missing_ok=True)
    return job


def run(
    method: Method, stream: Stream, asked: int = 400, state: Path | None = None
) -> dict[str, object]:
    """The accuracies along the way, and what it cost. Where the state is kept, a run that was
    killed goes on after the last session that it had finished."""
    course = Course(method)
    if state is not None and state.exists():
        course = pickle.loads(state.read_bytes())  # our own, beside the results
    pictures = sum(len(session.test_rows) for session in stream.sessions)
    every = max(1, pictures // asked)
    for session in stream.sessions[len(course.seconds) :]:
        _learn(course, stream, session, every, is_probed=state is not None)
        if state is not None:
            _replace(state, pickle.dumps(course))
    method = course.method
    sizes = [len(session.test_rows) for session in stream.sessions]
    return {
        **(confidence(method, stream) if isinstance(method, Confident) else {}),
        "last_accuracy": float(np.average(course.matrix[-1], weights=sizes)),
        "sizes": sizes,
        **{name: kept for name, kept in vars(course).items() if name != "method"},
        "state_bytes": method.state_bytes(),
        "classes": len(method.labels),
        "peak_memory_mb": peak_memory_mb(),
    }


def _learn(course: Course, stream: Stream, session: Session, every: int, is_probed: bool) -> None:
    method, number = course.method, len(course.seconds)
    is_probed = is_probed and isinstance(method, Embeds)
    if is_probed:
        if number == 0:
            course.untrained = [nearest_means(method, stream, own) for own in stream.sessions]
        course.untaught.append(nearest_means(method, stream, session))
    started = time.perf_counter()
    method.learn(stream, session)
    course.seconds.append(time.perf_counter() - started)
    if is_probed and method.labels:
        course.probe.append(linear_probe(method, stream, stream.sessions[0]))
    is_last = number == len(stream.sessions) - 1
    if not (is_last or method.labels):
        return  # it learns all at once, at the end
    seen = stream.sessions[: number + 1]
    found = [accuracies(method, stream, own, 1 if is_last else every) for own in seen]
    course.matrix.append([among_all for among_all, _ in found])
    course.within.append([within for _, within in found])
    if stream.is_domains:
        course.balanced.append(_balanced(method, stream))


def accuracies(method: Method, stream: Stream, session: Session, every: int) -> tuple[float, float]:
    """In per cent, on every so many of a session's test pictures: among all classes known, and
    among those of the session."""
    labels, truth = np.array(method.labels), session.test_labels[::every]
    scores = method.scores(stream.test, session.test_rows[::every])
    among_all = labels[scores.argmax(axis=1)] == truth
    is_own = np.isin(labels, session.labels)
    within = labels[is_own][scores[:, is_own].argmax(axis=1)] == truth
    return 100 * float(among_all.mean()), 100 * float(within.mean())


def _balanced(method: Method, stream: Stream) -> float:
    """Mean class accuracy on the test pictures of all sessions, those to come as well."""
    rows = np.concatenate([session.test_rows for session in stream.sessions])
    truth = np.concatenate([session.test_labels for session in stream.sessions])
    right = np.array(method.labels)[method.scores(stream.test, rows).argmax(axis=1)] == truth
    return 100 * float(np.mean([right[truth == label].mean() for label in np.unique(truth)]))


def average_accuracy(matrix: list[list[float]]) -> float:
    """Mean over the sessions of the accuracy on all that was taught until then."""
    return float(np.mean([np.mean(row) for row in matrix]))


def cumulative_accuracy(matrix: list[list[float]], sizes: list[int]) -> float:
    """The same where sessions differ in size: every picture counts as much."""
    return float(np.mean([np.average(row, weights=sizes[: len(row)]) for row in matrix]))


def _replace(file: Path, content: bytes) -> None:
    partial = file.with_name(file.name + ".partial")
    partial.write_bytes(content)
    partial.rename(file)

"""Work on other threads: one thing meanwhile, or many things in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from threading import Thread
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")

_LOOKAHEAD_PER_THREAD = 4


class Meanwhile(Generic[R]):
    """Begins a call at once, on a thread of its own; `result` waits for it."""

    def __init__(self, function: Callable[[], R]) -> None:
        self._result: list[R] = []
        self._error: Exception | None = None
        self._thread = Thread(target=self._run, args=(function,))
        self._thread.start()

    @property
    def failed(self) -> bool:
        return self._error is not None

    def result(self) -> R:
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._result[0]

    def _run(self, function: Callable[[], R]) -> None:
        try:
            self._result.append(function())
        except Exception as error:  # handed to whoever asks for the result
            self._error = error


def ordered_map(function: Callable[[T], R], items: Iterable[T], *, threads: int) -> Iterator[R]:
    """Results in the order of `items`, with a bounded number in flight: constant memory."""
    if threads == 1:
        yield from map(function, items)
        return
    from concurrent.futures import ThreadPoolExecutor  # one picture alone does not need it

    pending: deque[Future[R]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="prd-edge") as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) >= threads * _LOOKAHEAD_PER_THREAD:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:  # the consumer stopped early, or an item failed
            pool.shutdown(wait=True, cancel_futures=True)

"""A map over threads that keeps the order and looks only a little ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_LOOKAHEAD_PER_THREAD = 4


def ordered_map(function: Callable[[T], R], items: Iterable[T], *, threads: int) -> Iterator[R]:
    """Results in the order of `items`, with a bounded number in flight: constant memory."""
    if threads == 1:
        yield from map(function, items)
        return
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

"""Ways to disturb a writer at an operation: kill it, fail the disk, stop it."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from prd_edge import files

KILLED = -signal.SIGKILL
LONGEST = 600  # seconds; a child that hangs ends itself, and is found not to have been killed
CODES = (errno.ENOSPC, errno.EIO, errno.EROFS)


class Killed(BaseException):
    """Stands in for a kill where no process of its own is wanted: nothing may clean up."""


@contextmanager
def hooked(hook: Callable[[str, Path], None]) -> Iterator[None]:
    files.before_operation = hook
    try:
        yield
    finally:
        files.before_operation = files._do_nothing


@contextmanager
def interrupting(operation: str, name: str) -> Iterator[None]:
    """Stops at the first such operation, and does not let anything be cleaned up after it."""

    def stop(own: str, path: Path) -> None:
        nonlocal stopped
        stopped = stopped or (own, path.name) == (operation, name)
        if stopped:
            raise Killed

    stopped = False
    with hooked(stop):
        yield


@contextmanager
def failing_disk(code: int, fails: Callable[[int], bool]) -> Iterator[list[int]]:
    """Operations whose number `fails` picks raise an error; yields the numbers that did."""
    failed: list[int] = []
    seen = 0

    def fail(_: str, path: Path) -> None:
        nonlocal seen
        seen += 1
        if fails(seen - 1):
            failed.append(seen - 1)
            raise OSError(code, os.strerror(code), str(path))

    with hooked(fail):
        yield failed


def run_and_kill(run: Callable[[], object], at: int) -> bool:
    """Run in a child process that is killed just before its operation number `at`."""
    child = os.fork()
    if child == 0:
        signal.alarm(LONGEST)
        seen = 0

        def kill_at(_: str, __: Path) -> None:
            nonlocal seen
            if seen == at:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1

        files.before_operation = kill_at
        try:
            run()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == KILLED

"""`prd-edge` in this process, with what every outcome must be like, whatever was given."""

from __future__ import annotations

import hashlib
import io
import signal
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from prd_edge.cli.main import _run

WATCHDOG = 60  # seconds: only to tell a hang from a slow machine
UNEXPECTED = 1


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def complaints(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("prd-edge: ")]


class HangError(BaseException):
    """Not an `Exception`: nothing on the way may take it for a fault of its own."""


@contextmanager
def watchdog(seconds: int = WATCHDOG) -> Iterator[None]:
    def bark(*_: object) -> None:
        raise HangError(f"still running after {seconds} s")

    before = signal.signal(signal.SIGALRM, bark)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run(*arguments: object, stdin: str = "") -> Outcome:
    """To its end, and clean: a known exit code, one line for a failure, nothing for a terminal
    to stumble over."""
    out, err = io.StringIO(), io.StringIO()
    given = [str(argument) for argument in arguments]
    with (
        watchdog(),
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "stdin", io.StringIO(stdin)),
    ):
        code = _run(given)
    outcome = Outcome(code, out.getvalue(), err.getvalue())
    assert_clean(outcome, given)
    return outcome


def assert_clean(outcome: Outcome, given: object = "") -> None:
    told = (given, outcome)
    assert outcome.code in (0, 2, 3, 4, 5), told
    assert "Traceback" not in outcome.out + outcome.err, told
    assert "PRD_EDGE_DEBUG" not in outcome.err, told
    for line in (outcome.out + outcome.err).split("\n"):
        assert is_harmless(line), told
    if outcome.code in (4, 5):
        assert outcome.complaints, told


def fingerprint(folder: Path) -> dict[str, str]:
    """Every name below it, and what it is."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "something else"
    return found


def is_harmless(line: str) -> bool:
    """Nothing in it that a terminal would obey, but joiners and spaces of all scripts."""
    return all(
        c.isprintable() or c in "\u200c\u200d" or unicodedata.category(c) == "Zs" for c in line
    )


def assert_short(error: Exception) -> None:
    """It says something, and not all that a hostile file says."""
    assert 0 < len(str(error)) < 1000

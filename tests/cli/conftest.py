"""The command line with a store that must come out of every failure byte for byte the same."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from prd_edge import Runtime

from ..conftest import COLOURS, picture

LARGE = 100_000  # files of a store that are shared between tests instead of copied


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def complaints(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.strip()]


def fingerprint(store: Path) -> dict[str, str]:
    """Every file of a store and the sha256 of its bytes."""
    return {
        str(path.relative_to(store)): _sha256(path)
        for path in sorted(store.rglob("*"))
        if path.is_file()
    }


_known: dict[tuple[int, ...], str] = {}


def _sha256(path: Path) -> str:
    """Large files are shared by all copies of the store; each is read once while it is the same."""
    status = path.stat()
    identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if status.st_size < LARGE or identity not in _known:
        _known[identity] = hashlib.sha256(path.read_bytes()).hexdigest()
    return _known[identity]


def share_store(source: Path, target: Path) -> Path:
    """A copy of a store that shares the large files, which nobody may change in place."""

    def copy(old: str, new: str) -> str:
        if os.path.getsize(old) > LARGE:
            os.link(old, new)
            return new
        return shutil.copy2(old, new)

    shutil.copytree(source, target, copy_function=copy)
    return target


def rewrite(path: Path, data: bytes) -> None:
    """Put other bytes at `path` without touching the files that share the old ones."""
    path.unlink()
    path.write_bytes(data)


def flip_a_bit(path: Path, at: float = 0.5, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[min(int(len(data) * at), len(data) - 1)] ^= 1 << bit
    rewrite(path, bytes(data))


def temporaries(store: Path) -> list[str]:
    found = [path.name for path in store.rglob("*") if path.name.startswith(".tmp")]
    return found + [path.name for path in store.glob("*.holder")]


def assert_answers(store: Path, label: str = "red") -> str:
    """The store still predicts; returns the version that answered."""
    answer = Runtime.open(store).predict(picture(COLOURS[label], 999))
    assert answer.label == label
    return answer.version


@pytest.fixture(scope="session")
def untouched(taught_once: Path) -> Iterator[Path]:
    """The store that the others are copies of. It is checked once more at the very end."""
    before = fingerprint(taught_once)
    assert_answers(taught_once)
    yield taught_once
    _known.clear()
    assert fingerprint(taught_once) == before


@pytest.fixture
def store(untouched: Path, tmp_path: Path) -> Path:
    """Versions 1 (no class), 2 (blue, green) and 3 (and red), to be changed or damaged."""
    return share_store(untouched, tmp_path / "store")


@pytest.fixture(scope="session")
def empty_store(untouched: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that knows no class: version 1 alone. Only for reading."""
    path = share_store(untouched, tmp_path_factory.mktemp("empty") / "store")
    Runtime.open(path).rollback("1")
    return path


Command = Callable[..., Outcome]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `prd-edge` in this process."""
    from prd_edge.cli.main import _run

    def run(*arguments: object, stdin: str = "") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = _run([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def refused(command: Command, store: Path) -> Callable[..., Outcome]:
    """Runs a command that must fail with one clear line and leave the store alone."""

    def run(*arguments: object, code: int, says: tuple[str, ...] = (), stdin: str = "") -> Outcome:
        before = fingerprint(store)
        outcome = command(*arguments, stdin=stdin)
        assert_refused(outcome, code, says)
        assert fingerprint(store) == before
        assert temporaries(store) == []
        return outcome

    return run


def assert_refused(outcome: Outcome, code: int, says: tuple[str, ...] = ()) -> None:
    assert "Traceback" not in outcome.err
    assert outcome.code == code, outcome.err
    assert outcome.out == ""
    for words in says:
        assert words in outcome.err
    assert len(outcome.complaints) == 1, outcome.err
    assert outcome.complaints[0].startswith("prd-edge: ")
    assert "unexpected" not in outcome.err
    assert outcome.complaints[0].isprintable()


def start_process(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
    """`prd-edge` as a process of its own. The caller ends it."""
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([sys.executable, "-m", "prd_edge", *map(str, arguments)], **settings)


def process(*arguments: object, stdin: bytes = b"", **options: object) -> Outcome:
    """`prd-edge` as a process of its own, to its end."""
    with start_process(*arguments, stdin=subprocess.PIPE, **options) as running:
        try:
            out, err = running.communicate(stdin, timeout=60)
        except subprocess.TimeoutExpired:
            running.kill()
            raise
    return Outcome(running.returncode, out.decode(), err.decode())


@contextmanager
def mounted(place: Path, *arguments: str) -> Iterator[Path]:
    """A mount for as long as it is needed; the test is skipped where that is not permitted."""
    place.mkdir(exist_ok=True)
    tool = shutil.which("mount")
    if tool is None or sys.platform != "linux":
        pytest.skip("there is no mount command")
    done = subprocess.run(
        [tool, *arguments, str(place)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"mounting is not permitted: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)

"""The only module that writes to a store, and everything it does is durable.

A rename without an fsync is not: after a power cut the name may stand over missing bytes. So a
file is synced before anything points at it, and a directory after every change of its names.

Each mutating operation first calls `before_operation`. Tests replace it to stop, fail or record
the writer at any point; in use it does nothing.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from prd_edge import system_errors
from prd_edge.errors import StoreError, StoreLockedError
from prd_edge.plain_file import read_plain_file

explained = system_errors.explained

_LINKS_UNSUPPORTED = {
    *(errno.EPERM, errno.EACCES, errno.EXDEV, errno.EMLINK),
    *(errno.EINVAL, errno.ENOTSUP, errno.ENOSYS),
}
_SYNC_UNSUPPORTED = {errno.EINVAL, errno.ENOTSUP}
_LOCK_ATTEMPTS = 100


def _do_nothing(operation: str, path: Path) -> None:
    """Stand-in for the fault hook of the tests."""


before_operation: Callable[[str, Path], None] = _do_nothing


def write_file(path: Path, data: bytes) -> None:
    """Create `path` with `data`, synced to disk. The directory entry is not synced yet."""
    before_operation("create", path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        view = memoryview(data)
        while view:
            before_operation("write", path)
            view = view[os.write(descriptor, view) :]
        before_operation("fsync", path)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def link_file(source: Path, target: Path) -> None:
    """Give the unchanged bytes of `source` a second name; copy where links are not supported."""
    before_operation("link", target)
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _LINKS_UNSUPPORTED:
            raise
        write_file(target, source.read_bytes())


def make_directory(path: Path) -> list[Path]:
    """Create `path` and its missing parents, each synced in its own parent; returns the new ones,
    the innermost first."""
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for directory in reversed(missing):
        before_operation("mkdir", directory)
        directory.mkdir(exist_ok=True)
        sync_directory(directory.parent)
    return missing


def sync_directory(path: Path) -> None:
    before_operation("fsync", path)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network and FUSE file systems cannot sync a directory, and keep its names in their
        # own way. As SQLite does: the store is of use there too.
        if error.errno not in _SYNC_UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)


def rename(source: Path, target: Path) -> None:
    """Rename within one directory, and sync the directory."""
    before_operation("rename", target)
    os.rename(source, target)
    sync_directory(target.parent)


def replace_file(path: Path, data: bytes) -> None:
    """Put `data` at `path` so that every reader sees the old bytes or the new ones, whole."""
    replace_files({path: data})


def replace_files(contents: Mapping[Path, bytes], *, writer: str = "") -> None:
    """The same for several that belong together: none is put in place before all are on disk.

    `writer` tells those apart that may write to one place at the same time, where no lock does.
    """
    puts = {path: partial(write_file, data=data) for path, data in contents.items()}
    _replace(puts, writer)


def replace_by_link(path: Path, source: Path) -> None:
    """The same, with the bytes of a file that is there already."""
    _replace({path: partial(link_file, source)})


def _replace(puts: Mapping[Path, Callable[[Path], None]], writer: str = "") -> None:
    temporaries = {path: path.with_name(f".tmp-{writer}{path.name}") for path in puts}
    try:
        for path, put in puts.items():
            remove_file(temporaries[path])
            put(temporaries[path])
        for path, temporary in temporaries.items():
            rename(temporary, path)
    except (OSError, KeyboardInterrupt):
        for temporary in temporaries.values():
            with suppress(OSError):
                remove_file(temporary)
        raise


def remove_file(path: Path) -> None:
    if path.is_symlink() or path.exists():
        before_operation("unlink", path)
        path.unlink()


def remove_tree(path: Path) -> None:
    """Remove a directory that nothing points at any more; of a link, the link alone."""
    if path.is_symlink() or not path.is_dir():
        remove_file(path)
        return
    for child in sorted(path.iterdir()):
        remove_tree(child)
    remove_empty_directory(path)


def remove_empty_directory(path: Path) -> None:
    before_operation("rmdir", path)
    path.rmdir()


@contextmanager
def writer_lock(path: Path) -> Iterator[None]:
    """Be the only writer, or say at once who is. The operating system drops a dead one's lock."""
    holder = _holder_of(path)
    descriptor = _lock(path)
    if descriptor is None:
        raise StoreLockedError(
            f"the store {path.parent} is being written by another process ({_read(holder)}); "
            "wait until it has finished and try again"
        )
    try:
        with suppress(OSError, ValueError):  # only a courtesy to the next writer
            holder.unlink(missing_ok=True)  # it might be a pipe, or a link to a file of value
            holder.write_text(_myself(), encoding="utf-8")
        yield
    finally:
        with suppress(OSError):
            holder.unlink(missing_ok=True)
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a forked child may hold a copy of the descriptor
        os.close(descriptor)


def remove_lock(path: Path) -> None:
    """Remove the lock that is held, with all that belongs to it."""
    remove_file(_holder_of(path))
    remove_file(path)


def _holder_of(lock: Path) -> Path:
    return lock.with_name(f"{lock.name}.holder")


def _myself() -> str:
    command = Path(*sys.argv[:1]).name or "python"  # an embedding program may give no arguments
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    return _printable(f"{command}, process {os.getpid()} on {socket.gethostname()}, since {since}")


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _lock(path: Path) -> int | None:
    """A descriptor that holds the lock, or None where another process does."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    for _ in range(_LOCK_ATTEMPTS):
        descriptor = os.open(path, flags, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except FileNotFoundError:
            pass
        os.close(descriptor)  # the file was removed by its last holder meanwhile: try anew
    raise StoreError(
        f"cannot lock {path}: what is opened is never what stands there; choose a place on another "
        "file system"
    )


def _read(holder: Path) -> str:
    try:
        text = read_plain_file(holder, most=4096).decode(errors="replace")
        first, *_ = text.splitlines() or [""]
    except OSError:
        first = ""
    return _printable(first[:200]) or "unknown"

"""Errors of the operating system, as a line for people."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prd_edge.errors import StoreError

CAUSES = {
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "the disk quota is used up; free some space and try again",
    errno.EROFS: "the file system is read-only; choose a writable place (--store, --output)",
    errno.EACCES: "permission denied; check who owns the folder",
    errno.EPERM: "not permitted; check who owns the folder",
    errno.EIO: "the disk reported an input/output error; check the hardware",
    errno.EMFILE: "too many files are open in this process; close some and try again",
    errno.ENFILE: "too many files are open on this machine; close some and try again",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.ELOOP: "there is a link where a file should be; remove it",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one (--store, --output)",
}


@contextmanager
def explained(path: Path, action: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        cause = CAUSES.get(error.errno or 0, error.strerror or str(error))
        raise StoreError(f"cannot {action} {path}: {cause}") from error


def is_hardware(error: Exception) -> bool:
    """Whether the disk itself is behind an explained error: trying again is of no use."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EIO

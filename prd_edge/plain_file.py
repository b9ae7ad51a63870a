"""Reading a file that somebody else may have put there: no pipe, no device, nothing endless."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


class NotPlainError(OSError):
    """There is something, but not a regular file of a size that can be."""


def read_plain_file(path: Path, most: int, *, follow_link: bool = False) -> bytes:
    """The bytes of a regular file, or `OSError`. A file of more than `most` is not read."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow_link else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a link; a socket
            reason = "it is a link, not a file" if path.is_symlink() else "it is no regular file"
            raise NotPlainError(error.errno, reason, str(path)) from None
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
            raise NotPlainError(errno.EINVAL, f"it is {kind}", str(path))
        if status.st_size > most:
            reason = f"it has {status.st_size:,} bytes, and at most {most:,} were expected"
            raise NotPlainError(errno.EFBIG, reason, str(path))
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read(status.st_size)
    finally:
        os.close(descriptor)

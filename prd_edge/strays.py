"""What does not belong in a store's folders, unless a writer is at work with it.

While somebody writes, unfinished files come and go. So whatever is found is looked at more than
once, and what bears the name of unfinished work counts only if nobody holds the lock: a leftover
then, which the next change would remove.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from prd_edge.errors import StoreError
from prd_edge.kept_version import TEMPORARY, VERSION_NAME
from prd_edge.plain_file import read_plain_file
from prd_edge.pointer import pointer_in
from prd_edge.store import MANIFEST, Store

_LOOKS = 5
_SECONDS_BETWEEN = 0.05
_LONGEST_HOLDER = 400  # bytes of the line that says who is writing


def strays(store: Store, files: Collection[str]) -> set[Path]:
    """What is none of these files of a version, and none of the store's own. A link never is."""
    found = set(_look(store, files))
    for _ in range(_LOOKS):
        if not found:
            break
        time.sleep(_SECONDS_BETWEEN)
        found.intersection_update(_look(store, files))
        # Not asked before something is there: for that moment no writer could begin.
        if any(_is_unfinished(store, path) for path in found) and _is_being_written(store):
            found = {path for path in found if not _is_unfinished(store, path)}
    return found


def _look(store: Store, files: Collection[str]) -> Iterator[Path]:
    readable = {version.name for version in store.readable_versions()}
    for path in store.path.iterdir():
        if path == store.versions:
            is_known = not path.is_symlink()
        elif path == store.checkpoint:
            is_known = True  # the inventory looks into it
        else:
            is_known = _is_own(path)
        if not is_known:
            yield path
    for path in store.versions.iterdir():
        if path.name not in readable:
            yield path
            continue
        with suppress(FileNotFoundError):  # removed meanwhile
            yield from (own for own in path.iterdir() if own.name not in {MANIFEST, *files})


def _is_own(path: Path) -> bool:
    """Whether it is one of the store's few small files, and holds what that may hold."""
    try:
        match path.name:
            case "CURRENT" | "CURRENT.copy":
                return not path.is_symlink() and pointer_in(path) is not None
            case "LOCK":
                status = path.lstat()
                return stat.S_ISREG(status.st_mode) and status.st_size == 0
            case "LOCK.holder":
                text = read_plain_file(path, most=_LONGEST_HOLDER).decode()
                return text.removesuffix("\n").isprintable()
    except FileNotFoundError:  # its writer has just finished
        return True
    except (OSError, StoreError, UnicodeDecodeError):
        pass
    return False


def _is_unfinished(store: Store, path: Path) -> bool:
    """By its name: a file or folder to be renamed, or a version that CURRENT does not know yet."""
    pointer = store.pointer()
    is_version = path.parent == store.versions and VERSION_NAME.fullmatch(path.name)
    is_new = bool(is_version) and pointer is not None and path.name > pointer.newest
    return is_new or path.name.startswith(TEMPORARY)


def _is_being_written(store: Store) -> bool:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(store.path / "LOCK", flags)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)  # and with it the lock
    return False

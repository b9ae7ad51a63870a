"""Clearing up after a writer that was cut off, and the steps of a writer that this relies on."""

from __future__ import annotations

import re
from pathlib import Path

from prd_edge import files
from prd_edge.errors import StoreError
from prd_edge.kept_version import TEMPORARY, doomed_of, draft_of, is_lost, open_version
from prd_edge.pointer import Pointer, pointer_in
from prd_edge.store import Store

# Only names that a writer gives: others are somebody else's.
_UNFINISHED = re.compile(r"\.tmp-(removed-)?[0-9]{6}")
_DOOMED = re.compile(r"\.tmp-removed-([0-9]{6})")


def recover(store: Store) -> None:
    """Remove unfinished work, and make CURRENT and its copy right again."""
    for file in (store.current, store.copy, store.checkpoint):
        files.remove_file(file.with_name(f"{TEMPORARY}{file.name}"))
    _finish_rewriting(store)
    for path in sorted(store.versions.iterdir()):
        if _UNFINISHED.fullmatch(path.name):
            files.remove_tree(path)
    for name in store.complete_names():
        folder = store.versions / name
        if not folder.is_symlink():
            for path in sorted(folder.glob(f"{TEMPORARY}*")):  # of a repair
                files.remove_file(path)
    names = store.complete_names()
    pointer = store.pointer()
    if pointer is None:
        if names:
            point(store, store.newest_good().name, names[-1])
        return
    keep_pointing(store, pointer)  # before anything is removed that a stale copy may name
    for name in names:
        if name > pointer.newest:
            remove_version(store.versions / name)


def point(store: Store, live: str, newest: str) -> None:
    """Name the live version. The copy comes first: see `pointer.py`."""
    data = Pointer(live, newest).to_bytes()
    files.replace_files({store.copy: data, store.current: data})


def keep_pointing(store: Store, pointer: Pointer) -> None:
    """Put right what does not say so."""
    if not all(_is_right(path, pointer) for path in (store.current, store.copy)):
        point(store, *pointer)


def remove_version(path: Path) -> None:
    # Renamed first: a reader never meets a version with some of its files gone.
    files.rename(path, doomed_of(path))
    files.remove_tree(doomed_of(path))


def _is_right(path: Path, pointer: Pointer) -> bool:
    try:
        return pointer_in(path) == pointer
    except StoreError:
        return False


def _finish_rewriting(store: Store) -> None:
    """A version that has gone already has its successor put in its place, if that is whole, or is
    put back."""
    for doomed in sorted(store.versions.iterdir()):
        match = _DOOMED.fullmatch(doomed.name)
        path = store.versions / match[1] if match else doomed
        draft = draft_of(path)
        if not path.exists() and draft.exists():
            files.rename(draft if _is_whole(draft, path.name) else doomed, path)


def _is_whole(draft: Path, name: str) -> bool:
    try:
        return open_version(draft, name).is_good()
    except FileNotFoundError:
        return False
    except StoreError as error:
        if is_lost(error):
            return False
        raise

"""The store as readers see it: numbered versions that never change, and CURRENT.

    store/CURRENT            names the live version; replaced atomically, last
    store/CURRENT.copy       the same once more, for when CURRENT is damaged
    store/LOCK               held by the one writer
    store/versions/000007/   manifest.json and the files it lists

Readers take no lock: a version is complete before CURRENT names it, and each file is checked
against its sha256 before it is used. Writing is in `commit.py`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from prd_edge.errors import InvalidInputError, StoreChangedError, StoreCorruptError, StoreError
from prd_edge.kept_version import (
    ENCODER_GRAPH,
    GO_BACK,
    MANIFEST,
    PREPROCESS_GRAPH,
    VERSION_NAME,
    Version,
    is_lost,
    open_version,
)
from prd_edge.pointer import Pointer, pointer_in, pointer_of
from prd_edge.system_errors import explained

__all__ = ["ENCODER_GRAPH", "MANIFEST", "PREPROCESS_GRAPH", "Store", "Version"]


class Store:
    def __init__(self, path: Path | str) -> None:
        if "\0" in str(path):
            raise InvalidInputError(f"{str(path)!r} cannot be the name of a store")
        self.path = Path(path)
        self.versions = self.path / "versions"
        self.current = self.path / "CURRENT"
        self.copy = self.path / "CURRENT.copy"
        self.checkpoint = self.path / "checkpoint"  # of a session that was cut off

    def exists(self) -> bool:
        return self.pointer() is not None or bool(self.complete_names())

    def live(self) -> Version:
        """The live version. Without CURRENT and its copy the newest good one stands in."""
        missing = ""
        while (pointer := self.pointer()) is not None:
            with suppress(FileNotFoundError):
                return self._open(pointer.live)
            if pointer.live == missing:
                raise StoreCorruptError(
                    f"version {missing}, which CURRENT names, is missing from {self.versions}; "
                    + GO_BACK
                )
            missing = pointer.live  # gc may have removed it since; CURRENT has moved then
        return self.newest_good()

    def version(self, name: str) -> Version:
        wanted, names = name.zfill(6), self.version_names()
        if not names:
            raise self._no_store()
        # It may be on no list for a moment, while it is rewritten.
        if VERSION_NAME.fullmatch(wanted) and wanted <= max(names):
            with suppress(FileNotFoundError):
                return self._open(wanted)
        known = ", ".join(names)
        raise InvalidInputError(f"no version {name!r} in {self.path}; there are: {known}")

    def version_names(self) -> list[str]:
        """Committed versions, oldest first."""
        pointer = self.pointer()
        names = self.complete_names()
        return [name for name in names if pointer is None or name <= pointer.newest]

    def readable_versions(self) -> Iterator[Version]:
        """Committed versions whose manifest is intact, oldest first."""
        yield from self._opened(self.version_names())

    def _opened(self, names: Iterable[str]) -> Iterator[Version]:
        for name in names:
            try:
                yield self._open(name)
            except FileNotFoundError:  # removed meanwhile
                continue
            except StoreError as error:
                if not is_lost(error):
                    raise

    def problems(self) -> dict[str, list[str]]:
        """By version, what `verify` found; the store itself under its own path."""
        found: dict[str, list[str]] = {}
        if problems := list(self._problems_of_current()):
            found[str(self.path)] = problems
        for name in self.version_names():
            of_version = self._problems_of(name)
            if of_version is not None:
                found[name] = of_version
        return found

    def _problems_of(self, name: str) -> list[str] | None:
        """None where the version is removed meanwhile; one that is rewritten is looked at anew."""
        try:
            return self._open(name).problems()
        except FileNotFoundError:
            return None
        except StoreChangedError:
            return self._problems_of(name)
        except StoreError as error:
            return [str(error)]

    def is_still(self, version: Version) -> bool:
        """Whether it is there as it was opened."""
        try:
            return self._open(version.name).manifest == version.manifest
        except (FileNotFoundError, StoreError):
            return False

    def _problems_of_current(self) -> Iterator[str]:
        for path in (self.current, self.copy):
            try:
                is_wrong = pointer_in(path) is None
            except StoreError as error:
                yield str(error)
                continue
            # Stores of before have no copy, nor have backups: the next change makes it.
            if is_wrong and (path == self.current or os.path.lexists(path)):
                yield f"{path} is damaged or missing; the next change, or --repair, mends it"
        if missing := self._missing_live():
            yield f"version {missing}, which CURRENT names, is missing"

    def _missing_live(self) -> str | None:
        pointer = self.pointer()
        if pointer is None or pointer.live in self.complete_names():
            return None
        if self.pointer() != pointer:  # gc removed that version since; CURRENT has moved then
            return self._missing_live()
        return pointer.live

    def bytes_on_disk(self) -> int:
        """Unchanged files are shared between versions and counted once."""
        sizes = {}
        for path in self.path.rglob("*"):
            with suppress(FileNotFoundError):  # removed meanwhile
                status = path.lstat()
                if stat.S_ISREG(status.st_mode):
                    sizes[status.st_dev, status.st_ino] = status.st_size
        return sum(sizes.values())

    def complete_names(self) -> list[str]:
        with explained(self.versions, "read"):
            try:
                found = [path.name for path in self.versions.iterdir()]
            except (FileNotFoundError, NotADirectoryError):
                return []
        return sorted(name for name in found if VERSION_NAME.fullmatch(name))

    def pointer(self) -> Pointer | None:
        return pointer_of(self.current, self.copy, self.versions)

    def _open(self, name: str) -> Version:
        return open_version(self.versions / name, name)

    def newest_good(self) -> Version:
        names = self.complete_names()
        for version in self._opened(reversed(names)):
            with suppress(StoreChangedError):
                if version.is_good():
                    return version
        if names:
            raise StoreCorruptError(f"no version of {self.path} is intact; restore it from a copy")
        raise self._no_store()

    def _no_store(self) -> StoreError:
        return StoreError(
            f"there is no store at {self.path}; make one with 'prd-edge init' or "
            "'prd-edge learn-session', or name another with --store"
        )


def is_store(folder: Path) -> bool:
    with suppress(StoreError):  # what cannot be read is not known to be one
        return Store(folder).exists()
    return False

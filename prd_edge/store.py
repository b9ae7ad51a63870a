"""The store as readers see it: numbered versions that never change, and CURRENT.

    store/CURRENT            names the live version; replaced atomically, last
    store/LOCK               held by the one writer
    store/versions/000007/   manifest.json and the files it lists

Readers take no lock: a version is complete before CURRENT names it, and each file is checked
against its sha256 before it is used. Writing is in `commit.py`.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from prd_edge.errors import InvalidInputError, StoreCorruptError, StoreError
from prd_edge.manifest import FileRecord, Manifest
from prd_edge.plain_file import NotPlainError, read_plain_file
from prd_edge.pointer import Pointer

MANIFEST = "manifest.json"
PREPROCESS_GRAPH = "preprocess.onnx"
ENCODER_GRAPH = "encoder.onnx"
_LARGEST_MANIFEST = 64 * 2**20
_LARGEST_POINTER = 1024
_VERSION_NAME = re.compile(r"\d{6}")
_GO_BACK = (
    "run 'prd-edge verify --repair' to mend it, or 'prd-edge rollback' to return to the last good "
    "version"
)


class Version(NamedTuple):
    """One version on disk, its manifest checked. Files are checked as they are read."""

    path: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        return self.manifest.version

    def read(self, file: str) -> bytes:
        try:
            record = self.manifest.files[file]
            data = read_plain_file(self.path / file, most=record.size)
        except KeyError:
            raise StoreCorruptError(f"version {self.name} lists no {file}") from None
        except FileNotFoundError:
            raise StoreCorruptError(self._damage(file, "it is missing")) from None
        except OSError as error:
            raise StoreCorruptError(self._damage(file, error.strerror or str(error))) from error
        if FileRecord.of(data) != record:
            detail = f"{len(data)} of {record.size} bytes" if len(data) != record.size else "sha256"
            raise StoreCorruptError(self._damage(file, f"{detail} does not match the manifest"))
        return data

    def lineage(self) -> list[Version]:
        """This version and those it came from, as far back as they are kept; oldest first."""
        kept = {own.name: own for own in Store(self.path.parents[1]).readable_versions()}
        line = [self]
        while (parent := kept.pop(line[-1].manifest.parent or "", None)) is not None:
            line.append(parent)
        return line[::-1]

    def problems(self) -> list[str]:
        """Every file that is not what was written, and every file that does not belong."""
        strangers = {path.name for path in self.path.iterdir()} - {MANIFEST, *self.manifest.files}
        return self.damage() + [
            f"{self.path / name} does not belong to the store" for name in sorted(strangers)
        ]

    def damage(self) -> list[str]:
        """Every file that is not what was written."""
        found = []
        for file in self.manifest.files:
            try:
                self.read(file)
            except StoreCorruptError as error:
                found.append(str(error))
        return found

    def _damage(self, file: str, detail: str) -> str:
        return f"{self.path / file} is damaged: {detail}; {_GO_BACK}"


class Store:
    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.versions = self.path / "versions"
        self.current = self.path / "CURRENT"
        self.checkpoint = self.path / "checkpoint"  # of a session that was cut off

    def exists(self) -> bool:
        return self.pointer() is not None or bool(self.complete_names())

    def live(self) -> Version:
        """The live version. Survives a damaged CURRENT: the newest good version stands in."""
        missing = ""
        while (pointer := self.pointer()) is not None:
            with suppress(FileNotFoundError):
                return self._open(pointer.live)
            if pointer.live == missing:
                raise StoreCorruptError(
                    f"version {missing}, which CURRENT names, is missing from {self.versions}; "
                    + _GO_BACK
                )
            missing = pointer.live  # gc may have removed it since; CURRENT has moved then
        return self.newest_good()

    def version(self, name: str) -> Version:
        wanted, names = name.zfill(6), self.version_names()
        if not names:
            raise self._no_store()
        if wanted not in names:
            known = ", ".join(names)
            raise InvalidInputError(f"no version {name!r} in {self.path}; there are: {known}")
        return self._open(wanted)

    def version_names(self) -> list[str]:
        """Committed versions, oldest first."""
        pointer = self.pointer()
        names = self.complete_names()
        return [name for name in names if pointer is None or name <= pointer.newest]

    def readable_versions(self) -> Iterator[Version]:
        """Committed versions whose manifest is intact, oldest first."""
        for name in self.version_names():
            with suppress(StoreCorruptError, FileNotFoundError):
                yield self._open(name)

    def problems(self) -> dict[str, list[str]]:
        """By version, what `verify` found; the store itself under its own path."""
        found: dict[str, list[str]] = {}
        if problem := self._problem_of_current():
            found[str(self.path)] = [problem]
        for name in self.version_names():
            problems = self._problems_of(name)
            if problems is not None:
                found[name] = problems
        return found

    def _problems_of(self, name: str) -> list[str] | None:
        """None where the version is removed meanwhile; one that is rewritten is looked at anew."""
        try:
            version = self._open(name)
            problems = version.problems()
        except FileNotFoundError:
            return None
        except StoreError as error:
            return [str(error)] if (self.versions / name).exists() else None
        if not problems or self.is_still(version):
            return problems
        return self._problems_of(name)

    def is_still(self, version: Version) -> bool:
        """Whether it is there as it was opened."""
        try:
            return self._open(version.name).manifest == version.manifest
        except (FileNotFoundError, StoreError):
            return False

    def _problem_of_current(self) -> str | None:
        pointer = self.pointer()
        if pointer is None:
            return f"{self.current} is damaged or missing"
        if pointer.live in self.complete_names():
            return None
        if self.pointer() != pointer:  # gc removed that version since; CURRENT has moved then
            return self._problem_of_current()
        return f"version {pointer.live}, which CURRENT names, is missing"

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
        try:
            return sorted(
                path.name for path in self.versions.iterdir() if _VERSION_NAME.fullmatch(path.name)
            )
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise StoreError(f"cannot read {self.versions}: {error.strerror}") from error

    def pointer(self) -> Pointer | None:
        try:
            return Pointer.from_bytes(read_plain_file(self.current, most=_LARGEST_POINTER))
        except (FileNotFoundError, NotADirectoryError, NotPlainError):
            return None
        except OSError as error:
            raise StoreError(f"cannot read {self.current}: {error.strerror}") from error

    def _open(self, name: str) -> Version:
        path = self.versions / name
        if path.is_symlink():
            raise StoreCorruptError(f"{path} is a link, not a folder; {_GO_BACK}")
        try:
            manifest = Manifest.from_bytes(read_plain_file(path / MANIFEST, most=_LARGEST_MANIFEST))
        except FileNotFoundError:
            if not path.exists():
                raise
            raise StoreCorruptError(f"{path / MANIFEST} is missing; {_GO_BACK}") from None
        except OSError as error:
            message = f"{path / MANIFEST} is damaged: {error.strerror}; {_GO_BACK}"
            raise StoreCorruptError(message) from error
        except StoreCorruptError as error:
            message = f"{path / MANIFEST} is damaged: {error}; {_GO_BACK}"
            raise StoreCorruptError(message) from error
        if manifest.version != name:
            raise StoreCorruptError(
                f"{path / MANIFEST} belongs to version {manifest.version}; {_GO_BACK}"
            )
        return Version(path, manifest)

    def newest_good(self) -> Version:
        names = self.complete_names()
        for name in reversed(names):
            with suppress(StoreCorruptError, FileNotFoundError):
                version = self._open(name)
                if not version.damage():
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

"""One version on disk: a folder with a manifest and the files it lists.

A file is damaged if it is missing, or is not what was written. One that merely cannot be read, for
want of a permission, say, is not: it may be whole, and nothing is done about it but to say so.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from prd_edge.errors import StoreChangedError, StoreCorruptError, StoreError
from prd_edge.manifest import FileRecord, Manifest
from prd_edge.plain_file import NotPlainError, read_plain_file
from prd_edge.system_errors import explained, is_hardware

MANIFEST = "manifest.json"
TEMPORARY = ".tmp-"
PREPROCESS_GRAPH = "preprocess.onnx"
ENCODER_GRAPH = "encoder.onnx"
_LARGEST_MANIFEST = 64 * 2**20
VERSION_NAME = re.compile(r"[0-9]{6}")
_PATIENCE = 100  # hundredths of a second
GO_BACK = (
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
        """The bytes that the manifest promises, or `StoreChangedError` where `forget` has put
        others in their place since this was opened."""
        version = self
        while True:
            try:
                return version._read(file)
            except StoreCorruptError:
                now = version.as_it_is()
                if now.manifest.files.get(file) != self.manifest.files.get(file):
                    raise self._changed() from None
                if now.manifest == version.manifest:
                    raise
                version = now  # it was away for the moment in which it was rewritten

    def _read(self, file: str) -> bytes:
        path = self.path / file
        with explained(path, "read"):
            try:
                record = self.manifest.files[file]
                data = read_plain_file(path, most=record.size)
            except KeyError:
                raise StoreCorruptError(f"version {self.name} lists no {file}") from None
            except FileNotFoundError:
                raise StoreCorruptError(self._damage(file, "it is missing")) from None
            except (NotPlainError, NotADirectoryError) as error:
                raise StoreCorruptError(self._damage(file, str(error.strerror))) from error
        if FileRecord.of(data) != record:
            detail = f"{len(data)} of {record.size} bytes" if len(data) != record.size else "sha256"
            raise StoreCorruptError(self._damage(file, f"{detail} does not match the manifest"))
        return data

    def as_it_is(self) -> Version:
        """Opened anew."""
        try:
            return open_version(self.path, self.name)
        except FileNotFoundError:
            raise self._changed() from None

    def lineage(self) -> list[Version]:
        """This version and those it came from, as far back as they are kept; oldest first."""
        line = [self]
        while (parent := line[-1].manifest.parent or "") < line[-1].name:
            if not VERSION_NAME.fullmatch(parent):
                break
            try:
                line.append(open_version(self.path.with_name(parent), parent))
            except FileNotFoundError:
                break
            except StoreError as error:
                if not is_lost(error):
                    raise
                break
        return line[::-1]

    def problems(self) -> list[str]:
        """Every file that is not what was written, and every file that does not belong."""
        with explained(self.path, "read"):
            try:
                there = {path.name for path in self.path.iterdir()}
            except FileNotFoundError:
                raise self._changed() from None
        strangers = there - {MANIFEST, *self.manifest.files}
        return self.damage() + [
            f"{self.path / name} does not belong to the store" for name in sorted(strangers)
        ]

    def damage(self) -> list[str]:
        """Every file that is not what was written, or cannot be read."""
        return [str(error) for error in self.faults()]

    def faults(self) -> Iterator[StoreError]:
        for file in self.manifest.files:
            try:
                self.read(file)
            except StoreChangedError:
                raise
            except StoreError as error:
                yield error

    def is_good(self) -> bool:
        """Whether the disk still has every byte; an error where that cannot be told."""
        for fault in self.faults():
            if is_lost(fault):
                return False
            raise fault
        return True

    def _changed(self) -> StoreChangedError:
        what = f"version {self.name} was rewritten or removed by another process meanwhile"
        return StoreChangedError(f"{what}; try again")

    def _damage(self, file: str, detail: str) -> str:
        return f"{self.path / file} is damaged: {detail}; {GO_BACK}"


def is_lost(error: StoreError) -> bool:
    """Whether a file is not to be had any more, as far as can be told from here."""
    return isinstance(error, StoreCorruptError) or is_hardware(error)


def open_version(path: Path, name: str) -> Version:
    """What is at `path`, if it is version `name`; `FileNotFoundError` if nothing is."""
    with explained(path, "read"):
        if path.is_symlink():
            raise StoreCorruptError(f"{path} is a link, not a folder; {GO_BACK}")
    file = path / MANIFEST
    try:
        data = _bytes_of(file)
        if data is None:
            _wait_while_away(path)
            data = _bytes_of(file)
        if data is None and not path.exists():
            raise FileNotFoundError(path)
        if data is None:
            raise StoreCorruptError("it is missing")
        manifest = Manifest.from_bytes(data)
    except StoreCorruptError as error:
        raise StoreCorruptError(f"{file} is damaged: {error}; {GO_BACK}") from error
    if manifest.version != name:
        raise StoreCorruptError(f"{file} belongs to version {manifest.version}; {GO_BACK}")
    return Version(path, manifest)


def _bytes_of(manifest: Path) -> bytes | None:
    with explained(manifest, "read"):
        try:
            return read_plain_file(manifest, most=_LARGEST_MANIFEST)
        except FileNotFoundError:
            return None
        except (NotPlainError, NotADirectoryError) as error:
            raise StoreCorruptError(str(error.strerror)) from error


def _wait_while_away(version: Path) -> None:
    """For the moment between the two renames by which `forget` rewrites one. A writer that was cut
    off there is not waited for."""
    for _ in range(_PATIENCE):
        if version.exists() or not (doomed_of(version).exists() and draft_of(version).exists()):
            return
        time.sleep(0.01)


def draft_of(version: Path) -> Path:
    """Where it is written."""
    return version.with_name(f"{TEMPORARY}{version.name}")


def doomed_of(version: Path) -> Path:
    """Where it is taken apart."""
    return version.with_name(f"{TEMPORARY}removed-{version.name}")

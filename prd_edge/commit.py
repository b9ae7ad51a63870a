"""Writing to a store: commit, rollback, gc, and clearing up after a writer that was cut off.

A commit writes everything into a temporary folder, syncs it, renames it, and only then replaces
CURRENT. Cut short anywhere it leaves a temporary folder, or a version newer than CURRENT's newest:
both invisible to readers, and removed by the next writer.

Versions never change, but for one thing: what a person asks to be forgotten is taken out of those
that are no longer live.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prd_edge import files
from prd_edge.checkpoint import CheckpointFile
from prd_edge.config import StoreConfig
from prd_edge.encoders import EncoderSpec
from prd_edge.errors import InvalidInputError, StoreCorruptError, StoreError
from prd_edge.manifest import FileRecord, Manifest
from prd_edge.pointer import Pointer
from prd_edge.store import MANIFEST, Store, Version
from prd_edge.version import __version__

_TEMPORARY = ".tmp-"
_LAST_VERSION = 999_999
# Only names that a writer gives: others are somebody else's.
_UNFINISHED = re.compile(r"\.tmp-(removed-)?\d{6}")


@contextmanager
def writing(store: Store, *, recover: bool = True) -> Iterator[StoreWriter]:
    """Be the one writer. Clears away what an interrupted writer left behind."""
    lock = store.path / "LOCK"
    with ExitStack() as stack:
        with files.explained(store.path, "write to"):
            try:
                made, new_lock = _enter(store, lock, stack)
            except FileNotFoundError:  # another's failed first session has just tidied up: again
                made, new_lock = _enter(store, lock, stack)
            writer = StoreWriter(store)
            if recover:
                writer.recover()
        try:
            yield writer
        finally:
            if not store.exists():  # nothing came of it: leave no empty store behind
                _remove_again(made, lock if new_lock else None)


def _enter(store: Store, lock: Path, stack: ExitStack) -> tuple[list[Path], bool]:
    """Take the lock; returns the folders made for it, and whether the lock is new."""
    made = files.make_directory(store.versions)
    new_lock = not lock.exists()
    stack.enter_context(files.writer_lock(lock))
    made = files.make_directory(store.versions) or made
    return made, new_lock


def _remove_again(made: list[Path], lock: Path | None) -> None:
    with suppress(OSError):
        for path in made[:1]:
            files.remove_empty_directory(path)
        if lock:
            files.remove_lock(lock)
        for path in made[1:]:
            files.remove_empty_directory(path)


class StoreWriter:
    """What only the holder of the lock may do. Get one from `writing`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._versions = store.versions

    def recover(self) -> None:
        """Remove unfinished work, and make CURRENT right again if it was damaged."""
        for file in (self._store.current, self._store.checkpoint):
            files.remove_file(file.with_name(f"{_TEMPORARY}{file.name}"))
        self._finish_rewriting()
        for path in sorted(self._versions.iterdir()):
            if _UNFINISHED.fullmatch(path.name):
                files.remove_tree(path)
        for name in self._store.complete_names():
            folder = self._versions / name
            if not folder.is_symlink():
                for path in sorted(folder.glob(f"{_TEMPORARY}*")):  # of a repair
                    files.remove_file(path)
        names = self._store.complete_names()
        pointer = self._store.pointer()
        if pointer is None and names:
            self._point(self._store.newest_good().name, names[-1])
        elif pointer is not None:
            for name in names:
                if name > pointer.newest:
                    self._remove_version(name)

    def commit(
        self,
        contents: Mapping[str, bytes | None],
        *,
        parent: Version | None,
        action: str,
        config: StoreConfig,
        encoder: EncoderSpec,
        classes: Mapping[str, int],
        identities: Mapping[str, str],
        metrics: Mapping[str, Any],
    ) -> Version:
        """Write a new version and make it live. `None` stands for the parent's unchanged bytes."""
        pointer = self._store.pointer()
        number = int(pointer.newest) + 1 if pointer else 1
        if number > _LAST_VERSION:
            raise StoreError(
                f"{self._store.path} has used up its version numbers; make a new store"
            )
        name = f"{number:06d}"
        manifest = Manifest(
            version=name,
            parent=parent.name if parent else None,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            action=action,
            software=f"prd-edge {__version__}",
            config=config,
            encoder=encoder,
            classes=dict(classes),
            identities=dict(identities),
            metrics=dict(metrics),
            files=records_of(contents, parent),
        )
        final = self._versions / name
        with files.explained(self._store.path, "write to"):
            with self._written(manifest, contents, parent) as temporary:
                files.rename(temporary, final)
                self._point(name, name)
            if parent is not None:  # a new store's first version comes before what was learned
                with suppress(OSError):
                    CheckpointFile(self._store.checkpoint).remove()
        return Version(final, manifest)

    def rewrite(
        self, version: Version, manifest: Manifest, contents: Mapping[str, bytes | None]
    ) -> None:
        """Put other contents in the place of a version that is not live. Cut short between the two
        renames, `recover` makes the second."""
        with (
            files.explained(self._store.path, "write to"),
            self._written(manifest, contents, version) as temporary,
        ):
            doomed = self._doomed(version.name)
            try:
                files.rename(version.path, doomed)
                files.rename(temporary, version.path)
            except BaseException:
                if not version.path.exists():
                    with suppress(OSError):
                        files.rename(doomed, version.path)
                raise
            files.remove_tree(doomed)

    def remove(self, name: str) -> None:
        """Remove a version that is not live."""
        with files.explained(self._store.path, "write to"):
            self._remove_version(name)

    def rollback(self, name: str | None = None) -> Version:
        """Make an older version live, after checking every byte of it."""
        target = self._last_good_before_live() if name is None else self._store.version(name)
        damage = target.damage()
        if damage:
            raise StoreCorruptError(f"version {target.name} cannot be used: {damage[0]}")
        with files.explained(self._store.path, "write to"):
            self._point(target.name, max(self._store.version_names()))
        return target

    def gc(self, keep: int) -> list[str]:
        """Remove all but the newest `keep` versions. The live one and its parent always stay, so
        that there is something to roll back to."""
        if keep < 1:
            raise InvalidInputError(f"cannot keep {keep} versions; keep at least 1")
        names = self._store.version_names()
        live = self._store.live()
        doomed = [n for n in names[:-keep] if n not in (live.name, live.manifest.parent)]
        with files.explained(self._store.path, "write to"):
            for name in doomed:
                self._remove_version(name)
        return doomed

    @contextmanager
    def _written(
        self, manifest: Manifest, contents: Mapping[str, bytes | None], source: Version | None
    ) -> Iterator[Path]:
        """A temporary folder with the whole version on disk, to be renamed. Bytes that the source
        has already are shared with it."""
        folder = self._versions / f"{_TEMPORARY}{manifest.version}"
        written: dict[FileRecord, Path] = {}
        if source:
            written = {record: source.path / f for f, record in source.manifest.files.items()}
        try:
            files.make_directory(folder)
            for file, data in contents.items():
                record = manifest.files[file]
                if record in written:
                    files.link_file(written[record], folder / file)
                elif data is not None:
                    files.write_file(folder / file, data)
                    written[record] = folder / file
            files.write_file(folder / MANIFEST, manifest.to_bytes())
            files.sync_directory(folder)
            yield folder
        except BaseException:  # a full disk, or Ctrl-C: give back what was taken
            with suppress(OSError, StoreError):
                self._give_back(manifest.version)
            raise

    def _finish_rewriting(self) -> None:
        """What was about to take the place of a version that has gone already is whole."""
        for path in sorted(self._versions.iterdir()):
            name = path.name.removeprefix(_TEMPORARY)
            is_new = _UNFINISHED.fullmatch(path.name) and self._doomed(name).exists()
            if is_new and not (self._versions / name).exists():
                files.rename(path, self._versions / name)

    def _last_good_before_live(self) -> Version:
        """The live version's nearest good ancestor, or failing that the newest good other one."""
        live: Version | None = None
        with suppress(StoreCorruptError):
            live = self._store.live()
        pointer = self._store.pointer()
        live_name = live.name if live else pointer.live if pointer else ""
        older = [v for v in self._store.readable_versions() if v.name < live_name]
        parent = live.manifest.parent if live else None
        older.sort(key=lambda v: (v.name == parent, v.name), reverse=True)
        for version in older:
            if not version.damage():
                return version
        raise StoreError(
            f"there is no good version before {live_name} to return to; "
            "'prd-edge history' lists what is kept"
        )

    def _point(self, live: str, newest: str) -> None:
        files.replace_file(self._store.current, Pointer(live, newest).to_bytes())

    def _give_back(self, name: str) -> None:
        """Remove what there is of a version, unless CURRENT names it or a later one already."""
        temporary = self._versions / f"{_TEMPORARY}{name}"
        if temporary.exists():
            files.remove_tree(temporary)
        pointer = self._store.pointer()
        if (self._versions / name).exists() and (pointer is None or pointer.newest < name):
            self._remove_version(name)

    def _remove_version(self, name: str) -> None:
        # Renamed first: a reader never meets a version with some of its files gone.
        doomed = self._doomed(name)
        files.rename(self._versions / name, doomed)
        files.remove_tree(doomed)

    def _doomed(self, name: str) -> Path:
        return self._versions / f"{_TEMPORARY}removed-{name}"


def records_of(
    contents: Mapping[str, bytes | None], source: Version | None
) -> dict[str, FileRecord]:
    """For a manifest; `None` stands for the source's unchanged bytes."""
    return {
        file: _inherited(source, file) if data is None else FileRecord.of(data)
        for file, data in contents.items()
    }


def _inherited(parent: Version | None, file: str) -> FileRecord:
    if parent is None:
        raise ValueError(f"a first version has no parent to take {file} from")
    parent.read(file)  # not trusted: a new version must not be built on bytes that have gone bad
    return parent.manifest.files[file]

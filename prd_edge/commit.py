"""Writing to a store: commit, rollback, gc, and clearing up after a writer that was cut off.

A commit writes everything into a temporary folder, syncs it, renames it, and only then replaces
CURRENT. Cut short anywhere it leaves a temporary folder, or a version newer than CURRENT's newest:
both invisible to readers, and removed by the next writer.

Versions never change, but for one thing: what a person asks to be forgotten is taken out of those
that are no longer live.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prd_edge import files
from prd_edge.checkpoint import CheckpointFile
from prd_edge.config import StoreConfig
from prd_edge.encoders import EncoderSpec
from prd_edge.errors import InvalidInputError, StoreError
from prd_edge.kept_version import doomed_of, draft_of
from prd_edge.manifest import FileRecord, Manifest
from prd_edge.recovery import keep_pointing, point, recover, remove_version
from prd_edge.store import MANIFEST, Store, Version
from prd_edge.version import __version__

_LAST_VERSION = 999_999
_OWN_NAMES = {
    *("versions", "CURRENT", "CURRENT.copy", "LOCK", "LOCK.holder", "checkpoint"),
    "lost+found",  # of a disk of its own
}


@contextmanager
def writing(store: Store, *, clear_up: bool = True) -> Iterator[StoreWriter]:
    """Be the one writer. Clears away what an interrupted writer left behind."""
    lock = store.path / "LOCK"
    _refuse_foreign_folder(store)
    with ExitStack() as stack:
        with files.explained(store.path, "write to"):
            try:
                made, new_lock = _enter(store, lock, stack)
            except FileNotFoundError:  # another's failed first session has just tidied up: again
                made, new_lock = _enter(store, lock, stack)
            if clear_up:
                recover(store)
        try:
            yield StoreWriter(store)
        finally:
            if not store.exists():  # nothing came of it: leave no empty store behind
                _remove_again(made, lock if new_lock else None)


def _refuse_foreign_folder(store: Store) -> None:
    """A store does not spread out among a person's files."""
    with files.explained(store.path, "write to"):
        if not store.path.is_dir() or store.exists():
            return
        for path in sorted(store.path.iterdir()):
            if path.name not in _OWN_NAMES and not path.name.startswith("."):
                raise InvalidInputError(
                    f"{store.path} is no store and has other things in it, such as {path.name!r}; "
                    "name a new or an empty folder with --store"
                )


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
                point(self._store, name, name)
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
            doomed = doomed_of(version.path)
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
            remove_version(self._versions / name)

    def rollback(self, name: str | None = None) -> Version:
        """Make an older version live, after checking every byte of it."""
        target = self._last_good_before_live() if name is None else self._store.version(name)
        for fault in target.faults():
            raise type(fault)(f"version {target.name} cannot be used: {fault}") from fault
        with files.explained(self._store.path, "write to"):
            point(self._store, target.name, max(self._store.version_names()))
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
                remove_version(self._versions / name)
        return doomed

    @contextmanager
    def _written(
        self, manifest: Manifest, contents: Mapping[str, bytes | None], source: Version | None
    ) -> Iterator[Path]:
        """A temporary folder with the whole version on disk, to be renamed. Bytes that the source
        has already are shared with it."""
        folder = draft_of(self._versions / manifest.version)
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

    def _last_good_before_live(self) -> Version:
        """The live version's nearest good ancestor, or failing that the newest good other one."""
        live: Version | None = None
        if not self._store.exists():
            self._store.live()  # says that there is none
        with suppress(StoreError):
            live = self._store.live()
        pointer = self._store.pointer()
        live_name = live.name if live else pointer.live if pointer else ""
        older = [name for name in self._store.version_names() if name < live_name]
        parent = live.manifest.parent if live else None
        older.sort(key=lambda name: (name == parent, name), reverse=True)
        for name in older:
            with suppress(StoreError, InvalidInputError):  # damaged, unreadable, or missing
                version = self._store.version(name)
                if not version.damage():
                    return version
        raise StoreError(
            f"there is no good version before {live_name} to return to; "
            "'prd-edge history' lists what is kept"
        )

    def _give_back(self, name: str) -> None:
        """Remove what there is of a version, unless CURRENT names it or a later one already."""
        version = self._versions / name
        if doomed_of(version).exists() and not version.exists():
            return  # recovery finishes what stands between two renames, and needs it whole
        if draft_of(version).exists():
            files.remove_tree(draft_of(version))
        pointer = self._store.pointer()
        if version.exists() and (pointer is None or pointer.newest < name):
            if pointer is not None:
                keep_pointing(self._store, pointer)  # the copy may name it already
            remove_version(version)


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

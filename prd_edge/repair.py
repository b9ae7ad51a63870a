"""Mend damaged files from other sources of the same bytes.

Versions share unchanged files, so one bad sector can spoil the encoder of all of them. But those
bytes can be had again: from another file of the store with the same sha256, or, for the default
encoder, from the weights it was built from. What is put back is proven by the sha256.
"""

from __future__ import annotations

from pathlib import Path

from prd_edge import files
from prd_edge.commit import writing
from prd_edge.encoders import DEFAULT_ENCODER, build_encoder
from prd_edge.errors import PrdEdgeError, StoreError
from prd_edge.kept_version import is_lost
from prd_edge.manifest import FileRecord
from prd_edge.model import encoder_contents
from prd_edge.recovery import recover
from prd_edge.store import Store, Version


def repair(store: Store) -> list[Path]:
    """Mend every damaged file that can be; returns their paths."""
    mended = []
    # Recovery comes last: it may need a good version, and there may be none before the repair.
    with writing(store, clear_up=False), files.explained(store.path, "write to"):
        versions = list(store.readable_versions())
        intact: dict[FileRecord, Path] = {}
        damaged: list[tuple[Path, FileRecord]] = []
        for version in versions:
            for file, record in version.manifest.files.items():
                if _is_intact(version, file):
                    intact[record] = version.path / file
                else:
                    damaged.append((version.path / file, record))
        rebuilt = _rebuilt(versions) if any(r not in intact for _, r in damaged) else {}
        for path, record in damaged:
            if record in intact:
                files.replace_by_link(path, intact[record])
            elif record in rebuilt:
                files.replace_file(path, rebuilt[record])
                intact[record] = path
            else:
                continue
            mended.append(path)
        recover(store)
    return mended


def _is_intact(version: Version, file: str) -> bool:
    try:
        version.read(file)
    except StoreError as error:
        if not is_lost(error):  # it may be whole
            raise
        return False
    return True


def _rebuilt(versions: list[Version]) -> dict[FileRecord, bytes]:
    """What the default encoder's files are when they are made anew, at each size in use."""
    sizes = {
        version.manifest.encoder.image_size
        for version in versions
        if version.manifest.encoder.name == DEFAULT_ENCODER
    }
    try:
        contents = [encoder_contents(build_encoder(image_size=size)) for size in sizes]
    except PrdEdgeError:  # the weights are not installed here
        return {}
    return {FileRecord.of(data): data for made in contents for data in made.values()}

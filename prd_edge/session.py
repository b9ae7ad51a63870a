"""A folder, or an iterable of (image, label), becomes a Session: what to learn, under which name.

One sub-folder a class. The layout and the names are checked before an image is opened; the
images themselves are decoded once, later, and those that cannot be read are skipped and named.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from prd_edge.classes import clean_class_name, refuse_clashes
from prd_edge.errors import InvalidInputError, NoUsableDataError
from prd_edge.images import owned
from prd_edge.store import is_store


@dataclass(frozen=True)
class Item:
    name: str  # for messages: the path within the session, or the position in the iterable
    label: str
    source: object  # whatever images.decode takes


@dataclass(frozen=True)
class Skipped:
    name: str
    reason: str
    label: str | None = None  # None for what belongs to no class


@dataclass(frozen=True)
class Session:
    items: Iterable[Item]
    count: int | None = None  # None where an iterable does not tell its length
    labels: tuple[str, ...] = ()  # as they were given; none where an iterable does not tell them
    skipped: list[Skipped] = field(default_factory=list)
    warnings: tuple[str, ...] = ()

    @classmethod
    def open(cls, data: str | os.PathLike[str] | Iterable[tuple[object, str]]) -> Session:
        if isinstance(data, str | os.PathLike):
            return _from_folder(Path(data))
        if not isinstance(data, Iterable):
            raise InvalidInputError(
                f"cannot learn from {type(data).__name__}; give a folder or (image, label) pairs"
            )
        return _from_pairs(data)


def _from_pairs(pairs: Iterable[tuple[object, str]]) -> Session:
    def items() -> Iterator[Item]:
        for position, pair in enumerate(pairs):
            try:
                image, label = pair
            except (TypeError, ValueError):
                raise InvalidInputError(
                    f"item {position} is not a pair; give (image, label) tuples"
                ) from None
            yield Item(f"item {position}", clean_class_name(label), owned(image))

    if not isinstance(pairs, Sequence):
        return Session(items(), count=len(pairs) if isinstance(pairs, Sized) else None)
    pairs_of_two = (pair for pair in pairs if isinstance(pair, tuple) and len(pair) == 2)
    given = (label for _, label in pairs_of_two if isinstance(label, str))
    labels = dict.fromkeys(map(clean_class_name, given))
    return Session(items(), count=len(pairs), labels=tuple(labels))


def _from_folder(root: Path) -> Session:
    wanted = "give a folder with one sub-folder a class"
    try:
        if not root.exists():
            raise NoUsableDataError(f"no folder {root}; {wanted}")
        if not root.is_dir():
            raise NoUsableDataError(f"{root} is a file; {wanted}")
        if is_store(root):
            raise NoUsableDataError(f"{root} is a store, not a folder of pictures; {wanted}")
        entries = [entry for entry in sorted(root.iterdir()) if not _is_hidden(entry)]
    except OSError as error:
        raise NoUsableDataError(f"cannot read {root}: {error.strerror}") from error
    stores = [entry for entry in entries if os.path.isdir(entry) and is_store(entry)]
    entries = [entry for entry in entries if entry not in stores]
    folders = [entry for entry in entries if os.path.isdir(entry)]  # unlike Path's, never raises
    if not folders:
        found = "only files" if entries else "nothing"
        raise NoUsableDataError(
            f"{root} holds {found}; put the images of each class in a sub-folder named after it"
        )
    refuse_clashes(folder.name for folder in folders)

    skipped = [Skipped(store.name, "a store, not a class") for store in stores] + [
        Skipped(entry.name, "not in the folder of a class")
        for entry in entries
        if entry not in folders
    ]
    by_class: dict[str, list[Item]] = {}
    for folder in folders:
        label = clean_class_name(folder.name)
        by_class[label] = [
            Item(str(path.relative_to(root)), label, path) for path in _files(folder, root, skipped)
        ]
    empty = [label for label, found in by_class.items() if not found]
    if empty:
        raise NoUsableDataError(
            f"no images for {_listed(empty)}; add some or remove the empty folder"
        )
    items = list(chain.from_iterable(by_class.values()))
    return Session(items, len(items), tuple(by_class), skipped, _warnings(root, by_class))


def _warnings(root: Path, by_class: dict[str, list[Item]]) -> tuple[str, ...]:
    """A folder of sessions looks like one session of classes with pictures in sub-folders."""
    for label, found in by_class.items():
        paths = [item.name.split(os.sep) for item in found]  # class, folders, file
        below = {path[1] for path in paths}
        if len(below) > 1 and all(len(path) > 2 for path in paths):
            return (
                f"all pictures of {label!r} are in sub-folders of it ({_listed(sorted(below))}) "
                f"and are learned as one class; if these are classes, learn {root / label} instead",
            )
    return ()


def _files(folder: Path, root: Path, skipped: list[Skipped]) -> Iterator[Path]:
    """All visible files below a class folder, in a fixed order, without following folder links."""

    def unreadable(error: OSError) -> None:
        skipped.append(Skipped(str(Path(error.filename).relative_to(root)), str(error.strerror)))

    for parent, directories, names in os.walk(folder, onerror=unreadable):
        here = Path(parent)
        directories[:] = sorted(name for name in directories if not name.startswith("."))
        for name in directories:
            if (here / name).is_symlink():
                skipped.append(Skipped(str((here / name).relative_to(root)), "a link to a folder"))
        yield from (here / name for name in sorted(names) if not name.startswith("."))


def _is_hidden(path: Path) -> bool:
    return path.name.startswith(".")


def _listed(labels: list[str], most: int = 5) -> str:
    shown = ", ".join(repr(label) for label in labels[:most])
    return shown + (f" and {len(labels) - most} more" if len(labels) > most else "")

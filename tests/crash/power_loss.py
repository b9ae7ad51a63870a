"""What a power cut may leave: the operations of a writer, replayed without what was not synced.

The model is stricter than most file systems. A file's bytes are durable by its own fsync and the
names in a directory by the directory's; nothing else makes anything durable. Of all that came
after, each change of a name may have reached the disk or not, whatever came before it, and a file
may hold its old bytes, its new ones or a part of them. Only a rename is one change.

The log is taken by looking at the folder before each operation: what differs from the last look
was done by the operation in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.crash.faults import hooked

Tree = dict[str, bytes | None]  # path -> bytes; None is a directory
_NOT_MODELLED = ("LOCK", "LOCK.holder")  # nobody relies on their bytes
_ROOT = 0
_TRIED_IN_FULL = 4  # so many unsynced changes of a kind are tried in every combination
_SAMPLES = 6  # of the combinations of more


class Change(NamedTuple):
    """Of the names in a directory, in one step: a creation, a removal or a rename."""

    gone: tuple[str, ...]
    put: dict[str, int]


@dataclass
class Disk:
    """By object, which is a directory or a file: what is durable, and what may be."""

    names: dict[int, dict[str, int]] = field(default_factory=dict)
    contents: dict[int, bytes] = field(default_factory=dict)
    unsynced_names: dict[int, list[Change]] = field(default_factory=dict)
    unsynced_contents: dict[int, bytes] = field(default_factory=dict)

    def sync(self, own: int) -> None:
        for change in self.unsynced_names.pop(own, []):
            _apply(change, self.names[own])
        if own in self.unsynced_contents:
            self.contents[own] = self.unsynced_contents.pop(own)

    def after_a_cut(self, random: Random) -> Iterator[Tree]:
        """All states in which the disk may be found, or a sample of very many."""
        directories = [
            [(own, some) for some in _some_of(changes, random)]
            for own, changes in self.unsynced_names.items()
        ]
        files = [
            [(own, content) for content in _torn(self.contents.get(own, b""), new)]
            for own, new in self.unsynced_contents.items()
        ]
        for chosen in _products(directories, random):
            for contents in _products(files, random):
                names = deepcopy(self.names)
                for own, changes in chosen:
                    for change in changes:
                        _apply(change, names[own])
                yield dict(_walk(_ROOT, "", names, {**self.contents, **dict(contents)}))


def _apply(change: Change, names: dict[str, int]) -> None:
    for name in change.gone:
        names.pop(name, None)
    names.update(change.put)


def _walk(
    own: int, path: str, names: dict[int, dict[str, int]], contents: dict[int, bytes]
) -> Iterator[tuple[str, bytes | None]]:
    for name, child in sorted(names[own].items()):
        is_directory = child in names
        yield f"{path}{name}", None if is_directory else contents.get(child, b"")
        if is_directory:
            yield from _walk(child, f"{path}{name}/", names, contents)


def _torn(old: bytes, new: bytes) -> Iterable[bytes]:
    return dict.fromkeys((new, old, b"", new[: len(new) // 2], new[:-1]))


def _some_of(changes: list[Change], random: Random) -> list[tuple[Change, ...]]:
    """In the order in which they were made, with any of them left out."""
    numbers = range(len(changes))
    if len(changes) <= _TRIED_IN_FULL:
        chosen = [set(some) for count in numbers for some in combinations(numbers, count)]
    else:
        chosen = [set(range(end)) for end in numbers]  # in order
        chosen += [set(numbers) - {missing} for missing in numbers] + [{one} for one in numbers]
        chosen += [{n for n in numbers if random.random() < 0.5} for _ in range(_SAMPLES)]
    chosen.append(set(numbers))
    return [tuple(changes[n] for n in numbers if n in own) for own in chosen]


def _products(choices: list[list], random: Random) -> Iterator[tuple]:
    """One choice of each, in all ways; where those are too many, each choice once or more."""
    if len(choices) <= 2:
        yield from product(*choices)
        return
    for number, own in enumerate(choices):
        for one in own:
            for rest in (0, -1):  # the others all untouched, or all changed
                yield tuple(one if n == number else other[rest] for n, other in enumerate(choices))
    for _ in range(_SAMPLES):
        yield tuple(random.choice(own) for own in choices)


class Recorder:
    """Follows a writer in a folder. `ignores` an fsync: what if the writer had made none?"""

    def __init__(self, folder: Path, ignores: Callable[[Path], bool] = lambda _: False) -> None:
        self._folder = folder
        self._ignores = ignores
        self._objects: dict[int, int] = {}  # by inode, as long as it is there
        self._count = _ROOT
        self._names: dict[int, dict[str, int]] = {}
        self._disk = Disk()
        self._syncing: Path | None = None
        self._look()
        for own in (*self._disk.unsynced_names, *self._disk.unsynced_contents):
            self._disk.sync(own)

    def follow(self, run: Callable[[], object]) -> list[Disk]:
        """The disk before each operation, and after the last one."""
        disks = []

        def before(operation: str, path: Path) -> None:
            self._look()
            disks.append(deepcopy(self._disk))
            self._syncing = path if operation == "fsync" else None

        with hooked(before):
            run()
        self._look()
        return [*disks, deepcopy(self._disk)]

    def _look(self) -> None:
        """Take in what the last operation did."""
        found: dict[int, dict[str, int]] = {}
        seen: dict[int, int] = {}
        places = self._visit(self._folder, _ROOT, found, seen)
        self._objects = seen
        for own, names in found.items():
            before = self._names.get(own, {})
            gone = tuple(name for name in before if name not in names)
            put = {name: child for name, child in names.items() if before.get(name) != child}
            if gone or put:
                self._disk.unsynced_names.setdefault(own, []).append(Change(gone, put))
        self._names = found
        if self._syncing is not None and not self._ignores(self._syncing):
            self._disk.sync(places[self._syncing])
        self._syncing = None

    def _visit(
        self, path: Path, own: int, found: dict[int, dict[str, int]], seen: dict[int, int]
    ) -> dict[Path, int]:
        places = {path: own}
        if not path.is_dir():
            self._read(path, own)
            return places
        self._disk.names.setdefault(own, {})
        found[own] = {}
        for child in path.iterdir():
            if child.name in _NOT_MODELLED:
                continue
            inode = child.stat().st_ino
            if inode not in seen:
                seen[inode] = self._objects.get(inode) or self._new_object()
            found[own][child.name] = seen[inode]
            places |= self._visit(child, seen[inode], found, seen)
        return places

    def _new_object(self) -> int:
        self._count += 1
        return self._count

    def _read(self, path: Path, own: int) -> None:
        content = path.read_bytes()
        if content != self._disk.unsynced_contents.get(own, self._disk.contents.get(own, b"")):
            self._disk.unsynced_contents[own] = content


def write_tree(tree: Tree, folder: Path) -> None:
    for path, content in tree.items():
        if content is None:
            (folder / path).mkdir()
        else:
            (folder / path).write_bytes(content)

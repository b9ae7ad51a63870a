"""A session's images become embeddings, in memory only: each is decoded, embedded and dropped."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from prd_edge.embedder import Embedder
from prd_edge.errors import Cancelled, ImageError, NoUsableDataError
from prd_edge.images import decode
from prd_edge.parallel import ordered_map
from prd_edge.progress import OnProgress, Progress
from prd_edge.series import series_of
from prd_edge.session import Item, Session, Skipped

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Look(NamedTuple):
    """What is taken from one picture."""

    embedding: NDArray[np.float32]  # (D,)
    more: Any = None  # whatever else the caller wants of it


@dataclass(frozen=True)
class Harvest:
    embeddings: NDArray[np.float32]  # (N, D)
    labels: tuple[str, ...]
    digests: tuple[bytes, ...]  # of the pixels; never stored
    skipped: tuple[Skipped, ...]
    duplicates: int
    rows: NDArray[np.int64]  # (N,), positions among the different pictures, as they came
    series: NDArray[np.int64]  # (N,), a number for pictures that are near-copies of each other

    def counts(self) -> dict[str, int]:
        return dict(sorted(Counter(self.labels).items()))

    def holdout(self, fraction: float) -> NDArray[np.bool_]:
        """(N,) True for held-out images: of each class the same fraction, at least one, chosen by
        content, so that neither names nor order matter. A class of fewer than five gives none. A
        series goes whole, as long as that leaves most of the class to learn from."""
        chosen = np.zeros(len(self.labels), bool)
        for label, count in self.counts().items():
            if fraction > 0 and count >= _SMALLEST_CLASS_TO_SPLIT:
                rows = [row for row, own in enumerate(self.labels) if own == label]
                rows.sort(key=self.digests.__getitem__)
                wanted = max(1, int(count * fraction))
                chosen[self._with_series(rows, wanted, max(wanted, int(count * _MOST)))] = True
        return chosen

    def _with_series(self, rows: list[int], wanted: int, most: int) -> list[int]:
        """Whole series in the order of these rows, until `wanted` are reached, `most` at most."""
        members: dict[int, list[int]] = {}
        for row in rows:
            members.setdefault(int(self.series[row]), []).append(row)
        chosen: list[int] = []
        for alike in members.values():
            if len(chosen) >= wanted:
                break
            chosen += alike
        return chosen[:most]


_SMALLEST_CLASS_TO_SPLIT = 5
_MOST = 0.4  # of a class may be held out


@dataclass(frozen=True)
class _Embedded:
    item: Item
    digest: bytes = b""
    look: Look | None = None
    reason: str = ""
    row: int = -1


def harvest(
    session: Session,
    embedder: Embedder,
    *,
    look: Callable[[NDArray[np.uint8], bytes], Look] | None = None,
    keep: Callable[[Item, bytes, Any], object] = lambda *_: None,
    on_progress: OnProgress | None = None,
    cancel: Event | None = None,
) -> Harvest:
    """Embed every readable image once. An image under two classes teaches nothing: both go.

    `look` takes more from an image of a given digest, on many threads; `keep` is then called with
    each different picture, in order.
    """
    if look is None:
        embedder.prepare_for_many()

    def embed(item: Item) -> _Embedded:
        try:
            image = decode(item.source)
        except ImageError as error:
            return _Embedded(item, reason=str(error))
        digest = digest_of(image)
        found = look(image, digest) if look else Look(embedder.embed_among_many(image))
        return _Embedded(item, digest, found)

    skipped = list(session.skipped)
    labels = set(session.labels)
    by_content: dict[bytes, list[_Embedded]] = {}  # the first one keeps its look
    for done, found in enumerate(ordered_map(embed, session.items, threads=embedder.threads), 1):
        if cancel is not None and cancel.is_set():
            raise Cancelled("stopped on request; nothing was changed")
        labels.add(found.item.label)
        if found.look is None:
            skipped.append(Skipped(found.item.name, found.reason, found.item.label))
        elif found.digest in by_content:
            by_content[found.digest].append(replace(found, item=_without_pixels(found), look=None))
        else:
            keep(found.item, found.digest, found.look.more)
            look_ = Look(found.look.embedding)
            item = _without_pixels(found)
            by_content[found.digest] = [replace(found, item=item, look=look_, row=len(by_content))]
        if on_progress is not None:
            on_progress(Progress("reading images", done, session.count))

    kept, duplicates = [], 0
    for alike in by_content.values():
        owners = sorted({found.item.label for found in alike})
        if len(owners) == 1:
            kept.append(alike[0])
            duplicates += len(alike) - 1
        else:
            reason = f"the same picture is in {' and '.join(owners)}"
            skipped += [Skipped(found.item.name, reason, found.item.label) for found in alike]
    _refuse_empty_classes(labels, kept, skipped)
    embeddings = np.stack([found.look.embedding for found in kept if found.look is not None])
    of_kept = tuple(found.item.label for found in kept)
    return Harvest(
        embeddings=embeddings,
        labels=of_kept,
        digests=tuple(found.digest for found in kept),
        skipped=tuple(skipped),
        duplicates=duplicates,
        rows=np.array([found.row for found in kept], np.int64),
        series=series_of(embeddings, of_kept),
    )


def _without_pixels(found: _Embedded) -> Item:
    return replace(found.item, source=None)


def digest_of(image: NDArray[np.uint8]) -> bytes:
    """Equal for equal pictures."""
    shape = f"{image.shape[0]}x{image.shape[1]}".encode()
    return hashlib.blake2b(image.data, digest_size=16, person=shape).digest()


def _refuse_empty_classes(labels: set[str], kept: list[_Embedded], skipped: list[Skipped]) -> None:
    without = sorted(labels - {found.item.label for found in kept})
    if kept and not without:
        return
    what = f"class {without[0]!r} has no usable image" if without else "there is no usable image"
    own = [s for s in skipped if without and s.label == without[0]] or skipped
    why = f"; first problem: {own[0].name}: {own[0].reason}" if own else "; add some"
    raise NoUsableDataError(what + why)

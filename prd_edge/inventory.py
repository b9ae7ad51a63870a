"""Everything that a store keeps, and what of the pictures stands behind it.

Each file, and each tensor in it, is one of those named here, of the shape that follows from the
encoder and the number of classes, never from the number of pictures; anything else is unknown.
So nobody has to take it on trust that no picture and no embedding of one is kept. A checkpoint
alone, of a session that was cut off, is told as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prd_edge.checkpoint import tensors_of
from prd_edge.encoders.signatures import is_made_of
from prd_edge.errors import StoreChangedError, StoreCorruptError
from prd_edge.manifest import Manifest
from prd_edge.model import COVARIANCE, ENCODER, PROTOTYPES, SNAPSHOT, is_trained, parse_tensors
from prd_edge.onnx_bytes import numbers_in
from prd_edge.report import FEW_IMAGES
from prd_edge.store import ENCODER_GRAPH, MANIFEST, PREPROCESS_GRAPH, Store, Version
from prd_edge.strays import strays
from prd_edge.wording import strange_words

Shape = tuple[int, ...]
_NOT_OF_A_VERSION = {
    "CURRENT": "the names of the live and the newest version",
    "CURRENT.copy": "the same once more",
    "LOCK": "nothing; it is locked while somebody writes",
    "LOCK.holder": "who is writing now, or was when it was cut off",
}
_FEW_NUMBERS = 1000  # constants of a graph beside the weights
_CHECKPOINT = "weights in training, of a session that was cut off; the next change removes it"


class Kept(NamedTuple):
    version: str | None  # None: of the store itself
    file: str
    tensor: str  # or what else the file holds
    shape: Shape
    derived_from: str
    images: tuple[int, ...]  # how many stand behind each row; one number where there are no rows


@dataclass
class Inventory:
    kept: list[Kept] = field(default_factory=list)
    few: list[str] = field(default_factory=list)  # where single images show through
    unknown: list[str] = field(default_factory=list)


class _Sum(NamedTuple):
    label: str
    version: str
    images: int


class _Known(NamedTuple):
    kind: type[np.generic]
    derived_from: str
    shapes: tuple[Shape, ...]  # any of them
    images: tuple[int, ...]


def take_inventory(store: Store) -> Inventory:
    """Of every kept version. Damage is for `verify` to find: a damaged file is unknown here."""
    versions = list(store.readable_versions())
    found = Inventory(
        few=list(_of_few_images([version.manifest for version in versions])),
        unknown=[str(path) for path in sorted(strays(store, _FILES))],
    )
    for name, what in _NOT_OF_A_VERSION.items():
        if (store.path / name).exists():
            found.kept.append(Kept(None, name, "text", (), what, ()))
    found.kept += _of_checkpoint(store.checkpoint, found.unknown)
    for version in versions:
        of_version = Inventory()
        with suppress(FileNotFoundError, StoreChangedError):
            _take_version(version, of_version)
        if store.is_still(version):  # or else it was removed or rewritten meanwhile
            found.kept += of_version.kept
            found.unknown += of_version.unknown
    return found


def _take_version(version: Version, found: Inventory) -> None:
    found.kept += _of_manifest(version.manifest, found.unknown)
    for file, take in _FILES.items():
        try:
            found.kept += take(version, file, found.unknown)
        except StoreCorruptError as error:
            found.unknown.append(str(error))


def _of_few_images(manifests: list[Manifest]) -> list[str]:
    """A sum of one image is its embedding, and so is the difference of two sums by one image: of
    one class under any names, and of two under one name, which may have been taught the same."""
    by_name: dict[str, list[_Sum]] = {}
    by_identity: dict[str, list[_Sum]] = {}
    for manifest in manifests:
        for label, count in manifest.classes.items():
            own = _Sum(label, manifest.version, count)
            by_name.setdefault(label, []).append(own)
            by_identity.setdefault(manifest.identities[label], []).append(own)
    few: dict[str, None] = {}  # in order, each once
    for label, sums in sorted(by_name.items()):
        for count in sorted({own.images for own in sums if own.images < FEW_IMAGES}):
            where = ", ".join(own.version for own in sums if own.images == count)
            few[f"{label}: a sum of {count}, in version {where}"] = None
        few.update(dict.fromkeys(_few_between(sums)))
    for sums in by_identity.values():
        few.update(dict.fromkeys(_few_between(sums)))
    return list(few)


def _few_between(sums: list[_Sum]) -> Iterator[str]:
    first = {own.images: own for own in reversed(sums)}
    for less, more in combinations([first[count] for count in sorted(first)], 2):
        difference = more.images - less.images
        if difference < FEW_IMAGES:
            yield f"{more.label}: versions {less.version} and {more.version} differ by {difference}"


def _tensors(data: bytes, file: str) -> Mapping[str, NDArray[np.generic]]:
    """Nothing else may stand in the file: it has room for remarks."""
    tensors = parse_tensors(data, file)
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    if header.keys() != tensors.keys():
        raise StoreCorruptError(f"{file} holds remarks beside its tensors")
    return tensors


def _of_checkpoint(path: Path, unknown: list[str]) -> Iterator[Kept]:
    """Its shapes are those of weights, which are not known from here: it is told as a whole."""
    try:
        tensors = _tensors(tensors_of(path), str(path))
    except FileNotFoundError:
        return
    except (OSError, StoreCorruptError):
        unknown.append(str(path))
        return
    numbers = sum(tensor.size for tensor in tensors.values())
    yield Kept(None, path.name, f"{len(tensors)} tensors", (numbers,), _CHECKPOINT, ())


def _of_manifest(manifest: Manifest, unknown: list[str]) -> Iterator[Kept]:
    strange = strange_words(manifest, set(_FILES))
    unknown += [f"{MANIFEST} of version {manifest.version}: {name}" for name in strange]
    counts = tuple(manifest.classes.values())
    yield Kept(
        manifest.version,
        MANIFEST,
        "classes",
        (len(counts),),
        "the name of each class, and how many images were learned of it",
        counts,
    )
    yield Kept(
        manifest.version,
        MANIFEST,
        "identities",
        (len(counts),),
        "nothing: random digits by which a class is known under every name",
        (),
    )
    yield Kept(
        manifest.version,
        MANIFEST,
        "metrics",
        (len(manifest.metrics),),
        "accuracy, drift, time and size of the session",
        (sum(counts),),
    )


def _of_knowledge(version: Version, file: str, unknown: list[str]) -> Iterator[Kept]:
    tensors = _tensors(version.read(file), file)
    known = _known_tensors(version.manifest)[file]
    for name, tensor in sorted(tensors.items()):
        what = known.get(name)
        if what is None or tensor.shape not in what.shapes or tensor.dtype != what.kind:
            kind = f"{tensor.dtype} {tensor.shape}"
            unknown.append(f"{version.path / file}: tensor {name!r}, {kind}")
            continue
        yield Kept(version.name, file, name, tensor.shape, what.derived_from, what.images)


def _known_tensors(manifest: Manifest) -> dict[str, dict[str, _Known]]:
    each = tuple(manifest.classes.values())
    classes, dimensions, all_images = len(each), manifest.encoder.dimensions, (sum(each),)
    a_class, square = ((classes,),), ((classes, classes),)
    rows, one = ((classes, dimensions),), ((1,),)
    triangle = ((dimensions * (dimensions + 1) // 2,), (0,))
    solved = "computed from sums and second_moment"
    held_out = "likeness of the session's held-out images, all classes together"
    return {
        PROTOTYPES: {
            "counts": _Known(np.int64, "number of images of each class", a_class, each),
            "sums": _Known(
                np.float64, "sum of the embeddings of all images of a class", rows, each
            ),
            "inherited": _Known(np.int64, "number of images of removed classes", one, ()),
            "radii": _Known(np.float64, held_out, a_class, all_images),
            "leanings": _Known(
                np.float64, "what feedback has said, a bounded step each", a_class, ()
            ),
            "readout.weights": _Known(np.float32, solved, rows, all_images),
            "readout.biases": _Known(np.float32, solved, a_class, all_images),
            "readout.margin": _Known(np.float64, solved, one, all_images),
            "readout.starts": _Known(np.float32, solved, a_class, all_images),
            "readout.lengths": _Known(np.float32, solved, a_class, all_images),
            "readout.inverse": _Known(np.float32, solved, square, all_images),
            "readout.radii": _Known(np.float32, "the radii once more", a_class, all_images),
            "readout.temperature": _Known(np.float64, "fitted on held-out images", one, all_images),
            "readout.temperature_images": _Known(
                np.int64, "number of held-out images", one, all_images
            ),
        },
        COVARIANCE: {
            "second_moment": _Known(
                np.float64,
                "sum over all images of the embedding times itself",
                triangle,
                all_images,
            )
        },
    }


def _of_weights(version: Version, file: str, unknown: list[str]) -> Iterator[Kept]:
    tensors = _tensors(version.read(file), file)
    manifest = version.manifest
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    # The snapshot is the encoder of the version before, which may not have been trained yet.
    candidates = {manifest.encoder, manifest.encoder._replace(adapted_from=None)}
    are_weights = all(tensor.dtype == np.float32 for tensor in tensors.values())
    if not are_weights or not any(is_made_of(spec, shapes) for spec in candidates):
        unknown.append(f"{version.path / file}: not the tensors of {manifest.encoder.name}")
        return
    numbers = sum(tensor.size for tensor in tensors.values())
    yield _weights(version, file, f"{len(tensors)} tensors", numbers)


def _of_graph(version: Version, file: str, unknown: list[str]) -> Iterator[Kept]:
    """The weights once more, as they are run: no more numbers than the encoder has, all in use."""
    numbers = numbers_in(version.read(file))
    allowed = _FEW_NUMBERS
    if file == ENCODER_GRAPH:
        weights = parse_tensors(version.read(ENCODER), ENCODER)
        allowed += sum(tensor.size for tensor in weights.values())
    if numbers is None or numbers > allowed:
        unknown.append(f"{version.path / file}: it holds more than a network needs")
        return
    yield _weights(version, file, "graph", numbers)


def _weights(version: Version, file: str, what: str, numbers: int) -> Kept:
    manifest = version.manifest
    derived_from, images = f"published weights, {manifest.encoder.licence}", 0
    if file == PREPROCESS_GRAPH:
        derived_from = "constants; the image size"
    elif is_trained(manifest):
        derived_from += ", trained on images of the classes known then"
        images = sum(manifest.classes.values())
    return Kept(version.name, file, what, (numbers,), derived_from, (images,))


_Take = Callable[[Version, str, list[str]], Iterator[Kept]]
_FILES: Mapping[str, _Take] = {
    PREPROCESS_GRAPH: _of_graph,
    ENCODER_GRAPH: _of_graph,
    ENCODER: _of_weights,
    SNAPSHOT: _of_weights,
    PROTOTYPES: _of_knowledge,
    COVARIANCE: _of_knowledge,
}

"""The files of a version, and the objects they become."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load
from safetensors.numpy import save as serialise

from prd_edge.embedder import Embedder
from prd_edge.errors import StoreChangedError, StoreCorruptError
from prd_edge.predictor import Predictor
from prd_edge.readout import Readout
from prd_edge.store import ENCODER_GRAPH, PREPROCESS_GRAPH, Version
from prd_edge.tensor_file import Tensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prd_edge.bank import PrototypeBank
    from prd_edge.encoders import BuiltEncoder
    from prd_edge.manifest import Manifest

Loaded = TypeVar("Loaded")

ENCODER = "encoder.safetensors"
SNAPSHOT = "snapshot.safetensors"
PROTOTYPES = "prototypes.safetensors"
COVARIANCE = "covariance.safetensors"

# Imprinting leaves the encoder and all that belongs to it as it is.
UNCHANGED_ENCODER: dict[str, bytes | None] = {
    PREPROCESS_GRAPH: None,
    ENCODER_GRAPH: None,
    ENCODER: None,
    SNAPSHOT: None,
}


class Knowledge(NamedTuple):
    """The bank with the readout computed from it."""

    bank: PrototypeBank
    readout: Readout

    @classmethod
    def none(cls, dimensions: int) -> Knowledge:
        from prd_edge.bank import PrototypeBank
        from prd_edge.calibration import DEFAULT_TEMPERATURE

        bank = PrototypeBank.empty(dimensions)
        return cls(bank, Readout.of(bank).at(DEFAULT_TEMPERATURE))

    def with_bank(self, bank: PrototypeBank) -> Knowledge:
        """For changed classes; the temperature keeps its meaning."""
        return Knowledge(bank, Readout.of(bank).at(self.readout.temperature))

    def classes(self) -> dict[str, int]:
        return {
            label: int(count)
            for label, count in zip(self.bank.labels, self.bank.counts, strict=True)
        }

    def contents(self) -> dict[str, bytes]:
        prototypes = {**self.bank.prototype_tensors(), **self.readout.tensors()}
        return {
            PROTOTYPES: _bytes(prototypes),
            COVARIANCE: _bytes(self.bank.covariance_tensors()),
        }


def is_trained(manifest: Manifest) -> bool:
    """Whether some session has trained the encoder, as far as this version."""
    files = manifest.files
    return bool(manifest.encoder.adapted_from) or files.get(ENCODER) != files.get(SNAPSHOT)


def encoder_contents(encoder: BuiltEncoder) -> dict[str, bytes]:
    from prd_edge.preprocess import build_onnx

    weights = _bytes(encoder.weights)
    return {
        PREPROCESS_GRAPH: build_onnx(encoder.spec.image_size),
        ENCODER_GRAPH: encoder.graph,
        ENCODER: weights,
        SNAPSHOT: weights,
    }


def retrained_contents(encoder: BuiltEncoder, snapshot: bytes) -> dict[str, bytes | None]:
    """A trained encoder, beside the one it was distilled from; the preprocessing stays."""
    return {
        PREPROCESS_GRAPH: None,
        ENCODER_GRAPH: encoder.graph,
        ENCODER: _bytes(encoder.weights),
        SNAPSHOT: snapshot,
    }


def parse_tensors(data: bytes, file: str = ENCODER) -> Tensors:
    try:
        return load(data)
    except (SafetensorError, KeyError, ValueError) as error:  # KeyError: a kind numpy has not
        raise StoreCorruptError(f"{file}: {str(error)[:200]}") from error


def load_embedder(
    version: Version,
    threads: int | None = None,
    encoder_graph: Callable[[], bytes] | None = None,
) -> Embedder:
    """The encoder's bytes are read here, or have been read elsewhere in the meantime."""
    if encoder_graph is None:
        data = version.read(ENCODER_GRAPH)
        encoder_graph = lambda: data  # noqa: E731
    preprocess = version.read(PREPROCESS_GRAPH)
    return Embedder(preprocess, encoder_graph, threads=threads, dimensions=_dimensions(version))


def load_predictor(
    version: Version,
    threads: int | None = None,
    encoder_graph: Callable[[], bytes] | None = None,
) -> Predictor:
    readout = load_readout(version)
    embedder = load_embedder(version, threads, encoder_graph)
    if encoder_graph is not None:
        encoder_graph()  # a damaged file is told now, not at the first picture
    return Predictor(embedder, readout, version.name)


def _as_it_is(load: Callable[[Version], Loaded]) -> Callable[[Version], Loaded]:
    """What is loaded carries its own classes: where `forget` has rewritten the version since it
    was opened, it is that of now."""

    @wraps(load)
    def loaded(version: Version) -> Loaded:
        while True:
            try:
                return load(version)
            except StoreChangedError:
                version = version.as_it_is()

    return loaded


@_as_it_is
def load_readout(version: Version) -> Readout:
    with _told(version, PROTOTYPES):
        tensors = _tensors(version, PROTOTYPES)
        return Readout.from_tensors(version.manifest.classes, _dimensions(version), tensors)


@_as_it_is
def load_prototypes(version: Version) -> dict[str, NDArray[np.float64]]:
    """By class, without reading the covariance."""
    from prd_edge.bank import prototypes_of, sums_of

    classes = version.manifest.classes
    with _told(version, PROTOTYPES):
        counts, sums = sums_of(classes, _dimensions(version), _tensors(version, PROTOTYPES))
    return dict(zip(classes, prototypes_of(sums, counts), strict=True))


@_as_it_is
def load_knowledge(version: Version) -> Knowledge:
    from prd_edge.bank import PrototypeBank

    prototypes, covariance = _tensors(version, PROTOTYPES), _tensors(version, COVARIANCE)
    classes, dimensions = version.manifest.classes, _dimensions(version)
    with _told(version, f"{PROTOTYPES} or {COVARIANCE}"):
        bank = PrototypeBank.from_tensors(classes, dimensions, prototypes, covariance)
        return Knowledge(bank, Readout.from_tensors(classes, dimensions, prototypes))


@contextmanager
def _told(version: Version, files: str) -> Iterator[None]:
    """Where it is that something is wrong, and what to do."""
    try:
        yield
    except StoreCorruptError as error:
        if str(version.path) in str(error):
            raise
        raise StoreCorruptError(
            f"{version.path / files} cannot be used: {error}; run 'prd-edge rollback' to return "
            "to the last good version"
        ) from error


def _dimensions(version: Version) -> int:
    return version.manifest.encoder.dimensions


def _bytes(tensors: Mapping[str, NDArray[np.generic]]) -> bytes:
    # safetensors writes memory as it lies: a transposed array would come back scrambled.
    return serialise({name: np.ascontiguousarray(array) for name, array in tensors.items()})


def _tensors(version: Version, file: str) -> Tensors:
    return parse_tensors(version.read(file), str(version.path / file))

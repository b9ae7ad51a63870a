"""Encoders by name, and the two forms in which a store keeps one.

The default is built here without torch. All others come from the learning half, which is
imported only when one of them is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from prd_edge.errors import InvalidInputError, MissingDependencyError

if TYPE_CHECKING:
    import numpy as np

DEFAULT_ENCODER = "efficientnet_lite0"

# Every encoder halves its input five times at most.
IMAGE_SIZE_MULTIPLE = 32
IMAGE_SIZE_RANGE = (32, 1024)


class EncoderSpec(NamedTuple):
    """What the rest of the program needs to know of an encoder."""

    name: str
    image_size: int
    parts: tuple[int, ...]  # widths of the unit-length parts that make up an embedding
    licence: str
    adapted_from: str | None = None  # the stage from which a second, trained copy runs beside it

    @property
    def dimensions(self) -> int:
        return sum(self.parts)


class BuiltEncoder(NamedTuple):
    """An encoder as a store keeps it: weights to train further, and a graph to run.

    The graph maps `image`, uint8 (N, S, S, 3), to `embedding`, float32 (N, D): the numeric part
    of preprocessing is inside, and each part of the embedding has unit length.
    """

    spec: EncoderSpec
    weights: Mapping[str, np.ndarray]
    graph: bytes


UNTRAINED = "resnet18_scratch"

# name -> default image size
ENCODERS: dict[str, int] = {
    DEFAULT_ENCODER: 224,
    "mobilenet_v3_small": 224,
    "mobilenet_v3_large": 224,
    "resnet18": 224,
    "efficientnet_b0": 224,
    UNTRAINED: 32,
}


def image_size_for(name: str) -> int:
    """The image size an encoder is made for."""
    if name not in ENCODERS:
        raise InvalidInputError(f"no encoder named {name!r}; choose one of {', '.join(ENCODERS)}")
    return ENCODERS[name]


def build_encoder(
    name: str = DEFAULT_ENCODER,
    *,
    image_size: int | None = None,
    weights_file: Path | None = None,
    seed: int = 0,
) -> BuiltEncoder:
    """Build an encoder with its weights. Only the default works without torch."""
    size = image_size_for(name) if image_size is None else image_size
    low, high = IMAGE_SIZE_RANGE
    if size % IMAGE_SIZE_MULTIPLE or not low <= size <= high:
        raise InvalidInputError(
            f"image size {size} cannot be used; give a multiple of {IMAGE_SIZE_MULTIPLE} "
            f"from {low} to {high}"
        )
    if name == DEFAULT_ENCODER and weights_file is None:
        return _build_default(size)
    try:
        from prd_edge.learn.encoders import build_torch_encoder
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"encoder {name!r} needs {error.name}; run: pip install 'prd-edge[learn]'"
        ) from error
    return build_torch_encoder(name, image_size=size, weights_file=weights_file, seed=seed)


def _build_default(image_size: int) -> BuiltEncoder:
    from prd_edge.encoders.efficientnet_lite0 import EMBEDDING_PARTS, build_onnx
    from prd_edge.encoders.wheel_weights import read_wheel_weights

    weights = read_wheel_weights()
    spec = EncoderSpec(DEFAULT_ENCODER, image_size, EMBEDDING_PARTS, "Apache-2.0")
    return BuiltEncoder(spec, weights, build_onnx(weights))

"""Encoders as torch modules: built from weights of any source, exported, and loaded again."""

from __future__ import annotations

from pathlib import Path

import torch

from prd_edge.encoders import DEFAULT_ENCODER, UNTRAINED, BuiltEncoder, EncoderSpec
from prd_edge.encoders.efficientnet_lite0 import build_onnx
from prd_edge.encoders.wheel_weights import read_wheel_weights
from prd_edge.errors import InvalidInputError
from prd_edge.learn.encoders import resnet18_scratch, torchvision_nets
from prd_edge.learn.encoders.anchored import AnchoredEncoder
from prd_edge.learn.encoders.efficientnet_lite0 import EfficientNetLite0
from prd_edge.learn.encoders.resnet18_scratch import ResNet18Scratch
from prd_edge.learn.encoders.staged import StagedEncoder
from prd_edge.learn.encoders.tail import Tail
from prd_edge.learn.encoders.torchvision_nets import TorchvisionEncoder
from prd_edge.learn.encoders.weights import (
    Weights,
    encoder_weights,
    fill_module,
    module_weights,
    read_weights_file,
)
from prd_edge.learn.onnx_writer import write_onnx
from prd_edge.learn.parity import check_parity, parity_images

__all__ = [
    "AnchoredEncoder",
    "Encoder",
    "StagedEncoder",
    "Tail",
    "build_torch_encoder",
    "load_module",
    "load_stored",
    "make_graph",
    "module_weights",
    "unproven_graph",
]

Encoder = StagedEncoder | AnchoredEncoder


def build_torch_encoder(
    name: str, *, image_size: int, weights_file: Path | None, seed: int
) -> BuiltEncoder:
    """An encoder with weights from a local file, else from where its published ones are.

    The seed matters only to the encoder that starts untrained.
    """
    if weights_file is not None:
        licence = "that of the weights file"
        weights = read_weights_file(weights_file)
        try:
            module = load_module(name, weights)
        except InvalidInputError as error:
            raise InvalidInputError(f"{weights_file} does not fit {name}: {error}") from error
    elif name == DEFAULT_ENCODER:
        licence = "Apache-2.0"
        module = load_module(name, read_wheel_weights())
    elif name == UNTRAINED:
        licence = "Apache-2.0"
        module = resnet18_scratch.untrained(seed).eval()
    else:
        licence = torchvision_nets.WEIGHTS_LICENCE
        module = load_module(name, encoder_weights(torchvision_nets.download_weights(name)))
    spec = EncoderSpec(name, image_size, module.part_widths(), licence)
    return BuiltEncoder(spec, module_weights(module), make_graph(module, image_size))


def load_module(name: str, weights: Weights) -> StagedEncoder:
    """The torch module of an encoder with the given weights, in evaluation mode."""
    with torch.device("meta"):  # no memory and no random numbers for what is overwritten
        module = _without_weights(name, weights)
    fill_module(module, weights)
    return module.eval()


def load_stored(spec: EncoderSpec, weights: Weights) -> Encoder:
    """The torch module of a store's encoder, in evaluation mode."""
    if spec.adapted_from is None:
        return load_module(spec.name, weights)
    anchor = {name.removeprefix("anchor."): array for name, array in weights.items()}
    with torch.device("meta"):
        module = AnchoredEncoder(_without_weights(spec.name, anchor), spec.adapted_from)
    fill_module(module, weights)
    return module.eval()


def _without_weights(name: str, weights: Weights) -> StagedEncoder:
    if name == DEFAULT_ENCODER:
        return EfficientNetLite0()
    if name == UNTRAINED:
        return ResNet18Scratch(resnet18_scratch.width_of(weights))
    if name in torchvision_nets.EMBEDDED_STAGES:
        return TorchvisionEncoder(name)
    raise InvalidInputError(f"no torch encoder named {name!r}")


def make_graph(module: Encoder, image_size: int) -> bytes:
    """The ONNX graph of an encoder, checked against the module on images of that size."""
    graph = unproven_graph(module)
    check_parity(module, graph, parity_images(image_size))
    return graph


def unproven_graph(module: Encoder) -> bytes:
    """The same, for those who have real pictures to check it on."""
    if isinstance(module, EfficientNetLite0):
        return build_onnx(module_weights(module))
    return write_onnx(module, {"embedding": ["N", sum(module.part_widths())]})

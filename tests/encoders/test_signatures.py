"""The signatures of all encoders are those of their modules."""

from __future__ import annotations

import pytest

from prd_edge.encoders import ENCODERS, EncoderSpec
from prd_edge.encoders.signatures import SIGNATURES, is_made_of, signature
from prd_edge.encoders.wheel_weights import read_wheel_weights
from prd_edge.learn.encoders import AnchoredEncoder, _without_weights, module_weights
from prd_edge.learn.encoders.resnet18_scratch import ResNet18Scratch


def shapes(weights) -> dict[str, tuple[int, ...]]:
    return {name: tuple(array.shape) for name, array in weights.items()}


@pytest.mark.parametrize("name", [name for name in ENCODERS if name != "resnet18_scratch"])
def test_of_its_module(name: str) -> None:
    weights = read_wheel_weights() if name == "efficientnet_lite0" else None
    weights = weights or module_weights(_without_weights(name, {}))
    assert signature(name, shapes(weights)) == SIGNATURES[name]


@pytest.mark.parametrize("width", [8, 20, 64])
def test_of_any_width(width: int) -> None:
    own = shapes(module_weights(ResNet18Scratch(width)))
    assert signature("resnet18_scratch", own) == SIGNATURES["resnet18_scratch"]


def test_of_a_trained_copy() -> None:
    module = AnchoredEncoder(ResNet18Scratch(8), "layer4.0")
    own = shapes(module_weights(module))
    spec = EncoderSpec("resnet18_scratch", 32, (1,), "", adapted_from="layer4.0")
    assert is_made_of(spec, own)
    assert not is_made_of(spec, {**own, "adapted.samples": (24, 8)})
    assert not is_made_of(spec, {**own, "samples": (8,)})
    assert not is_made_of(spec._replace(adapted_from=None), own)
    assert not is_made_of(spec, {n: s for n, s in own.items() if n.startswith("anchor.")})

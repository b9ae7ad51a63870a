"""Stages, pixels and pooling, on numbers small enough to check by hand."""

from __future__ import annotations

import pytest
import torch

from prd_edge.errors import InvalidInputError
from prd_edge.learn.encoders import resnet18_scratch
from prd_edge.learn.encoders.staged import PixelScale, UnitPool, UnitSpread


def test_pixels_are_centred_scaled_and_turned() -> None:
    images = torch.tensor([[[[0, 127, 255]]]], dtype=torch.uint8)  # (1, 1, 1, 3)
    x = PixelScale((127.0, 127.0, 55.0), (128.0, 128.0, 100.0))(images)
    assert x.shape == (1, 3, 1, 1)
    assert x.flatten().tolist() == [-127 / 128, 0.0, 2.0]


def test_pixels_come_out_in_channels_last_memory() -> None:
    x = PixelScale((0.0,) * 3, (1.0,) * 3)(torch.zeros(2, 8, 8, 3, dtype=torch.uint8))
    assert x.is_contiguous(memory_format=torch.channels_last)


def test_pooled_parts_have_unit_length() -> None:
    x = torch.tensor([[[[1.0, 5.0]], [[4.0, 4.0]]]])  # (1, 2, 1, 2), means 3 and 4
    assert UnitPool()(x).tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]
    assert UnitPool()(torch.zeros(1, 2, 1, 1)).tolist() == [[0.0, 0.0]]


def test_between_names_its_stages_in_order() -> None:
    encoder = resnet18_scratch.ResNet18Scratch(width=4)
    names = [name for name, _ in encoder.between("layer1.1", "layer3.0")]
    assert names == ["layer1.1", "layer2.0", "layer2.1"]


def test_an_unknown_stage_is_refused_with_the_known_ones() -> None:
    encoder = resnet18_scratch.ResNet18Scratch(width=4)
    with pytest.raises(InvalidInputError, match=r"no stage named 'layer9'; choose one of stem, la"):
        encoder.run(torch.zeros(1, 3, 32, 32), stop="layer9")


def test_the_spread_is_the_standard_deviation_over_the_image_as_a_unit_vector() -> None:
    x = torch.tensor([[[[0.0, 6.0]], [[1.0, 9.0]], [[5.0, 5.0]]]])  # (1, 3, 1, 2)
    expected = torch.tensor([[0.6, 0.8, 0.0]])  # deviations 3, 4 and 0
    torch.testing.assert_close(UnitSpread()(x), expected, atol=1e-3, rtol=0)


def test_a_picture_that_is_the_same_everywhere_can_be_learned_from() -> None:
    x = torch.ones(2, 4, 3, 3, requires_grad=True)
    UnitSpread()(x).sum().backward()
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()

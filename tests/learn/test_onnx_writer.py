"""The writer by itself: several outputs, and no silence about what it cannot write."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

from prd_edge.learn.encoders.efficientnet_lite0 import EfficientNetLite0
from prd_edge.learn.onnx_writer import write_onnx
from prd_edge.learn.parity import parity_images


class _Trunk(nn.Module):
    """An encoder up to a stage: what a learner keeps frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = EfficientNetLite0()

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        x, parts = self.encoder.run(self.encoder.normalise(images), stop="block8")
        return x, torch.cat(parts, dim=1)


def test_a_trunk_has_its_features_and_parts_as_outputs() -> None:
    torch.manual_seed(0)
    trunk = _Trunk().eval()
    graph = write_onnx(trunk, {"features": ["N", 80, "h", "w"], "parts": ["N", 240]})
    images = parity_images(64, count=2)
    with torch.inference_mode():
        expected = trunk(torch.tensor(images))
    actual = onnxruntime.InferenceSession(graph).run(["features", "parts"], {"image": images})
    assert actual[0].shape == (2, 80, 4, 4)
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, e.numpy(), atol=1e-5)


class _WithMethod(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return images.flatten()


def test_what_has_no_counterpart_is_an_error() -> None:
    with pytest.raises(NotImplementedError, match="no ONNX operator for call_method flatten"):
        write_onnx(_WithMethod(), {"out": ["N"]})

"""The check that stands between a graph and its use."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from prd_edge.errors import GuardRefusedError
from prd_edge.learn.encoders import resnet18_scratch
from prd_edge.learn.encoders.staged import StagedEncoder
from prd_edge.learn.onnx_writer import write_onnx
from prd_edge.learn.parity import check_parity, parity_images


@pytest.fixture
def encoder() -> StagedEncoder:
    return resnet18_scratch.untrained(seed=0, width=4).eval()


def _graph(encoder: StagedEncoder) -> bytes:
    return write_onnx(encoder, {"embedding": ["N", 32]})


def test_images_are_squares_of_the_size_asked() -> None:
    images = parity_images(32, count=3)
    assert images.shape == (3, 32, 32, 3)
    assert images.dtype == np.uint8
    assert images.std() > 10


def test_agreement_gives_the_difference(encoder: StagedEncoder) -> None:
    assert 0 <= check_parity(encoder, _graph(encoder), parity_images(32)) < 1e-5


def test_disagreement_is_refused_with_the_figures(encoder: StagedEncoder) -> None:
    graph = _graph(encoder)
    with torch.no_grad():
        encoder.get_parameter("layer4.1.conv2.weight").mul_(1.1)
    with pytest.raises(GuardRefusedError, match=r"differs .* on 4 images, allowed is 0\.0001"):
        check_parity(encoder, graph, parity_images(32))


def test_undefined_numbers_are_refused(encoder: StagedEncoder) -> None:
    encoder.get_buffer("bn1.running_var").fill_(-1.0)
    with pytest.raises(GuardRefusedError, match="nan"):
        check_parity(encoder, _graph(encoder), parity_images(32))

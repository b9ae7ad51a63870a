"""The default encoder: published weights, torch module, and the graph written without torch."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from PIL import Image

from prd_edge.encoders import build_encoder
from prd_edge.encoders.efficientnet_lite0 import EMBEDDING_PARTS, build_onnx
from prd_edge.encoders.wheel_weights import _locate, read_wheel_weights
from prd_edge.learn.encoders import build_torch_encoder, load_module
from prd_edge.learn.encoders.staged import StagedEncoder
from prd_edge.learn.onnx_writer import write_onnx
from prd_edge.learn.parity import check_parity, parity_images

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def published() -> dict[str, torch.Tensor]:
    state: dict[str, torch.Tensor] = torch.load(_locate(), weights_only=True)
    return state


@pytest.fixture(scope="module")
def module(published: dict[str, torch.Tensor]) -> StagedEncoder:
    return load_module(
        "efficientnet_lite0",
        {
            name: tensor.numpy()
            for name, tensor in published.items()
            if tensor.is_floating_point() and not name.startswith("_fc.")
        },
    )


def test_weights_read_without_torch_equal_torchs(published: dict[str, torch.Tensor]) -> None:
    weights = read_wheel_weights()
    encoder_names = [n for n, t in published.items() if t.is_floating_point() and "_fc." not in n]
    assert list(weights) == encoder_names
    for name, array in weights.items():
        assert np.array_equal(array, published[name].numpy()), name


def test_parts_are_the_tables(module: StagedEncoder) -> None:
    assert module.part_widths() == EMBEDDING_PARTS


def test_known_answer(module: StagedEncoder) -> None:
    """Values of the network's published implementation (efficientnet_lite_pytorch 0.1.0)."""
    y, x = np.mgrid[:64, :64]
    image = np.stack([(3 * x + y) % 256, (x * y) % 256, (4 * (x ^ y)) % 256], axis=2)
    images = image.astype(np.uint8)[None]
    expected = [  # two of the mean of each part: blocks 7, 10, 14, 15, head
        *((80, -0.153718), (159, -0.143789)),
        *((240, 0.115354), (351, 0.047551)),
        *((464, -0.063500), (655, -0.043355)),
        *((848, -0.015860), (1167, -0.059408)),
        *((1488, 0.063733), (1562, 0.074782)),
    ]
    with torch.inference_mode():
        by_torch = module(torch.tensor(images))[0].numpy()
    session = onnxruntime.InferenceSession(build_onnx(read_wheel_weights()))
    (by_graph,) = session.run(None, {"image": images})
    for position, value in expected:
        assert by_torch[position] == pytest.approx(value, abs=2e-6)
        assert by_graph[0, position] == pytest.approx(value, abs=2e-6)


def test_both_ways_to_a_graph_agree_with_torch(module: StagedEncoder) -> None:
    images = parity_images(96)
    traced = write_onnx(module, {"embedding": ["N", sum(EMBEDDING_PARTS)]})
    assert check_parity(module, traced, images) < 1e-5
    assert check_parity(module, build_onnx(read_wheel_weights()), images) < 1e-5


def test_learning_half_builds_the_same_bytes_as_the_lean_half() -> None:
    lean = build_encoder("efficientnet_lite0", image_size=64)
    learning = build_torch_encoder("efficientnet_lite0", image_size=64, weights_file=None, seed=0)
    assert learning.graph == lean.graph
    assert learning.spec == lean.spec
    assert list(learning.weights) == list(lean.weights)


def test_published_file_given_as_local_weights() -> None:
    local = build_encoder("efficientnet_lite0", image_size=64, weights_file=_locate())
    assert local.graph == build_onnx(read_wheel_weights())


@pytest.mark.data
def test_graph_agrees_with_torch_on_photographs(module: StagedEncoder) -> None:
    data = Path(os.environ.get("PRD_EDGE_DATA", REPOSITORY / "../shared/data"))
    folders = sorted((data / "grocery/test").glob("*/"))
    files = [min(folder.glob("*.jpg")) for folder in folders[:16]]
    if not files:
        pytest.skip(f"no photographs in {data / 'grocery/test'}; set PRD_EDGE_DATA")
    images = np.stack([np.asarray(Image.open(f).convert("RGB").resize((224, 224))) for f in files])
    assert check_parity(module, build_onnx(read_wheel_weights()), images) <= 1e-4

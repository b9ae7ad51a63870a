"""What every encoder promises, whatever network it is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from prd_edge.encoders import DEFAULT_ENCODER, ENCODERS, UNTRAINED, BuiltEncoder
from prd_edge.learn.encoders import load_module, module_weights
from prd_edge.learn.encoders.torchvision_nets import EMBEDDED_STAGES
from prd_edge.learn.parity import check_parity, parity_images

from .conftest import IMAGE_SIZE


def _session(built: BuiltEncoder) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(built.graph, options, providers=["CPUExecutionProvider"])


def _embed(built: BuiltEncoder, images: np.ndarray) -> np.ndarray:
    (embedding,) = _session(built).run(None, {"image": images})
    return embedding


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    return parity_images(IMAGE_SIZE, count=3)


def test_spec_says_what_was_asked(name: str, built: BuiltEncoder) -> None:
    assert (built.spec.name, built.spec.image_size) == (name, IMAGE_SIZE)
    assert built.spec.dimensions == sum(built.spec.parts)
    assert built.spec.licence


def test_graph_maps_uint8_images_to_float_embeddings(built: BuiltEncoder) -> None:
    session = _session(built)
    (image,), (embedding,) = session.get_inputs(), session.get_outputs()
    assert (image.name, image.type, image.shape[0]) == ("image", "tensor(uint8)", "N")
    assert image.shape[3] == 3
    assert (embedding.name, embedding.type) == ("embedding", "tensor(float)")
    assert embedding.shape == ["N", built.spec.dimensions]


def test_graph_is_one_self_contained_opset_18_model(built: BuiltEncoder) -> None:
    model = onnx.load_from_string(built.graph)
    onnx.checker.check_model(model, full_check=True)
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 18)]
    assert not any(t.external_data or t.data_location for t in model.graph.initializer)
    assert not model.functions


def test_graph_has_batch_normalisation_folded(built: BuiltEncoder) -> None:
    operators = {node.op_type for node in onnx.load_from_string(built.graph).graph.node}
    assert "BatchNormalization" not in operators


def test_graph_names_no_place_of_this_machine(built: BuiltEncoder) -> None:
    nodes = onnx.load_from_string(built.graph).graph.node
    assert not any(node.doc_string or node.metadata_props for node in nodes)


def test_each_part_has_unit_length(built: BuiltEncoder, images: np.ndarray) -> None:
    embedding = _embed(built, images)
    assert embedding.shape == (3, built.spec.dimensions)
    assert embedding.dtype == np.float32
    for part in np.split(embedding, np.cumsum(built.spec.parts)[:-1], axis=1):
        np.testing.assert_allclose(np.linalg.norm(part, axis=1), 1, atol=1e-5)


def test_different_images_have_different_embeddings(
    built: BuiltEncoder, images: np.ndarray
) -> None:
    a, b, _ = _embed(built, images)
    assert np.abs(a - b).max() > 1e-2


def test_an_image_does_not_depend_on_its_batch(built: BuiltEncoder, images: np.ndarray) -> None:
    session = _session(built)
    (together,) = session.run(None, {"image": images})
    alone = np.concatenate([session.run(None, {"image": image[None]})[0] for image in images])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_an_empty_black_image_embeds_to_finite_numbers(built: BuiltEncoder) -> None:
    black = np.zeros((1, IMAGE_SIZE, IMAGE_SIZE, 3), np.uint8)
    assert np.isfinite(_embed(built, black)).all()


def test_weights_are_finite_float32_without_classifier_or_counters(built: BuiltEncoder) -> None:
    for key, array in built.weights.items():
        assert array.dtype == np.float32, key
        assert np.isfinite(array).all(), key
        assert not key.startswith(("classifier", "fc.", "_fc.")), key
        assert "num_batches_tracked" not in key


def test_weights_go_through_a_module_unchanged(name: str, built: BuiltEncoder) -> None:
    module = load_module(name, built.weights)
    again = module_weights(module)
    assert list(again) == list(built.weights)
    for key, array in built.weights.items():
        np.testing.assert_array_equal(again[key], array)


def test_a_loaded_module_is_ready_and_apart_from_its_weights(
    name: str, built: BuiltEncoder
) -> None:
    module = load_module(name, built.weights)
    assert not module.training
    assert all(p.requires_grad and p.device.type == "cpu" for p in module.parameters())
    assert all(b.device.type == "cpu" for b in module.buffers())
    before = {key: array.copy() for key, array in built.weights.items()}
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(1)
    for key, array in built.weights.items():
        np.testing.assert_array_equal(array, before[key])


def test_graph_agrees_with_torch(name: str, built: BuiltEncoder) -> None:
    module = load_module(name, built.weights)
    for size in (IMAGE_SIZE, 96):
        assert check_parity(module, built.graph, parity_images(size, count=5)) <= 1e-4


def test_two_builds_give_the_same_bytes(
    name: str, built: BuiltEncoder, build: Callable[[str], BuiltEncoder]
) -> None:
    again = build(name)
    assert again.graph == built.graph
    assert list(again.weights) == list(built.weights)
    assert all(again.weights[key].tobytes() == a.tobytes() for key, a in built.weights.items())


def test_trunk_then_tail_is_the_whole_at_every_split(
    name: str, built: BuiltEncoder, images: np.ndarray
) -> None:
    module = load_module(name, built.weights)
    x = torch.tensor(images[:1])
    with torch.inference_mode():
        whole = module(x)
        for split in module.stages:
            features, early = module.run(module.normalise(x), stop=split)
            _, late = module.run(features, start=split)
            assert torch.equal(torch.cat([*early, *late], dim=1), whole), split


def test_stages_hold_every_parameter_once(name: str, built: BuiltEncoder) -> None:
    module = load_module(name, built.weights)
    staged = [
        id(parameter)
        for _, modules in module.between()
        for stage in modules
        for parameter in stage.parameters()
    ]
    assert len(staged) == len(set(staged))
    assert set(staged) == {id(parameter) for parameter in module.parameters()}


def test_the_last_stage_is_embedded(name: str, built: BuiltEncoder) -> None:
    module = load_module(name, built.weights)
    assert list(module.stages)[-1] == module.embedded_stages[-1]
    means_and_spreads = 2 * len(module.embedded_stages) - 1  # of the last stage the mean alone
    assert means_and_spreads == len(built.spec.parts)
    assert module.part_widths() == built.spec.parts


def test_every_listed_encoder_has_a_torch_module() -> None:
    assert set(ENCODERS) == {DEFAULT_ENCODER, UNTRAINED, *EMBEDDED_STAGES}

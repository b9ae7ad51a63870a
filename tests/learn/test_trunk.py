"""Cut in two and run in two programs, an encoder says what it says whole."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from prd_edge.encoders.wheel_weights import read_wheel_weights
from prd_edge.learn.encoders import StagedEncoder, load_module
from prd_edge.learn.learner import learn_session
from prd_edge.learn.recipes import Recipe
from prd_edge.learn.trunk import CachedViews, Tail, TailInput, Trunk
from prd_edge.learn.views import random_view
from prd_edge.preprocess import Preprocessor, build_onnx
from tests.conftest import COLOURS, picture

SIZE = 32
CUT = "block11"


@pytest.fixture
def encoder() -> StagedEncoder:
    return load_module("efficientnet_lite0", read_wheel_weights())


@pytest.fixture(scope="module")
def preprocess() -> Preprocessor:
    return Preprocessor(build_onnx(SIZE))


def cached(encoder: StagedEncoder, preprocess: Preprocessor, views: int = 4) -> CachedViews:
    trunk = Trunk(encoder, CUT)
    random = np.random.default_rng(0)
    found = []
    for colour in COLOURS.values():
        for seed in range(5):
            image = picture(colour, seed)
            squares = [preprocess(image)]
            squares += [random_view(image, preprocess, random) for _ in range(views - 1)]
            found.append([trunk(square) for square in squares])
    return CachedViews(found, torch.arange(3).repeat_interleave(5))


def test_trunk_and_tail_together_are_the_encoder(
    encoder: StagedEncoder, preprocess: Preprocessor
) -> None:
    data = cached(encoder, preprocess)
    images = np.concatenate([preprocess(picture(c, s)) for c in COLOURS.values() for s in range(5)])
    with torch.inference_mode():
        whole = encoder(torch.from_numpy(images))
        halves = Tail(encoder, CUT).eval()(data.plain(torch.arange(15)))
    np.testing.assert_allclose(halves, whole, atol=2e-3)  # features are kept in half precision


def test_only_the_tail_is_trained_and_statistics_stay(
    encoder: StagedEncoder, preprocess: Preprocessor
) -> None:
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    recipe = Recipe("test", epochs=2, batch_size=8, learning_rate=0.05)
    data = cached(encoder, preprocess)
    learn_session(Tail(encoder, CUT), torch.zeros(3, 1984), 0, data, recipe, seed=0)
    changed = {
        n for n, tensor in encoder.state_dict().items() if not torch.equal(tensor, before[n])
    }
    late = (
        "_blocks.11",
        "_blocks.12",
        "_blocks.13",
        "_blocks.14",
        "_blocks.15",
        "_conv_head",
        "_bn1",
    )
    assert changed
    assert all(name.startswith(late) for name in changed)
    assert not any("running" in name for name in changed)


def test_two_different_random_views_of_each_sample(
    encoder: StagedEncoder, preprocess: Preprocessor
) -> None:
    data = cached(encoder, preprocess)
    samples = torch.arange(15)
    views = data.views(samples, torch.Generator().manual_seed(0))
    inputs: TailInput = views.inputs
    assert torch.equal(views.classes, data.classes.repeat(2))
    first, second = inputs.features[:15], inputs.features[15:]
    plain = data.plain(samples).features
    for a, b, c in zip(first, second, plain, strict=True):
        assert not torch.equal(a, b)
        assert not torch.equal(a, c)


def test_random_views_are_drawn_from_the_generator_alone(preprocess: Preprocessor) -> None:
    image = picture(COLOURS["red"], 1, size=(60, 90))
    view = random_view(image, preprocess, np.random.default_rng(5))
    assert (view.shape, view.dtype) == ((1, SIZE, SIZE, 3), np.uint8)
    np.testing.assert_array_equal(view, random_view(image, preprocess, np.random.default_rng(5)))
    assert (view != random_view(image, preprocess, np.random.default_rng(6))).any()
    assert random_view(image[:1, :1], preprocess, np.random.default_rng(0)).shape == view.shape

"""Cut in two and run in two programs, an encoder says what it says whole."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from prd_edge.encoders import EncoderSpec
from prd_edge.encoders.efficientnet_lite0 import EMBEDDING_PARTS
from prd_edge.encoders.wheel_weights import read_wheel_weights
from prd_edge.errors import InvalidInputError
from prd_edge.learn.cut import Cut, cut
from prd_edge.learn.encoders import AnchoredEncoder, load_stored, make_graph, module_weights
from prd_edge.learn.learner import Views, one_step
from prd_edge.learn.recipes import RECIPES, Recipe
from prd_edge.learn.session_views import as_input
from prd_edge.learn.trunk import Trunk

SIZE = 32
SPEC = EncoderSpec("efficientnet_lite0", SIZE, EMBEDDING_PARTS, "Apache-2.0")
WIDTH = sum(EMBEDDING_PARTS)
LATE = ("_blocks.11", "_blocks.12", "_blocks.13", "_blocks.14", "_blocks.15", "_conv_head", "_bn1")


@pytest.fixture(params=["edge", "paper"])
def made(request: pytest.FixtureRequest) -> Cut:
    """Anchored, and trained in place."""
    return cut(SPEC, read_wheel_weights(), RECIPES[request.param], None)


def squares(count: int = 4) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, SIZE, SIZE, 3), dtype=np.uint8)


def train_a_little(made: Cut) -> None:
    with torch.inference_mode():
        features, _ = made.encoder.cut(torch.from_numpy(squares(8)), made.start)
    recipe = Recipe("test", learning_rate=0.5)
    one_step(made.tail, Views(as_input(features.clone()), torch.arange(2).repeat(4)), recipe)
    made.encoder.eval()


def test_trunk_and_tail_together_are_the_encoder(made: Cut) -> None:
    trunk = Trunk(made, snapshot=True)
    looks = [trunk.plain(image[None]) for image in squares()]
    features = as_input(torch.from_numpy(np.concatenate([look.features for look in looks])))
    with torch.inference_mode():
        before = made.tail(features)
    train_a_little(made)
    with torch.inference_mode():
        change = (made.tail(features) - before).numpy()
        whole = made.encoder(torch.from_numpy(squares()))
    assert np.abs(change).max() > 0.05  # it was trained
    halves = np.stack([look.output for look in looks])
    halves[:, made.trained] += made.share * change
    np.testing.assert_allclose(halves, whole, atol=5e-3)  # features are kept in half precision


def test_of_a_view_the_snapshot_says_what_the_encoder_said_before_it_was_trained(made: Cut) -> None:
    image = squares(1)
    with torch.inference_mode():
        expected = made.encoder(torch.from_numpy(image))[:, -made.related :]
    trunk = Trunk(made, snapshot=True)
    train_a_little(made)
    look = trunk.view(image)
    np.testing.assert_allclose(look.output, expected[0], atol=1e-5)
    np.testing.assert_array_equal(look.features, trunk.plain(image).features[0])
    without = Trunk(made, snapshot=False).view(image)
    assert without.output is None
    np.testing.assert_array_equal(without.features, look.features)


def test_an_embedding_is_the_mean_of_the_looks(made: Cut) -> None:
    looks = squares(2)
    with torch.inference_mode():
        expected = made.encoder(torch.from_numpy(looks)).mean(dim=0)
    np.testing.assert_allclose(Trunk(made, snapshot=False).plain(looks).output, expected, atol=1e-5)


def test_an_encoder_trained_before_still_says_all_it_says() -> None:
    made = cut(SPEC, read_wheel_weights(), RECIPES["edge"], None)
    train_a_little(made)
    spec = SPEC._replace(parts=made.encoder.part_widths(), adapted_from=made.spec_start)
    again = cut(spec, module_weights(made.encoder), RECIPES["edge"], None)
    images = squares(2)
    with torch.inference_mode():
        expected = again.encoder(torch.from_numpy(images))
    trunk = Trunk(again, snapshot=True)
    found = [trunk.plain(image[None]).output for image in images]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_only_the_tail_is_trained_and_statistics_stay(made: Cut) -> None:
    before = {name: tensor.clone() for name, tensor in made.encoder.state_dict().items()}
    train_a_little(made)
    after = made.encoder.state_dict()
    changed = {name for name, tensor in after.items() if not torch.equal(tensor, before[name])}
    trained = ("adapted.",) if isinstance(made.encoder, AnchoredEncoder) else LATE
    assert changed
    assert all(name.startswith(trained) for name in changed)
    assert not any("running" in name for name in changed)


def test_an_anchored_encoder_begins_by_saying_what_its_anchor_says() -> None:
    made = cut(SPEC, read_wheel_weights(), RECIPES["edge"], None)
    assert isinstance(made.encoder, AnchoredEncoder)
    assert made.is_fresh
    images = torch.from_numpy(squares())
    with torch.inference_mode():
        assert torch.equal(made.encoder(images), made.encoder.anchor(images))


def test_half_of_what_is_trained_is_what_the_anchor_says() -> None:
    made = cut(SPEC, read_wheel_weights(), RECIPES["edge"], None)
    assert isinstance(made.encoder, AnchoredEncoder)
    images = torch.from_numpy(squares())
    with torch.inference_mode():
        before = made.encoder(images)
    train_a_little(made)
    with torch.inference_mode():
        after = made.encoder(images)
        features, anchor = made.encoder.anchor.cut(images, made.start)
        half = (anchor[:, made.trained] + made.tail(features)) / 2
    early = slice(0, made.trained.start)
    assert torch.equal(before, anchor)
    assert torch.equal(before[:, early], after[:, early])
    assert torch.allclose(after[:, made.trained], half, atol=1e-6)
    assert not torch.allclose(before[:, made.trained], after[:, made.trained], atol=1e-3)


def test_a_trained_encoder_comes_back_from_its_weights(made: Cut) -> None:
    train_a_little(made)
    spec = SPEC._replace(parts=made.encoder.part_widths(), adapted_from=made.spec_start)
    again = cut(spec, module_weights(made.encoder), RECIPES["edge"], None)
    loaded = load_stored(spec, module_weights(made.encoder))
    assert make_graph(loaded, SIZE) == make_graph(made.encoder, SIZE)
    if made.spec_start:  # trained further, not copied once more
        assert (again.trained, again.is_fresh) == (made.trained, False)


def test_stages_that_cannot_be_trained_from_are_refused() -> None:
    weights = read_wheel_weights()
    with pytest.raises(InvalidInputError, match="no stage named 'block99'; choose one of stem, "):
        cut(SPEC, weights, RECIPES["edge"], "block99")
    anchored = cut(SPEC, weights, RECIPES["edge"], "block15")
    assert anchored.trained == slice(WIDTH - 1280 - 2 * 320, WIDTH)
    spec = SPEC._replace(parts=anchored.encoder.part_widths(), adapted_from="block15")
    with pytest.raises(InvalidInputError, match="has been trained from 'block15'"):
        cut(spec, module_weights(anchored.encoder), RECIPES["edge"], "block11")
    with pytest.raises(InvalidInputError, match="recipe 'paper' cannot go on"):
        cut(spec, module_weights(anchored.encoder), RECIPES["paper"], None)

"""The untrained encoder: its size, and weights that depend on the seed alone."""

from __future__ import annotations

import pytest
import torch

from prd_edge.learn.encoders.resnet18_scratch import untrained
from prd_edge.learn.encoders.weights import module_weights


@pytest.mark.parametrize(("width", "parameters"), [(20, 1_093_140), (64, 11_168_832)])
def test_size_is_that_of_the_literature(width: int, parameters: int) -> None:
    assert sum(p.numel() for p in untrained(0, width).parameters()) == parameters


def test_the_image_is_halved_three_times() -> None:
    encoder = untrained(0, width=4).eval()
    x, parts = encoder.run(encoder.normalise(torch.zeros(2, 32, 32, 3, dtype=torch.uint8)))
    assert x.shape == (2, 32, 4, 4)
    assert [part.shape for part in parts] == [(2, 32)]


def test_weights_depend_on_the_seed_alone() -> None:
    torch.manual_seed(1)
    first = module_weights(untrained(7, width=4))
    torch.manual_seed(2)
    again = module_weights(untrained(7, width=4))
    other = module_weights(untrained(8, width=4))
    assert all((first[name] == again[name]).all() for name in first)
    assert (first["conv1.weight"] != other["conv1.weight"]).all()


def test_the_callers_random_numbers_are_left_alone() -> None:
    before = torch.get_rng_state()
    untrained(7, width=4)
    assert torch.equal(before, torch.get_rng_state())

"""Every encoder, built without a network: torchvision's get seeded weights from a local file."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from prd_edge.encoders import ENCODERS, BuiltEncoder
from prd_edge.learn.encoders import build_torch_encoder
from prd_edge.learn.encoders.staged import IMAGENET_MEAN, IMAGENET_STD, PixelScale
from prd_edge.learn.encoders.torchvision_nets import EMBEDDED_STAGES
from prd_edge.learn.parity import parity_images
from prd_edge.learn.torchvision_import import import_torchvision
from tests.one_thread import one_thread

__all__ = ["one_thread"]

IMAGE_SIZE = 64


@pytest.fixture(params=ENCODERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], BuiltEncoder]:
    """Builds anew at each call."""
    folder = tmp_path_factory.mktemp("weights")

    def _build(name: str) -> BuiltEncoder:
        weights_file = _published_form(name, folder) if name in EMBEDDED_STAGES else None
        return build_torch_encoder(name, image_size=IMAGE_SIZE, weights_file=weights_file, seed=3)

    return _build


@pytest.fixture(scope="session")
def build_once(build: Callable[[str], BuiltEncoder]) -> Callable[[str], BuiltEncoder]:
    return cache(build)


@pytest.fixture
def built(name: str, build_once: Callable[[str], BuiltEncoder]) -> BuiltEncoder:
    return build_once(name)


def _published_form(name: str, folder: Path) -> Path:
    """torchvision's own state dict, classifier included, as its download would be.

    Running statistics are those of real activations: with the initial ones, a deep random network
    gives all images nearly the same embedding, and every comparison would hold. They are taken
    at twice the size, for too few pixels leave some channels a tiny variance that amplifies noise.
    """
    path = folder / f"{name}.safetensors"
    if not path.exists():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            network = import_torchvision().models.get_model(name, weights=None).eval()
            for module in network.modules():
                if isinstance(module, torch.nn.BatchNorm2d):
                    module.train().momentum = 1.0
                    torch.nn.init.uniform_(module.weight, 0.5, 1.5)
                    torch.nn.init.normal_(module.bias, std=0.1)
            images = torch.tensor(parity_images(2 * IMAGE_SIZE, count=12))
            with torch.no_grad():
                network(PixelScale(IMAGENET_MEAN, IMAGENET_STD)(images))
        save_file(network.state_dict(), path)
    return path

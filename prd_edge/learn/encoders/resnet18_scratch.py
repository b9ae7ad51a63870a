"""ResNet-18 for small images, to be trained from nothing (He et al. 2016, the CIFAR form).

A 3×3 stem, no pooling before the last, and a base width of 20 channels instead of 64: the encoder
of the continual-learning literature.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from prd_edge.learn.encoders.staged import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    PixelScale,
    StagedEncoder,
)

DEFAULT_WIDTH = 20

# (width as a multiple of the base, stride of the first block) of the four layers of two blocks.
LAYERS = ((1, 1), (2, 2), (4, 2), (8, 2))


class BasicBlock(nn.Module):
    """Two 3×3 convolutions beside a shortcut: (N, C_in, H, W) to (N, C_out, H/s, W/s)."""

    def __init__(self, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels_out)
        self.conv2 = nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels_out)
        self.relu = nn.ReLU()
        self.shortcut = nn.Sequential()
        if stride != 1 or channels_in != channels_out:
            self.shortcut.append(nn.Conv2d(channels_in, channels_out, 1, stride, bias=False))
            self.shortcut.append(nn.BatchNorm2d(channels_out))

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return self.relu(y + self.shortcut(x))  # type: ignore[no-any-return]


class ResNet18Scratch(StagedEncoder):
    """Stages `stem`, `layer1.0`, `layer1.1` … `layer4.1`; the last is the embedding, one part."""

    def __init__(self, width: int = DEFAULT_WIDTH) -> None:
        blocks = [f"layer{i}.{j}" for i in range(1, 5) for j in range(2)]
        super().__init__(
            PixelScale(IMAGENET_MEAN, IMAGENET_STD),
            stages={"stem": ("conv1", "bn1", "relu"), **{block: (block,) for block in blocks}},
            embedded_stages=("layer4.1",),
            train_from="stem",
        )
        self.conv1 = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        channels = width
        for index, (multiple, stride) in enumerate(LAYERS, start=1):
            wider = width * multiple
            layer = nn.Sequential(
                BasicBlock(channels, wider, stride), BasicBlock(wider, wider, stride=1)
            )
            self.add_module(f"layer{index}", layer)
            channels = wider


def untrained(seed: int, width: int = DEFAULT_WIDTH) -> ResNet18Scratch:
    """The network with He-normal weights that depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):  # the caller's random state stays as it is
        torch.manual_seed(seed)
        encoder = ResNet18Scratch(width)
        for module in encoder.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return encoder


def width_of(weights: Mapping[str, np.ndarray]) -> int:
    """The base width that weights were made with."""
    stem = weights.get("conv1.weight")
    return stem.shape[0] if stem is not None and stem.ndim and stem.size else DEFAULT_WIDTH

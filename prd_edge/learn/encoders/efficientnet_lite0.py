"""EfficientNet-Lite0 as a torch module, from the same table as its ONNX graph.

Parameters have the names of the published weights.
"""

from __future__ import annotations

import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from prd_edge.encoders.efficientnet_lite0 import (
    BATCH_NORM_EPS,
    BLOCKS,
    EMBEDDED_BLOCKS,
    HEAD_CHANNELS,
    PIXEL_MEAN,
    PIXEL_SCALE,
    STEM_CHANNELS,
    Block,
    same_padding,
)
from prd_edge.learn.encoders.staged import PixelScale, StagedEncoder

BATCH_NORM_MOMENTUM = 0.01


class SameConv2d(nn.Conv2d):
    """Convolution with TensorFlow's SAME padding: at stride 2, one more pixel after than before."""

    def __init__(
        self, channels_in: int, channels_out: int, kernel: int, stride: int = 1, groups: int = 1
    ) -> None:
        before, after = same_padding(kernel, stride)
        super().__init__(
            channels_in, channels_out, kernel, stride, padding=before, groups=groups, bias=False
        )
        self.padding_after = after - before

    def forward(self, x: Tensor) -> Tensor:
        if self.padding_after:
            x = F.pad(x, (0, self.padding_after, 0, self.padding_after))
        return super().forward(x)


def _batch_norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=BATCH_NORM_EPS, momentum=BATCH_NORM_MOMENTUM)


class InvertedResidual(nn.Module):
    """Expand, filter each channel alone, project: (N, C_in, H, W) to (N, C_out, H/s, W/s)."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        wide = block.channels_in * block.expansion
        self.expands = block.expansion != 1
        self.has_skip = block.has_skip
        if self.expands:
            self._expand_conv = SameConv2d(block.channels_in, wide, 1)
            self._bn0 = _batch_norm(wide)
        self._depthwise_conv = SameConv2d(wide, wide, block.kernel, block.stride, groups=wide)
        self._bn1 = _batch_norm(wide)
        self._project_conv = SameConv2d(wide, block.channels_out, 1)
        self._bn2 = _batch_norm(block.channels_out)
        self.relu6 = nn.ReLU6()

    def forward(self, x: Tensor) -> Tensor:
        y = x
        if self.expands:
            y = self.relu6(self._bn0(self._expand_conv(y)))
        y = self.relu6(self._bn1(self._depthwise_conv(y)))
        y = self._bn2(self._project_conv(y))
        return y + x if self.has_skip else y  # type: ignore[no-any-return]


class EfficientNetLite0(StagedEncoder):
    """Stages `stem`, `block0` to `block15`, `head`."""

    def __init__(self) -> None:
        super().__init__(
            PixelScale((PIXEL_MEAN,) * 3, (PIXEL_SCALE,) * 3),
            stages={
                "stem": ("_conv_stem", "_bn0", "relu6"),
                **{f"block{i}": (f"_blocks.{i}",) for i in range(len(BLOCKS))},
                "head": ("_conv_head", "_bn1", "relu6"),
            },
            embedded_stages=(*(f"block{i}" for i in EMBEDDED_BLOCKS), "head"),
            train_from="block11",
        )
        self._conv_stem = SameConv2d(3, STEM_CHANNELS, 3, stride=2)
        self._bn0 = _batch_norm(STEM_CHANNELS)
        self._blocks = nn.Sequential(*map(InvertedResidual, BLOCKS))
        self._conv_head = SameConv2d(BLOCKS[-1].channels_out, HEAD_CHANNELS, 1)
        self._bn1 = _batch_norm(HEAD_CHANNELS)
        self.relu6 = nn.ReLU6()

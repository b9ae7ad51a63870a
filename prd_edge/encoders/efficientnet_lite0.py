"""EfficientNet-Lite0 (Tan & Le 2019; Lite: no squeeze-excite, ReLU6) as an ONNX graph.

The architecture is the table below; torch is not needed to write it down as a graph. Batch
normalisation is folded into the convolutions: at inference both are one affine map.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prd_edge.onnx_bytes import model_bytes

if TYPE_CHECKING:
    import onnx

BATCH_NORM_EPS = 1e-3
STEM_CHANNELS = 32
HEAD_CHANNELS = 1280
PIXEL_MEAN = 127.0
PIXEL_SCALE = 128.0

# Of these blocks' outputs the mean over the image and the spread around it are parts of the
# embedding; of the head's the mean is the last.
EMBEDDED_BLOCKS = (4, 7, 10, 14, 15)
SPREAD_EPS = 1e-6


class Block(NamedTuple):
    kernel: int
    stride: int
    expansion: int
    channels_in: int
    channels_out: int

    @property
    def has_skip(self) -> bool:
        return self.stride == 1 and self.channels_in == self.channels_out


def _blocks() -> Iterator[Block]:
    channels_in = STEM_CHANNELS
    for repeats, kernel, stride, expansion, channels in (
        (1, 3, 1, 1, 16),
        (2, 3, 2, 6, 24),
        (2, 5, 2, 6, 40),
        (3, 3, 2, 6, 80),
        (3, 5, 1, 6, 112),
        (4, 5, 2, 6, 192),
        (1, 3, 1, 6, 320),
    ):
        for repeat in range(repeats):
            yield Block(kernel, stride if repeat == 0 else 1, expansion, channels_in, channels)
            channels_in = channels


BLOCKS = tuple(_blocks())
EMBEDDING_PARTS = (
    *(BLOCKS[i].channels_out for i in EMBEDDED_BLOCKS for _ in ("mean", "spread")),
    HEAD_CHANNELS,
)


def same_padding(kernel: int, stride: int) -> tuple[int, int]:
    """TensorFlow's SAME padding (before, after) for inputs whose size the stride divides."""
    total = max(kernel - stride, 0)
    return total // 2, total - total // 2


class _GraphWriter:
    """Appends nodes and weights; every method returns the name of its output."""

    def __init__(self, weights: Mapping[str, np.ndarray]) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def node(self, op: str, *inputs: str, **attributes: object) -> str:
        from onnx import helper

        output = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def constant(self, name: str, value: np.ndarray | float) -> str:
        from onnx import numpy_helper

        self.initializers.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    def conv(
        self, x: str, name: str, norm: str, *, kernel: int, stride: int = 1, depthwise: bool = False
    ) -> str:
        w = self.weights[f"{name}.weight"].astype(np.float64)
        scale = self.weights[f"{norm}.weight"] / np.sqrt(
            self.weights[f"{norm}.running_var"].astype(np.float64) + BATCH_NORM_EPS
        )
        bias = self.weights[f"{norm}.bias"] - self.weights[f"{norm}.running_mean"] * scale
        before, after = same_padding(kernel, stride)
        return self.node(
            "Conv",
            x,
            self.constant(f"{name}.weight", (w * scale[:, None, None, None]).astype(np.float32)),
            self.constant(f"{name}.bias", bias.astype(np.float32)),
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
            pads=[before, before, after, after],
            group=w.shape[0] if depthwise else 1,
        )

    def relu6(self, x: str) -> str:
        return self.node("Clip", x, "zero", "six")

    def block(self, x: str, index: int, block: Block) -> str:
        prefix = f"_blocks.{index}"
        y = x
        if block.expansion != 1:
            y = self.relu6(self.conv(y, f"{prefix}._expand_conv", f"{prefix}._bn0", kernel=1))
        y = self.conv(
            y,
            f"{prefix}._depthwise_conv",
            f"{prefix}._bn1",
            kernel=block.kernel,
            stride=block.stride,
            depthwise=True,
        )
        y = self.conv(self.relu6(y), f"{prefix}._project_conv", f"{prefix}._bn2", kernel=1)
        return self.node("Add", y, x) if block.has_skip else y

    def unit_pool(self, x: str) -> str:
        pooled = self.node("Flatten", self.node("GlobalAveragePool", x))
        return self.node("LpNormalization", pooled, axis=1, p=2)

    def unit_spread(self, x: str) -> str:
        off = self.node("Sub", x, self.node("GlobalAveragePool", x))
        variance = self.node("GlobalAveragePool", self.node("Mul", off, off))
        spread = self.node("Sqrt", self.node("Add", self.node("Flatten", variance), "spread_eps"))
        return self.node("LpNormalization", spread, axis=1, p=2)


def build_onnx(weights: Mapping[str, np.ndarray]) -> bytes:
    """One graph: uint8 images (N, S, S, 3) in, embeddings (N, D) out, each part of unit length."""
    from onnx import TensorProto, helper

    g = _GraphWriter(weights)
    g.constant("zero", 0)
    g.constant("six", 6)
    g.constant("spread_eps", SPREAD_EPS)
    pixels = g.node("Cast", "image", to=TensorProto.FLOAT)
    x = g.node("Transpose", pixels, perm=[0, 3, 1, 2])
    x = g.node("Sub", x, g.constant("pixel_mean", PIXEL_MEAN))
    x = g.node("Div", x, g.constant("pixel_scale", PIXEL_SCALE))
    x = g.relu6(g.conv(x, "_conv_stem", "_bn0", kernel=3, stride=2))

    parts = []
    for index, block in enumerate(BLOCKS):
        x = g.block(x, index, block)
        if index in EMBEDDED_BLOCKS:
            parts += [g.unit_pool(x), g.unit_spread(x)]
    parts.append(g.unit_pool(g.relu6(g.conv(x, "_conv_head", "_bn1", kernel=1))))
    embedding = g.node("Concat", *parts, axis=1)
    g.nodes.append(helper.make_node("Identity", [embedding], ["embedding"]))

    graph = helper.make_graph(
        g.nodes,
        "efficientnet_lite0",
        [helper.make_tensor_value_info("image", TensorProto.UINT8, ["N", "S", "S", 3])],
        [
            helper.make_tensor_value_info(
                "embedding", TensorProto.FLOAT, ["N", sum(EMBEDDING_PARTS)]
            )
        ],
        g.initializers,
    )
    return model_bytes(graph)

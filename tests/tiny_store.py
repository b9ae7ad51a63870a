"""A whole store of a few kilobytes: every command works on it, and a commit costs milliseconds.

Its encoder takes the mean colour of the four quarters of a picture, so it tells colours apart.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from prd_edge import Runtime, StoreConfig
from prd_edge.commit import writing
from prd_edge.encoders import BuiltEncoder, EncoderSpec
from prd_edge.model import Knowledge, encoder_contents
from prd_edge.onnx_bytes import model_bytes
from prd_edge.store import Store
from tests.conftest import COLOURS, picture, write_session

SIZE = 32
SPEC = EncoderSpec("tiny", SIZE, (12,), "none")
CONFIG = StoreConfig(encoder=SPEC.name, image_size=SIZE)

__all__ = ["COLOURS", "create", "pairs", "picture", "teach", "tiny_encoder", "write_session"]


@cache
def tiny_encoder() -> BuiltEncoder:
    from onnx import TensorProto, helper, numpy_helper

    grey = np.array([128.0], np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["image"], ["numbers"], to=TensorProto.FLOAT),
            helper.make_node("Sub", ["numbers", "grey"], ["around_zero"]),
            helper.make_node("Transpose", ["around_zero"], ["planes"], perm=[0, 3, 1, 2]),
            helper.make_node(
                "AveragePool",
                ["planes"],
                ["quarters"],
                kernel_shape=[SIZE // 2, SIZE // 2],
                strides=[SIZE // 2, SIZE // 2],
            ),
            helper.make_node("Flatten", ["quarters"], ["flat"]),
            helper.make_node("LpNormalization", ["flat"], ["embedding"], axis=1, p=2),
        ],
        "tiny",
        [helper.make_tensor_value_info("image", TensorProto.UINT8, ["N", SIZE, SIZE, 3])],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["N", SPEC.dimensions])],
        [numpy_helper.from_array(grey, "grey")],
    )
    return BuiltEncoder(SPEC, {"grey": grey}, model_bytes(graph))


def create(path: Path) -> Runtime:
    """A store with the tiny encoder and no classes yet: version 1."""
    store = Store(path)
    with writing(store) as writer:
        writer.commit(
            {**encoder_contents(tiny_encoder()), **Knowledge.none(SPEC.dimensions).contents()},
            parent=None,
            action="init",
            config=CONFIG,
            encoder=SPEC,
            classes={},
            identities={},
            metrics={},
        )
    return Runtime.open(path, threads=1)


def pairs(*labels: str, images: int = 6, start: int = 0) -> list[tuple[np.ndarray, str]]:
    """Pictures with their labels, in memory: quicker to learn than a folder."""
    return [
        (picture(COLOURS[label], 1000 * list(COLOURS).index(label) + number), label)
        for label in labels
        for number in range(start, start + images)
    ]


def teach(path: Path) -> Runtime:
    """Versions 1 (no class), 2 (blue, green) and 3 (and red)."""
    runtime = create(path)
    runtime.learn_session(pairs("blue", "green"), mode="imprint")
    runtime.learn_session(pairs("green", "red", start=6), mode="imprint")
    return runtime

"""A store of a few kilobytes, made in milliseconds, and pictures that it tells apart."""

from __future__ import annotations

import io
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from prd_edge import Runtime, StoreConfig
from prd_edge.commit import writing
from prd_edge.encoders import BuiltEncoder, EncoderSpec
from prd_edge.learning import _commit_first
from prd_edge.model import encoder_contents
from prd_edge.onnx_bytes import model_bytes
from prd_edge.store import Store

SIZE = 32
SPEC = EncoderSpec("tiny", SIZE, (12,), "none")
COLOURS = {"blue": (30, 60, 200), "green": (40, 180, 60), "red": (210, 40, 30)}


def graph(parts: int = 2) -> bytes:
    """Mean colours of `parts` × `parts` fields, as a vector of unit length."""
    from onnx import TensorProto, helper, numpy_helper

    node = helper.make_node
    made = helper.make_graph(
        [
            node("Cast", ["image"], ["numbers"], to=TensorProto.FLOAT),
            node("Sub", ["numbers", "middle"], ["centred"]),
            node("Transpose", ["centred"], ["planes"], perm=[0, 3, 1, 2]),
            node("AveragePool", ["planes"], ["fields"], kernel_shape=[SIZE // parts] * 2,
                 strides=[SIZE // parts] * 2),
            node("Flatten", ["fields"], ["flat"]),
            node("LpNormalization", ["flat"], ["embedding"], axis=1, p=2),
        ],
        "tiny",
        [helper.make_tensor_value_info("image", TensorProto.UINT8, ["N", SIZE, SIZE, 3])],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["N", 3 * parts**2])],
        [numpy_helper.from_array(np.array([120.5], np.float32), "middle")],
    )  # fmt: skip
    return model_bytes(made)


def pixels(label: str, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).integers(-25, 26, (20, 24, 3))
    return np.clip(np.array(COLOURS[label]) + noise, 0, 255).astype(np.uint8)


def png(label: str, seed: int) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels(label, seed)).save(stream, "PNG")
    return stream.getvalue()


def write_session(folder: Path, *labels: str, images: int = 2, start: int = 0) -> Path:
    for label in labels:
        (folder / label).mkdir(parents=True)
        for number in range(start, start + images):
            (folder / label / f"{number}.png").write_bytes(png(label, number))
    return folder


@cache
def _made() -> tuple[TemporaryDirectory[str], Path]:
    folder = TemporaryDirectory(prefix="prd-edge-tiny-")
    path = Path(folder.name) / "store"
    encoder = BuiltEncoder(SPEC, {"middle": np.array([120.5], np.float32)}, graph())
    with writing(Store(path)) as writer:
        _commit_first(writer, StoreConfig("tiny", SIZE), encoder, encoder_contents(encoder))
    runtime = Runtime.open(path, threads=1)
    for labels in (("blue", "green"), ("green", "red")):
        pairs = [(pixels(label, 7 * i), label) for label in labels for i in range(6)]
        runtime.learn_session([*pairs, (pixels(labels[0], 1), labels[0])], mode="imprint")
    return folder, path


def make_store(path: Path) -> Path:
    """Versions 1 (no class), 2 (blue, green) and 3 (and red), whose files are all its own."""
    shutil.copytree(_made()[1], path)
    return path

"""Preprocessing, encoder and readout in one ONNX graph.

    image       uint8 (N, H, W, 3), any height and width
    confidence  float32 (N, C), in the order of the classes named in the metadata
    answer      int64 (N,), the most likely class
    unknown     bool (N,), whether the picture is too little like it
    likeness    float32 (N,), what `unknown` was decided by

The equations are those of `readout.py` and `likeness.py`; every export is checked against them.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, checker, compose, helper, numpy_helper, shape_inference

from prd_edge.errors import StoreCorruptError
from prd_edge.likeness import LENGTH
from prd_edge.onnx_bytes import OPSET
from prd_edge.readout import NEAR_TIE, Readout
from prd_edge.store import ENCODER_GRAPH, PREPROCESS_GRAPH
from prd_edge.version import __version__

from .base import Source

FORMAT = 1  # of the inputs, outputs and metadata


def whole_graph(
    source: Source, *, encoder: bytes | None = None, half_precision: bool = False
) -> bytes:
    """One model file, with another encoder than the store's, if given. `half_precision`: in
    which the readout's weights are kept."""
    try:
        return _merged(source, encoder, half_precision)
    except (ValueError, DecodeError, checker.ValidationError, shape_inference.InferenceError) as e:
        raise StoreCorruptError(
            f"the graphs of version {source.version.name} do not fit together: {e}"
        ) from e


def _merged(source: Source, encoder: bytes | None, half_precision: bool) -> bytes:
    preprocess = onnx.load_from_string(source.version.read(PREPROCESS_GRAPH))
    network = onnx.load_from_string(encoder or source.version.read(ENCODER_GRAPH))
    looks = len(source.predictor.embedder.preprocess(np.zeros((8, 8, 3), np.uint8)))
    answers = _readout_model(source.predictor.readout, looks, half_precision)
    # Both sides call their input `image`; only that of the whole keeps the name.
    network = compose.add_prefix(network, "encoder/")
    answers = compose.add_prefix(answers, "readout/", rename_inputs=False, rename_outputs=False)
    model = compose.merge_models(preprocess, network, [("square", "encoder/image")])
    model = compose.merge_models(model, answers, [("encoder/embedding", "embeddings")])
    del model.opset_import[:]  # a quantiser names every domain it knows; only the standard is used
    model.opset_import.append(helper.make_opsetid("", OPSET))
    model.producer_name, model.producer_version = "prd-edge", __version__
    helper.set_model_props(model, metadata(source))
    checker.check_model(model, full_check=True)
    data: bytes = model.SerializeToString(deterministic=True)
    return data


def metadata_of(data: bytes) -> dict[str, str]:
    """What a model says of itself; nothing where it is none."""
    try:
        return {entry.key: entry.value for entry in onnx.load_from_string(data).metadata_props}
    except DecodeError:
        return {}


def with_metadata(data: bytes, more: dict[str, str]) -> bytes:
    """The same model, which says this of itself as well."""
    model = onnx.load_from_string(data)
    helper.set_model_props(model, metadata_of(data) | more)
    stamped: bytes = model.SerializeToString(deterministic=True)
    return stamped


def metadata(source: Source) -> dict[str, str]:
    manifest, readout = source.version.manifest, source.predictor.readout
    return {
        "format": str(FORMAT),
        "classes": json.dumps(list(readout.labels), ensure_ascii=False),
        "version": source.version.name,
        "created": manifest.created,
        "encoder": manifest.encoder.name,
        "licence": f"weights: {manifest.encoder.licence}",
        "preprocessing": "inside the graph: give decoded RGB pictures, uint8, of any size, upright",
        "thresholds": json.dumps(
            {
                label: round(float(r), 6)
                for label, r in zip(readout.labels, readout.radii, strict=True)
            },
            ensure_ascii=False,
        ),
    }


def _readout_model(readout: Readout, looks: int, half_precision: bool) -> onnx.ModelProto:
    g = _Nodes()
    directions = readout.directions
    count, width = readout.weights.shape
    by_look = g.node("Reshape", "embeddings", g.integers("shape", -1, looks, width))
    x = g.node("ReduceMean", by_look, g.integers("axis", 1), keepdims=0)  # (N, D)
    kept = g.in_half_precision if half_precision else g.numbers
    products = g.node("MatMul", x, kept("weights", readout.weights.T))  # (N, C)
    scores = g.node("Add", products, g.numbers("biases", readout.biases))
    in_margins = g.node("Div", scores, g.numbers("margin", readout.margin))
    best = g.node("ReduceMax", in_margins, "axis", keepdims=1)
    behind = g.node("Sub", best, in_margins)
    roots = g.node("Sqrt", g.node("Add", behind, g.numbers("near_tie", NEAR_TIE)))
    cooled = g.node("Div", roots, g.numbers("temperature", -readout.temperature.in_margins))
    g.node("Softmax", cooled, called="confidence", axis=1)
    answer = g.node("ArgMax", scores, called="answer", axis=1, keepdims=0)  # (N,)

    along = g.node("Sub", products, g.numbers("starts", directions.starts))
    turned = g.node("MatMul", along, g.numbers("inverse", directions.inverse))
    zero = g.numbers("zero", 0)
    shadow = g.node("ReduceSum", g.node("Mul", turned, along), "axis", keepdims=0)  # (N,)
    shadow = g.node("Max", shadow, zero)
    length = g.node("Gather", g.numbers("lengths", directions.lengths), answer)  # (N,)
    column = g.node("Unsqueeze", answer, "axis")
    towards = g.node("Squeeze", g.node("GatherElements", along, column, axis=1), "axis")
    damping = g.node("Mul", length, g.numbers("damping", LENGTH / max(count, 1)))
    squares = g.node("Mul", length, g.node("Add", shadow, damping))
    has_length = g.node("Greater", length, zero)
    one = g.numbers("one", 1)
    root = g.node("Sqrt", g.node("Where", has_length, squares, one))
    cosine = g.node("Div", towards, root)
    level = g.numbers("level", np.sqrt(1 + directions.typical()))
    likeness = g.node("Where", has_length, g.node("Mul", cosine, level), one, called="likeness")
    g.node(
        "Less",
        likeness,
        g.node("Gather", g.numbers("radii", readout.radii), answer),
        called="unknown",
    )

    def value(name: str, kind: int, *shape: str | int) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    graph = helper.make_graph(
        g.nodes,
        "readout",
        [value("embeddings", TensorProto.FLOAT, "M", width)],
        [
            value("confidence", TensorProto.FLOAT, "N", count),
            value("answer", TensorProto.INT64, "N"),
            value("unknown", TensorProto.BOOL, "N"),
            value("likeness", TensorProto.FLOAT, "N"),
        ],
        g.initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


class _Nodes:
    """Nodes and constants of a graph being written."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def node(self, op: str, *inputs: str, called: str | None = None, **attributes: Any) -> str:
        output = called or f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def numbers(self, name: str, value: Any) -> str:
        array = np.ascontiguousarray(np.asarray(value, np.float32))
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def in_half_precision(self, name: str, value: np.ndarray) -> str:
        """Kept so, as parts of the largest, and used in single precision."""
        largest = max(float(np.abs(value).max()), float(np.finfo(np.float32).tiny))
        array = np.ascontiguousarray((value / largest).astype(np.float16))
        self.initializers.append(numpy_helper.from_array(array, name))
        parts = self.node("Cast", name, to=TensorProto.FLOAT)
        return self.node("Mul", parts, self.numbers(f"{name}_unit", largest))

    def integers(self, name: str, *values: int) -> str:
        self.initializers.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

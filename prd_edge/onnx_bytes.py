"""A graph becomes the bytes of a model file: checked, and the same bytes every time. And back: what
such bytes hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

OPSET = 18
_IR_VERSION = 9
_BYTES_A_THING = 200  # a node or a tensor of ours takes up fewer, its numbers apart


def model_bytes(graph: onnx.GraphProto) -> bytes:
    from onnx import checker, helper

    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=_IR_VERSION,
        producer_name="prd-edge",
    )
    checker.check_model(model)
    data: bytes = model.SerializeToString(deterministic=True)
    return data


def numbers_in(data: bytes) -> int | None:
    """How many numbers a model file holds; None where it is no plain graph in which every number
    is in use, but has room for something else."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load_from_string(data)
    except DecodeError:
        return None
    model.DiscardUnknownFields()
    graph = model.graph
    used = {name for node in graph.node for name in node.input}
    remarks = [model.doc_string, graph.doc_string, *(own.doc_string for own in graph.node)]
    remarks += [own.doc_string for own in graph.initializer]
    attributes = [own for node in graph.node for own in node.attribute]
    is_plain = (
        not any(remarks)
        and not (model.metadata_props or model.functions or model.training_info)
        and not (graph.sparse_initializer or graph.quantization_annotation)
        and all(own.name in used and not own.external_data for own in graph.initializer)
        and not any(own.HasField("t") or own.HasField("g") or own.strings for own in attributes)
        and model.SerializeToString(deterministic=True) == data
    )
    things = len(graph.node) + len(graph.initializer)
    beside = len(data) - sum(len(own.raw_data) for own in graph.initializer)
    if not is_plain or beside > _BYTES_A_THING * (things + 10):
        return None
    given = sum(len(own.ints) + len(own.floats) + len(own.s) for own in attributes)
    return given + sum(_size(own) for own in graph.initializer)


def _size(tensor: onnx.TensorProto) -> int:
    size = 1
    for length in tensor.dims:
        size *= length
    return size

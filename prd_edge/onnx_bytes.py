"""A graph becomes the bytes of a model file: checked, and the same bytes every time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

OPSET = 18
_IR_VERSION = 9


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

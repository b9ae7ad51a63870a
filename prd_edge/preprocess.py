"""The one preprocessing, as an ONNX graph kept in the store.

Learning, prediction, calibration and exports all run this graph: a central square of 7/8 of the
short side, scaled by an antialiased bicubic filter to the encoder's input. uint8 in and out, so
that what an encoder sees can be compared byte for byte. The numeric part is inside the encoder's
graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prd_edge.inference import open_graph
from prd_edge.onnx_bytes import model_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PILLOW_CUBIC = -0.5


class Preprocessor:
    def __init__(self, graph: bytes) -> None:
        # One thread: callers run several images side by side instead.
        self._session = open_graph(graph, "preprocess.onnx", threads=1)

    def __call__(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """(H, W, 3) to (1, S, S, 3)."""
        (square,) = self._session.run(["square"], {"image": image[None]})
        result: NDArray[np.uint8] = square
        return result


def build_onnx(size: int) -> bytes:
    """uint8 `image` (N, H, W, 3) to uint8 `square` (N, size, size, 3)."""
    from onnx import TensorProto, helper, numpy_helper

    def integers(name: str, *values: int) -> TensorProto:
        return numpy_helper.from_array(np.array(values, np.int64), name)

    graph = helper.make_graph(
        [
            helper.make_node("Shape", ["image"], ["height_width"], start=1, end=3),
            helper.make_node("ReduceMin", ["height_width"], ["short"]),
            helper.make_node("Mul", ["short", "seven"], ["sevenfold"]),
            helper.make_node("Add", ["sevenfold", "seven"], ["rounded_up"]),  # never zero
            helper.make_node("Div", ["rounded_up", "eight"], ["side"]),
            helper.make_node("Sub", ["height_width", "side"], ["margins"]),
            helper.make_node("Div", ["margins", "two"], ["start"]),
            helper.make_node("Add", ["start", "side"], ["end"]),
            helper.make_node("Slice", ["image", "start", "end", "spatial"], ["centre"]),
            helper.make_node(
                "Resize",
                ["centre", "", "", "size"],
                ["square"],
                mode="cubic",
                antialias=1,
                axes=[1, 2],
                coordinate_transformation_mode="half_pixel",
                cubic_coeff_a=_PILLOW_CUBIC,
                exclude_outside=1,  # as Pillow treats the border
            ),
        ],
        "preprocess",
        [helper.make_tensor_value_info("image", TensorProto.UINT8, ["N", "H", "W", 3])],
        [helper.make_tensor_value_info("square", TensorProto.UINT8, ["N", size, size, 3])],
        [
            integers("two", 2),
            integers("seven", 7),
            integers("eight", 8),
            integers("spatial", 1, 2),
            integers("size", size, size),
        ],
    )
    return model_bytes(graph)

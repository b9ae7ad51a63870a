"""The one preprocessing, as an ONNX graph kept in the store.

Learning, prediction, calibration and exports all run this graph. It gives two looks at a picture:
the central square, and once more its middle, nearer and mirrored; an embedding is the mean of
both. Things are photographed from near and far, and an encoder sees them at one size: neither
look alone does as well (docs/results.md). Each is scaled by an antialiased bicubic filter to the
encoder's input, uint8 in and out, so that what an encoder sees can be compared byte for byte. The
numeric part is inside the encoder's graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prd_edge.inference import open_graph, run_graph
from prd_edge.onnx_bytes import model_bytes

if TYPE_CHECKING:
    import onnx
    from numpy.typing import NDArray

_PILLOW_CUBIC = -0.5


class Look(NamedTuple):
    eighths: int  # of the picture's short side, the side of the central square
    is_mirrored: bool


LOOKS = (Look(8, is_mirrored=False), Look(5, is_mirrored=True))


class Preprocessor:
    def __init__(self, graph: bytes) -> None:
        # One thread: callers run several images side by side instead.
        self._session = open_graph(graph, "preprocess.onnx", threads=1)

    def __call__(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """(H, W, 3) to its looks (L, S, S, 3)."""
        result: NDArray[np.uint8]
        result = run_graph(self._session, "preprocess.onnx", "square", image[None])
        return result


def build_onnx(size: int, looks: tuple[Look, ...] = LOOKS) -> bytes:
    """uint8 `image` (N, H, W, 3) to uint8 `square` (N L, S, S, 3), the looks at one together."""
    from onnx import TensorProto, helper, numpy_helper

    constants = {
        "one": [1],
        "two": [2],
        "seven": [7],
        "eight": [8],
        "spatial": [1, 2],
        "across": [2],
        "backwards": [-1],
        "beyond_first": [-size - 1],
        "size": [size, size],
        "squares": [-1, size, size, 3],
        **{f"eighths_{number}": [look.eighths] for number, look in enumerate(looks)},
    }
    graph = helper.make_graph(
        [
            helper.make_node("Shape", ["image"], ["height_width"], start=1, end=3),
            helper.make_node("ReduceMin", ["height_width"], ["short"]),
            *(node for number, look in enumerate(looks) for node in _look_nodes(number, look)),
            helper.make_node("Concat", [f"look_{i}" for i in range(len(looks))], ["looks"], axis=1),
            helper.make_node("Reshape", ["looks", "squares"], ["square"]),
        ],
        "preprocess",
        [helper.make_tensor_value_info("image", TensorProto.UINT8, ["N", "H", "W", 3])],
        [helper.make_tensor_value_info("square", TensorProto.UINT8, ["M", size, size, 3])],
        [
            numpy_helper.from_array(np.array(values, np.int64), name)
            for name, values in constants.items()
        ],
    )
    return model_bytes(graph)


def _look_nodes(number: int, look: Look) -> list[onnx.NodeProto]:
    """From `image` and the length of its `short` side to `look_<number>` (N, 1, S, S, 3)."""
    from onnx import helper

    nodes = []

    def node(op: str, *inputs: str, to: str, **attributes: object) -> str:
        nodes.append(helper.make_node(op, inputs, [f"{to}_{number}"], **attributes))
        return f"{to}_{number}"

    eightfold = node("Mul", "short", f"eighths_{number}", to="eightfold")
    rounded_up = node("Add", eightfold, "seven", to="rounded_up")  # never zero
    side = node("Div", rounded_up, "eight", to="side")
    margins = node("Sub", "height_width", side, to="margins")
    start = node("Div", margins, "two", to="start")
    end = node("Add", start, side, to="end")
    square = node(
        "Resize",
        node("Slice", "image", start, end, "spatial", to="centre"),
        "",
        "",
        "size",
        to="resized",
        mode="cubic",
        antialias=1,
        axes=[1, 2],
        coordinate_transformation_mode="half_pixel",
        cubic_coeff_a=_PILLOW_CUBIC,
        exclude_outside=1,  # as Pillow treats the border
    )
    if look.is_mirrored:
        square = node(
            "Slice", square, "backwards", "beyond_first", "across", "backwards", to="mirrored"
        )
    node("Unsqueeze", square, "one", to="look")
    return nodes

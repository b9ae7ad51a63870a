"""The encoder in eight bits, calibrated on pictures the user gives.

Static quantisation, with one scale for each channel of the weights or one for all: which is better
depends on the network, so both are tried, and the one whose answers are nearer to the store's is
kept. The first convolutions stay in single precision: they have few weights, and every feature
stands on them (docs/results.md). The readout's weights are kept in half
precision: in eight bits they cost a point of agreement.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median

import numpy as np
import onnx

from prd_edge.errors import NoUsableDataError
from prd_edge.inference import available_threads, open_graph, run_graph
from prd_edge.store import ENCODER_GRAPH

from .base import Source
from .certificate import Certificate
from .graph import whole_graph
from .onnx import OnnxExporter
from .pictures import Picture

_FEWEST = 20  # pictures to fit on, and as many to check with: fewer tell nothing
_IN_FLOAT = 12  # convolutions at the front
_TIMED = 8  # pictures, each so often as below
_REPEATS = 3


class Int8Exporter(OnnxExporter):
    name = "onnx-int8"
    is_fitted = True
    agreement = 0.97
    tolerance = None

    def build(self, source: Source, calibration: Iterable[Picture]) -> bytes:
        looks = [source.predictor.embedder.preprocess(picture) for picture in calibration]
        if len(looks) < _FEWEST:
            raise _too_few(len(looks), "fitted on")
        encoder = source.version.read(ENCODER_GRAPH)
        readout = source.predictor.readout
        wanted = readout.confidences(readout.scores(_embeddings(encoder, looks)))

        def distance(candidate: bytes) -> float:
            found = readout.confidences(readout.scores(_embeddings(candidate, looks)))
            return float(np.abs(found - wanted).mean())

        tried = [_quantised(encoder, looks, per_channel=each) for each in (True, False)]
        return whole_graph(source, encoder=min(tried, key=distance), half_precision=True)

    def certified(self, source: Source, data: bytes, pictures: Iterable[Picture]) -> Certificate:
        found = super().certified(source, data, pictures)
        if found.images < _FEWEST:
            raise _too_few(found.images, "checked with")
        whole = whole_graph(source)
        return replace(
            found,
            size_ratio=round(len(data) / len(whole), 3),
            speed_ratio=round(_speed_ratio(data, whole, islice(pictures, _TIMED)), 2),
        )


def _too_few(count: int, use: str) -> NoUsableDataError:
    return NoUsableDataError(
        f"onnx-int8 is {use} at least {_FEWEST} pictures, and there are {count}; give more with "
        "--calibrate (half of them are for checking, unless --images gives others for that)"
    )


def _embeddings(encoder: bytes, looks: list[np.ndarray]) -> np.ndarray:
    """Of each picture, the mean over its looks: (N, D)."""
    session = open_graph(encoder, ENCODER_GRAPH, threads=available_threads())
    return np.stack(
        [run_graph(session, ENCODER_GRAPH, "embedding", own).mean(axis=0) for own in looks]
    )


def _speed_ratio(data: bytes, whole: bytes, pictures: Iterable[Picture]) -> float:
    """How much faster the first is, side by side, picture by picture; on one thread, since the
    idle threads of one model would take time from the other."""
    sessions = [open_graph(model, "a model", threads=1) for model in (whole, data)]
    seconds: list[list[float]] = [[], []]
    for picture in pictures:
        for _ in range(_REPEATS):
            for session, own in zip(sessions, seconds, strict=True):
                started = time.perf_counter()
                session.run(["answer"], {"image": picture[None]})
                own.append(time.perf_counter() - started)
    return median(seconds[0]) / median(seconds[1])


def _quantised(encoder: bytes, looks: list[np.ndarray], *, per_channel: bool) -> bytes:
    from onnxruntime.quantization import (
        CalibrationDataReader,
        CalibrationMethod,
        QuantFormat,
        QuantType,
        quantize_static,
    )
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Looks(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._left: Iterator[np.ndarray] = iter(looks)

        def get_next(self) -> dict[str, np.ndarray] | None:
            own = next(self._left, None)
            return None if own is None else {"image": own}

    model = onnx.load_from_string(encoder)
    for node in model.graph.node:
        node.name = node.output[0]  # what is left in float is chosen by name
    convolutions = [node.name for node in model.graph.node if node.op_type == "Conv"]
    # The quantiser knows files only. What it leaves there are weights, and nothing of a picture.
    with tempfile.TemporaryDirectory(prefix="prd-edge-int8-") as scratch:
        plain, prepared, result = (Path(scratch) / name for name in ("a.onnx", "b.onnx", "c.onnx"))
        plain.write_bytes(model.SerializeToString())
        quant_pre_process(str(plain), str(prepared), skip_symbolic_shape=True)
        quantize_static(
            str(prepared),
            str(result),
            Looks(),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=["Conv"],
            nodes_to_exclude=convolutions[:_IN_FLOAT],
            per_channel=per_channel,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            calibrate_method=CalibrationMethod.MinMax,
            extra_options={
                # The mean of the pictures' extremes: one bright spot shall not decide for all.
                "CalibMovingAverage": True,
                "QuantizeBias": False,  # three numbers a channel instead of one
            },
        )
        return result.read_bytes()

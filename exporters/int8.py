"""The encoder in eight bits, calibrated on pictures the user gives; readout and preprocessing stay
as they are.

Static quantisation, with one scale for each channel of the weights or one for all: which is better
depends on the network, so both are tried, and the one that agrees more often with the store is
kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from prd_edge.errors import NoUsableDataError
from prd_edge.model import ENCODER_GRAPH

from .base import Answerer, Options, Source
from .certificate import certify
from .graph import whole_graph
from .onnx import MODEL, onnx_answerer


class Int8Exporter:
    suffix = ".onnx"
    agreement = 0.97
    tolerance = float("inf")

    def build(self, source: Source, options: Options) -> dict[str, bytes]:
        if not options.calibration:
            raise NoUsableDataError(
                "eight bits are calibrated on pictures like those to come: give a folder of some "
                "with --calibrate"
            )
        preprocess = source.predictor.embedder.preprocess
        looks = np.concatenate([preprocess(picture) for picture in options.calibration])
        encoder = source.version.read(ENCODER_GRAPH)
        tried = []
        for per_channel in (True, False):
            eight_bits = _quantised(encoder, looks, per_channel=per_channel)
            model = whole_graph(source, eight_bits).SerializeToString(deterministic=True)
            found = certify(onnx_answerer(model), source, options.calibration)
            tried.append((found.top1_agreement, -found.largest_difference, model))
        return {MODEL: max(tried, key=lambda entry: entry[:2])[2]}

    def open(self, files: Mapping[str, bytes]) -> Answerer:
        return onnx_answerer(files[MODEL])


def _quantised(encoder: bytes, looks: np.ndarray, *, per_channel: bool) -> bytes:
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
            look = next(self._left, None)
            return None if look is None else {"image": look[None]}

    with tempfile.TemporaryDirectory(prefix="prd-edge-int8-") as scratch:
        plain, prepared, result = (Path(scratch) / name for name in ("a.onnx", "b.onnx", "c.onnx"))
        plain.write_bytes(encoder)
        quant_pre_process(str(plain), str(prepared), skip_symbolic_shape=True)
        quantize_static(
            str(prepared),
            str(result),
            Looks(),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=["Conv"],
            per_channel=per_channel,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            calibrate_method=CalibrationMethod.MinMax,
        )
        return result.read_bytes()

"""The encoder in eight bits, calibrated on pictures the user gives.

Eight bits change what the encoder says of a picture, as training does. On the pictures given both
are known, so the prototypes are moved along, and the metric is told of the noise (transport.py):
the readout fits the encoder that it stands behind.

Static quantisation, with one scale for each channel of the weights or one for all: which is better
depends on the network, so both are tried, and the one that agrees more often with the store is
kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from prd_edge.errors import NoUsableDataError
from prd_edge.inference import available_threads, open_graph
from prd_edge.model import load_knowledge
from prd_edge.readout import Readout
from prd_edge.store import ENCODER_GRAPH
from prd_edge.transport import transported

from .base import Source, compared
from .graph import whole_graph
from .onnx import OnnxExporter
from .pictures import Picture


class Int8Exporter(OnnxExporter):
    agreement = 0.97
    tolerance = float("inf")

    def build(self, source: Source, calibration: Sequence[Picture]) -> bytes:
        if not calibration:
            raise NoUsableDataError(
                "eight bits are calibrated on pictures like those to come: give a folder of some "
                "with --calibrate"
            )
        preprocess = source.predictor.embedder.preprocess
        looks = np.concatenate([preprocess(picture) for picture in calibration])
        encoder = source.version.read(ENCODER_GRAPH)
        known = load_knowledge(source.version)
        before = _embeddings(encoder, looks, len(calibration))
        tried = []
        for per_channel in (True, False):
            eight_bits = _quantised(encoder, looks, per_channel=per_channel)
            after = _embeddings(eight_bits, looks, len(calibration))
            moved = transported(known.bank, before, after, slice(0, known.bank.dimensions))
            readout = Readout.of(moved).at(known.readout.temperature)
            data = whole_graph(source, encoder=eight_bits, readout=readout)
            found = compared(self.open(data), source, calibration)
            tried.append((found.top1_agreement, -found.largest_difference, data))
        return max(tried, key=lambda entry: entry[:2])[2]


def _embeddings(encoder: bytes, looks: np.ndarray, pictures: int) -> np.ndarray:
    """Of each picture, the mean over its looks: (pictures, D)."""
    session = open_graph(encoder, ENCODER_GRAPH, threads=available_threads())
    found = [session.run(["embedding"], {"image": look[None]})[0][0] for look in looks]
    by_picture = np.stack(found).reshape(pictures, -1, found[0].size)
    result: np.ndarray = by_picture.mean(axis=1)
    return result


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

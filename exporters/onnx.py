"""One self-contained ONNX file, for any onnxruntime: ten lines open it (docs/exporters.md)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from prd_edge.inference import available_threads, open_graph

from .base import Answer, Answerer, Options, Source
from .graph import whole_graph

MODEL = "model.onnx"


class OnnxExporter:
    suffix = ".onnx"
    agreement = 1.0
    tolerance = 1e-4

    def build(self, source: Source, options: Options) -> dict[str, bytes]:  # noqa: ARG002
        return {MODEL: whole_graph(source).SerializeToString(deterministic=True)}

    def open(self, files: Mapping[str, bytes]) -> Answerer:
        return onnx_answerer(files[MODEL])


def onnx_answerer(model: bytes) -> Answerer:
    session = open_graph(model, MODEL, threads=available_threads())

    def answer(picture: np.ndarray) -> Answer:
        confidence, unknown = session.run(["confidence", "unknown"], {"image": picture[None]})
        return Answer(confidence[0], bool(unknown[0]))

    return answer

"""One self-contained ONNX file, for any onnxruntime: ten lines open it (docs/exporters.md)."""

from __future__ import annotations

from collections.abc import Sequence

from prd_edge.inference import available_threads, open_graph

from .base import Answer, Answerer, Exporter, Source
from .graph import whole_graph
from .pictures import Picture


class OnnxExporter(Exporter):
    suffix = ".onnx"

    def build(self, source: Source, calibration: Sequence[Picture]) -> bytes:  # noqa: ARG002
        return whole_graph(source)

    def open(self, data: bytes) -> Answerer:
        session = open_graph(data, "the exported file", threads=available_threads())

        def answer(picture: Picture) -> Answer:
            confidence, unknown = session.run(["confidence", "unknown"], {"image": picture[None]})
            return Answer(confidence[0], bool(unknown[0]))

        return answer

"""One self-contained ONNX file, for any onnxruntime: ten lines open it (docs/exporters.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from prd_edge.errors import InvalidInputError
from prd_edge.inference import available_threads, open_graph

from .base import Answer, Answerer, Exporter, Source
from .certificate import Certificate
from .graph import metadata_of, whole_graph, with_metadata
from .pictures import Picture


class OnnxExporter(Exporter):
    name = "onnx"
    suffix = ".onnx"

    def build(self, source: Source, calibration: Iterable[Picture]) -> bytes:  # noqa: ARG002
        return whole_graph(source)

    def open(self, data: bytes) -> Answerer:
        session = open_graph(data, "the exported file", threads=available_threads())
        classes = classes_of(session.get_modelmeta().custom_metadata_map)

        def answer(picture: Picture) -> Answer:
            try:
                confidence, best, unknown = session.run(
                    ["confidence", "answer", "unknown"], {"image": picture[None]}
                )
                confidences = dict(zip(classes, confidence[0].tolist(), strict=True))
                return Answer(classes[int(best[0])], confidences, bool(unknown[0]))
            except Exception as error:  # a graph of somebody else may do anything
                raise InvalidInputError(
                    f"the file does not answer as an export does ({error}); export it anew"
                ) from error

        return answer

    def stamped(self, data: bytes, certificate: Certificate) -> bytes:
        return with_metadata(data, {"certificate": certificate.to_json()})

    def certificate_inside(self, data: bytes) -> str | None:
        return metadata_of(data).get("certificate")

    def certificate(self, target: Path) -> Certificate | None:
        """Beside the file or, if it was moved away from there, inside."""
        beside = super().certificate(target)
        if beside is not None:
            return beside
        try:
            return Certificate.from_json(metadata_of(self.read(target)).get("certificate", ""))
        except InvalidInputError:
            return None


def classes_of(metadata: Mapping[str, str]) -> list[str]:
    try:
        found = json.loads(metadata["classes"])
    except (KeyError, ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(label, str) for label in found):
        raise InvalidInputError(
            "the file does not name its classes; it was not exported by prd-edge"
        )
    return found

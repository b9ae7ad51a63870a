"""The proof that files answer as the store does: both are asked about the same pictures."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Self

import numpy as np

from prd_edge.errors import GuardRefusedError, InvalidInputError

from .base import Answerer, Exporter, Source


@dataclass(frozen=True)
class Certificate:
    images: int
    top1_agreement: float  # share of the pictures whose most likely class is the store's
    unknown_agreement: float  # share of those that are, or are not, unknown to both
    largest_difference: float  # of any confidence
    version: str  # that was exported

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise InvalidInputError(f"not a certificate of an export ({error})") from error


def certify(answer: Answerer, source: Source, pictures: Iterable[np.ndarray]) -> Certificate:
    """Ask the files and the store about each picture, decoded, uint8 (H, W, 3)."""
    same, both, largest, count = 0, 0, 0.0, 0
    for picture in pictures:
        verdict = source.predictor.readout.verdict(source.predictor.embedder.embed_alone(picture))
        found = answer(picture)
        same += int(found.confidences.argmax() == verdict.confidences.argmax())
        both += int(found.unknown == (verdict.label is None))
        largest = max(largest, float(np.abs(found.confidences - verdict.confidences).max()))
        count += 1
    if not count:
        raise InvalidInputError("no picture to check the export with; give some that can be read")
    return Certificate(count, same / count, both / count, largest, source.version.name)


def refuse_disagreement(certificate: Certificate, exporter: Exporter) -> None:
    c = certificate
    if c.top1_agreement >= exporter.agreement and c.largest_difference <= exporter.tolerance:
        return
    raise GuardRefusedError(
        f"the export answers otherwise than the store: of {c.images} pictures "
        f"{100 * c.top1_agreement:.1f} % get the same answer, at least "
        f"{100 * exporter.agreement:.1f} % must; confidence differs by up to "
        f"{c.largest_difference:.2g}; nothing was written"
    )

"""What an exporter is: it turns a version into bytes, and can answer from them.

    class MyExporter(Exporter):
        suffix = ".mine"

        def build(self, source: Source, calibration: Sequence[Picture]) -> bytes:
            ...  # the file

        def open(self, data: bytes) -> Answerer:
            ...  # answers pictures from the file alone

The rest is done for it: the store and the file are asked about the same pictures, and nothing is
written if they disagree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from prd_edge.errors import InvalidInputError
from prd_edge.files import explained, replace_file
from prd_edge.model import load_predictor
from prd_edge.predictor import Predictor
from prd_edge.store import Version

from .certificate import Certificate, refuse_disagreement
from .pictures import Picture, demo_pictures, read_pictures

CERTIFICATE = ".certificate.json"  # beside what it certifies


class Answer(NamedTuple):
    """Of one picture."""

    confidences: np.ndarray  # (C,), in the order of the classes
    unknown: bool


Answerer = Callable[[Picture], Answer]


@dataclass(frozen=True)
class Source:
    """What is exported."""

    version: Version
    predictor: Predictor

    @classmethod
    def of(cls, version: Version) -> Source:
        predictor = load_predictor(version)
        predictor.refuse_empty()
        return cls(version, predictor)

    def answer(self, picture: Picture) -> Answer:
        verdict = self.predictor.readout.verdict(self.predictor.embedder.embed_alone(picture))
        return Answer(verdict.confidences, verdict.label is None)


class Exporter(ABC):
    suffix: str  # of the file
    agreement = 1.0  # the least share of pictures with the same answer as the store
    tolerance = 1e-4  # the largest difference of a confidence

    @abstractmethod
    def build(self, source: Source, calibration: Sequence[Picture]) -> bytes:
        """The file; `calibration` are pictures that the user gave to fit it on."""

    @abstractmethod
    def open(self, data: bytes) -> Answerer: ...

    def export(
        self,
        version: Version,
        target: Path,
        *,
        calibrate: Path | None = None,
        images: Path | None = None,
    ) -> Certificate:
        """Write the version to `target`, and what the check found beside it.

        `calibrate`: a folder of pictures to fit the format on, where it needs some. `images`: one
        of pictures to check the result with; without it those, or demo pictures.
        """
        self._refuse_target(target)
        source = Source.of(version)
        calibration = read_pictures(calibrate) if calibrate else []
        data = self.build(source, calibration)
        pictures = read_pictures(images) if images else calibration or demo_pictures()
        found = compared(self.open(data), source, pictures)
        refuse_disagreement(found, self.agreement, self.tolerance)
        with explained(target, "write"):
            replace_file(target, data)
            beside = target.with_name(target.name + CERTIFICATE)
            replace_file(beside, found.to_json().encode() + b"\n")
        return found

    def check(self, version: Version, target: Path, *, images: Path | None = None) -> Certificate:
        """Ask a file that was exported, and the version it came from, once more."""
        try:
            data = target.read_bytes()
        except OSError as error:
            raise InvalidInputError(f"cannot read {target}: {error.strerror}") from error
        pictures = read_pictures(images) if images else demo_pictures()
        found = compared(self.open(data), Source.of(version), pictures)
        refuse_disagreement(found, self.agreement, self.tolerance)
        return found

    def _refuse_target(self, target: Path) -> None:
        if target.suffix != self.suffix:
            raise InvalidInputError(f"{target} should end in {self.suffix}; choose another name")
        if target.is_dir():
            raise InvalidInputError(f"{target} is a folder; name a file")
        if not target.parent.is_dir():
            raise InvalidInputError(f"no folder {target.parent}; make it first")


def compared(answer: Answerer, source: Source, pictures: Sequence[Picture]) -> Certificate:
    """Ask both about each picture."""
    same, both, largest = 0, 0, 0.0
    for picture in pictures:
        ours, theirs = source.answer(picture), answer(picture)
        if theirs.confidences.shape != ours.confidences.shape:
            raise InvalidInputError(
                f"the file knows {theirs.confidences.size} classes, version {source.version.name} "
                f"{ours.confidences.size}; name the version it was exported from with --version"
            )
        same += int(theirs.confidences.argmax() == ours.confidences.argmax())
        both += int(theirs.unknown == ours.unknown)
        largest = max(largest, float(np.abs(theirs.confidences - ours.confidences).max()))
    count = len(pictures)
    return Certificate(count, same / count, both / count, largest, source.version.name)

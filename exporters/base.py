"""What an exporter is: it turns a version into bytes, and can answer from them.

    class MyExporter(Exporter):
        name = "mine"
        suffix = ".mine"

        def build(self, source: Source, calibration: Iterable[Picture]) -> bytes:
            ...  # the model

        def open(self, data: bytes) -> Answerer:
            ...  # answers pictures from these bytes alone

The rest is done for it: the store and the model are asked about the same pictures, and nothing is
written if they disagree.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from math import inf, isfinite
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

import numpy as np

from prd_edge.errors import GuardRefusedError, InvalidInputError
from prd_edge.files import explained, replace_files
from prd_edge.model import load_predictor
from prd_edge.model_card import model_card
from prd_edge.plain_file import NotPlainError, read_plain_file
from prd_edge.predictor import Predictor
from prd_edge.store import Version
from prd_edge.targets import refuse_target

from .certificate import Certificate, canonical, document_of, refuse_disagreement
from .pictures import Picture, demo_pictures, pictures_to_check, pictures_to_fit


class Answer(NamedTuple):
    """Of one picture."""

    label: str  # of the most likely class, unknown or not
    confidences: Mapping[str, float]  # of every class
    unknown: bool


_LARGEST_CERTIFICATE = 2**20

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
        predictor.embedder.embed_alone(np.zeros((8, 8, 3), np.uint8))  # an encoder that can be run
        return cls(version, predictor)

    def answer(self, picture: Picture) -> Answer:
        readout = self.predictor.readout
        verdict = readout.verdict(self.predictor.embedder.embed_alone(picture))
        best = readout.labels[int(verdict.confidences.argmax())]
        confidences = dict(zip(readout.labels, verdict.confidences.tolist(), strict=True))
        return Answer(best, confidences, verdict.label is None)


class Exporter(ABC):
    name: str  # of the format
    suffix: str  # of the file
    is_fitted = False  # on pictures that the user gives
    agreement = 1.0  # the least share of pictures with the same answer as the store
    tolerance: float | None = 1e-4  # the largest difference of a confidence; None: any

    @abstractmethod
    def build(self, source: Source, calibration: Iterable[Picture]) -> bytes:
        """The model; `calibration`: pictures to fit it on, none where it is not fitted."""

    @abstractmethod
    def open(self, data: bytes) -> Answerer: ...

    def stamped(self, data: bytes, certificate: Certificate) -> bytes:  # noqa: ARG002
        """The model with its certificate inside, where the format has a place for it."""
        return data

    def certified(self, source: Source, data: bytes, pictures: Iterable[Picture]) -> Certificate:
        """What asking both has found."""
        return compared(self.name, self.open(data), source, pictures)

    def write(self, target: Path, data: bytes, certificate: Certificate, card: bytes) -> None:
        """One file, and beside it the certificate and the model card."""
        beside = {
            self.certificate_path(target): signed(certificate, data),
            self.card_path(target): card,
        }
        replace_files({target: data, **beside}, writer=f"{os.getpid()}-")

    def certificate_path(self, target: Path) -> Path:
        return target.parent / f"{target.name}.certificate.json"

    def certificate(self, target: Path) -> Certificate | None:
        """Of what was exported to there; None where it is lost."""
        text = self._certificate_text(target)
        return None if text is None else Certificate.from_json(text)

    def _certificate_text(self, target: Path) -> str | None:
        try:
            path = self.certificate_path(target)
            data = read_plain_file(path, most=_LARGEST_CERTIFICATE, follow_link=True)
        except (NotPlainError, PermissionError) as error:
            raise InvalidInputError(f"cannot read {path}: {error.strerror}") from error
        except OSError:
            return None
        return data.decode(errors="replace")

    def certificate_inside(self, data: bytes) -> str | None:  # noqa: ARG002
        """The text that `stamped` put into the model; None where the format has no place for it."""
        return None

    def card_path(self, target: Path) -> Path:
        return target.parent / f"{target.name}.card.md"

    def read(self, target: Path) -> bytes:
        """The model, as it was written."""
        try:
            if not S_ISREG(target.stat().st_mode):
                raise InvalidInputError(f"{target} is not a file; name one that was exported")
            return target.read_bytes()
        except OSError as error:
            raise InvalidInputError(f"cannot read {target}: {error.strerror}") from error

    def refuse_target(self, target: Path) -> None:
        if target.suffix != self.suffix:
            raise InvalidInputError(f"{target} should end in {self.suffix}; choose another name")
        refuse_target(target)

    def export(
        self,
        version: Version,
        target: Path,
        *,
        calibrate: Path | None = None,
        images: Path | None = None,
        evaluation: Path | None = None,
    ) -> Certificate:
        """Write the version to `target`, with what the check has found and the model card.

        `calibrate`: a folder of pictures to fit the format on, where it needs some. `images`: one
        of pictures to check the result with; without it the other half of those, or demo pictures.
        `evaluation`: what `prd-edge evaluate --json` said, for the card.
        """
        if calibrate and not self.is_fitted:
            raise InvalidInputError(
                f"format {self.name} is not fitted on pictures; give those to check it with by "
                "--images"
            )
        with explained(target, "write"):
            self.refuse_target(target)
        card = model_card(version, evaluation).encode()
        source = Source.of(version)
        calibration: Iterable[Picture] = ()
        pictures: Iterable[Picture] = ()
        if calibrate:
            calibration = pictures_to_fit(calibrate, all_of_them=images is not None)
            pictures = pictures_to_check(calibrate, fitted_on=True)
        if images:
            pictures = pictures_to_check(images)
        data = self.build(source, calibration)
        found = self.certified(source, data, pictures or demo_pictures())
        refuse_disagreement(found, self.agreement, self.tolerance)
        with explained(target, "write"):
            self.write(target, self.stamped(data, found), found, card)
        return found

    def check(self, version: Version, target: Path, *, images: Path | None = None) -> Certificate:
        """Ask a file that was exported, and the version it came from, once more."""
        data = self.read(target)
        self._refuse_changed(target, data)
        if self.is_fitted and not images:
            raise InvalidInputError(
                f"format {self.name} is fitted on pictures; give some of that kind to check it "
                "with by --images"
            )
        pictures = pictures_to_check(images) if images else demo_pictures()
        found = self.certified(Source.of(version), data, pictures)
        refuse_disagreement(found, self.agreement, self.tolerance)
        return found

    def _refuse_changed(self, target: Path, data: bytes) -> None:
        """The certificate may be lost; if it is there, it must be for these bytes, and say what
        the one inside says."""
        text = self._certificate_text(target)
        if text is None:
            return
        inside = self.certificate_inside(data)
        beside = document_of(text)
        is_as_written = text == f"{canonical(beside)}\n"
        is_for_these = beside.pop("sha256", None) == sha256(data).hexdigest()
        is_same = inside is None or document_of(inside) == beside
        is_whole = Certificate.from_json(text) is not None and is_as_written
        if not (is_whole and is_for_these and is_same):
            raise GuardRefusedError(
                f"{self.certificate_path(target)} is not the certificate of {target}: one of them "
                "was changed; export it anew"
            )


def compared(
    name: str, answer: Answerer, source: Source, pictures: Iterable[Picture]
) -> Certificate:
    """Ask both about each picture."""
    count, same_answer, same_unknown, largest = 0, 0, 0, 0.0
    for picture in pictures:
        ours, theirs = source.answer(picture), answer(picture)
        if others := theirs.confidences.keys() ^ ours.confidences.keys():
            raise InvalidInputError(
                f"the file and version {source.version.name} know other classes, such as "
                f"{min(others)!r}: name the version it was exported from with --version; if that "
                "is this one, a class was forgotten since, so export anew"
            )
        count += 1
        same_answer += theirs.label == ours.label
        same_unknown += theirs.unknown == ours.unknown
        for label, confidence in ours.confidences.items():
            difference = abs(theirs.confidences[label] - confidence)
            largest = max(largest, difference if isfinite(difference) else inf)
    return Certificate(
        name, source.version.name, count, same_answer / count, same_unknown / count, largest
    )


def signed(certificate: Certificate, data: bytes) -> bytes:
    """The certificate as a file, which names the bytes it is for."""
    document = {**certificate.as_dict(), "sha256": sha256(data).hexdigest()}
    return f"{canonical(document)}\n".encode()

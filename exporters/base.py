"""What an exporter is: it turns a version into files, and can answer from them.

    class MyExporter:
        suffix = ".mine"

        def build(self, source: Source, options: Options) -> dict[str, bytes]:
            ...  # the files of the export, by name

        def open(self, files: Mapping[str, bytes]) -> Answerer:
            ...  # answers pictures from those files alone

The rest is done for it: pictures are answered by the store and by the files, and nothing is written
if the two disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from prd_edge.predictor import Predictor
from prd_edge.store import Version


class Answer(NamedTuple):
    """Of one picture."""

    confidences: np.ndarray  # (C,), in the order of the classes
    unknown: bool


Answerer = Callable[[np.ndarray], Answer]  # a decoded picture, uint8 (H, W, 3)


@dataclass(frozen=True)
class Source:
    """What is exported."""

    version: Version
    predictor: Predictor

    @property
    def labels(self) -> tuple[str, ...]:
        return self.predictor.readout.labels


@dataclass(frozen=True)
class Options:
    """What a user may give beside the target."""

    calibration: Sequence[np.ndarray] = ()  # decoded pictures
    web_runtime: Path | None = None  # the folder of the npm package onnxruntime-web


class Exporter(Protocol):
    suffix: str  # of the file; empty where a folder is made
    agreement: float  # the least share of pictures with the same answer as the store
    tolerance: float  # the largest difference of a confidence; inf where it is not held to one

    def build(self, source: Source, options: Options) -> dict[str, bytes]: ...

    def open(self, files: Mapping[str, bytes]) -> Answerer: ...

"""The runs of the two benchmarks, by what they are made of."""

from __future__ import annotations

from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from incremental.methods import FROM_SCRATCH, METHODS
from incremental.methods.base import Method
from incremental.pixels import PixelGround, Scale
from incremental.scenarios import open_scenario
from incremental.streams import Stream, open_stream


def _file_name(*parts: object) -> str:
    return "-".join("".join(c if c.isalnum() else "-" for c in str(part)) for part in parts)


class RivalJob(NamedTuple):
    """On features of the frozen encoder."""

    stream: str
    method: str
    seed: int
    work: Path

    @property
    def file(self) -> Path:
        return self.work / "runs" / (_file_name(self.stream, self.method, self.seed) + ".json")

    @property
    def configuration(self) -> dict[str, object]:
        return {}

    @property
    def asked(self) -> int:
        return 400

    @property
    def is_long(self) -> bool:
        return False

    def start(self) -> tuple[Method, Stream]:
        return METHODS[self.method](self.seed), open_stream(self.stream, self.seed, self.work)


class PaperJob(NamedTuple):
    """From scratch, on pixels."""

    scenario: str
    method: str
    seed: int
    scale: Scale
    data: Path  # the copy
    tasks: int | None
    work: Path

    @property
    def file(self) -> Path:
        """Another copy, another run: a folder of pictures can be anything."""
        copy = blake2b(str(self.data.resolve()).encode(), digest_size=3).hexdigest()
        scenario = self.scenario if self.tasks is None else f"{self.scenario}-{self.tasks}"
        name = _file_name(scenario, self.method, self.seed, copy)
        return self.work / self.scale.name / f"{name}.json"

    @property
    def configuration(self) -> dict[str, object]:
        import torch

        from prd_edge.device import this_device

        return {
            "scenario": self.scenario,
            "method": self.method,
            "seed": self.seed,
            "scale": asdict(self.scale),
            "data": str(self.data.resolve()),
            "tasks": self.tasks,
            "recipe": asdict(PixelGround(self.scale).recipe(0, 0)),
            "torch": torch.__version__,
            "device": asdict(this_device()),
        }

    @property
    def asked(self) -> int:
        return 10_000

    @property
    def is_long(self) -> bool:
        return True

    def start(self) -> tuple[Method, Stream]:
        method = FROM_SCRATCH[self.method](self.seed, PixelGround(self.scale, self.seed))
        stream = open_scenario(self.scenario, self.scale, self.data, self.seed, self.tasks)
        return method, stream

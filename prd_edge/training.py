"""The door to the learning half: what a session that trains is asked, and what it answers.

Everything here is lean; torch is imported behind `train`, and only there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Event
from typing import TYPE_CHECKING, Protocol

from prd_edge.encoders import UNTRAINED
from prd_edge.errors import InvalidInputError, MissingDependencyError
from prd_edge.progress import OnProgress

if TYPE_CHECKING:
    import numpy as np

    from prd_edge.drift import Drift
    from prd_edge.embedder import Embedder
    from prd_edge.encoders import BuiltEncoder, EncoderSpec
    from prd_edge.harvest import Harvest
    from prd_edge.imprint import Imprinted
    from prd_edge.model import Knowledge
    from prd_edge.report import TrainingFigures
    from prd_edge.session import Session

SMALLEST_BUDGET_MB = 100.0
_MOST = 2**32  # of any number; more is a slip
# What a session must bring for the encoder to be moved: so many classes, and such a share of all
# known after it. Less teaches the encoder nothing that the others could use (docs/results.md).
FEWEST_CLASSES = 4
SMALLEST_SHARE = 0.3


@dataclass(frozen=True)
class TrainingSettings:
    """None stands for: as the recipe, the encoder or a short measurement says."""

    recipe: str | None = None
    train_from: str | None = None
    epochs: int | None = None
    seed: int | None = None
    threads: int | None = None
    max_seconds: float | None = None
    max_memory_mb: float | None = None
    holdout: float = 0.2

    @property
    def wants_training(self) -> bool:
        return any(option is not None for option in (self.recipe, self.train_from, self.epochs))

    def __post_init__(self) -> None:
        for name, value, least in (
            ("epochs", self.epochs, 1),
            ("threads", self.threads, 1),
            ("max_seconds", self.max_seconds, 1),
            ("max_memory", self.max_memory_mb, SMALLEST_BUDGET_MB),
            ("seed", self.seed, 0),
        ):
            if value is not None and not least <= value <= _MOST:
                raise InvalidInputError(
                    f"{name} is {value}; it must be at least {least:g}, and at most {_MOST}"
                )
        if not 0.0 <= self.holdout < 1.0:
            raise InvalidInputError(f"holdout is {self.holdout}; it must be at least 0 and below 1")


class Checkpoints(Protocol):
    """Where a session in progress is kept, so that it need not begin anew after a power cut."""

    def load(self, key: str) -> bytes | None: ...

    def save(self, key: str, data: bytes) -> None: ...


@dataclass(frozen=True)
class TrainingTask:
    """All that a session starts from."""

    session: Session
    spec: EncoderSpec
    weights: Callable[[], Mapping[str, np.ndarray]]
    embedder: Embedder
    known: Knowledge
    started: float  # time.perf_counter() when the session began
    checkpoints: Checkpoints | None  # None: leave nothing behind
    on_progress: OnProgress
    cancel: Event


@dataclass(frozen=True)
class Learned:
    """What came of a session. Without an encoder it was imprinted."""

    found: Harvest
    imprinted: Imprinted
    drift: Mapping[str, Drift]
    encoder: BuiltEncoder | None = None
    training: TrainingFigures | None = None


def is_worth_training(spec: EncoderSpec, labels: Collection[str], known: Collection[str]) -> bool:
    """Whether a session of these classes should move the encoder, unless told otherwise. Without
    labels, of an iterable that does not tell them beforehand, it should."""
    if spec.name == UNTRAINED or not labels:
        return True
    return len(labels) >= max(FEWEST_CLASSES, SMALLEST_SHARE * len({*labels, *known}))


def torch_is_installed() -> bool:
    return find_spec("torch") is not None


def train(task: TrainingTask, settings: TrainingSettings) -> Learned:
    try:
        from prd_edge.learn.adapt import adapt
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"training needs {error.name}; run: pip install 'prd-edge[learn]', or '.[learn]' in a "
            "clone; or learn without training: --mode imprint"
        ) from error
    return adapt(task, settings)

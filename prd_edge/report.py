"""What a learning session did, for people and for programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from prd_edge.drift import Drift
from prd_edge.progress import Losses
from prd_edge.session import Skipped

# Below this a prototype says much about the single images behind it, and little about the class.
FEW_IMAGES = 5
_LONGEST_NOTE = 1000  # characters
# All that a manifest keeps of how its version came about.
METRICS = frozenset({
    "mode", "added", "updated", "images_used", "images_skipped", "duplicates", "holdout_images",
    "holdout_accuracy", "calibration_error", "holdout_accuracy_before", "drift", "training",
    "seconds", "peak_memory_mb", "renamed",
})  # fmt: skip


@dataclass(frozen=True)
class TrainingFigures:
    """Of a session that trained the encoder, or tried to."""

    recipe: str
    train_from: str
    seed: int
    threads: int
    epochs: int  # that were planned
    batch_size: int
    views: int  # random views kept of each image; 0 where they were made anew for every step
    steps: int  # that were made
    steps_planned: int
    losses: Losses | None  # of the last step
    resumed_after: int  # epochs taken over from an interrupted run
    imprint_accuracy: float | None  # what imprinting reaches on the same hold-out
    kept: bool  # False: the session was imprinted instead, and the note says why
    note: str | None


@dataclass(frozen=True)
class SessionReport:
    """What a session did, for people and for programs."""

    mode: str
    parent: str | None
    added: Mapping[str, int]  # new classes and their images
    updated: Mapping[str, int]  # known classes and the images added to them
    images_used: int
    skipped: tuple[Skipped, ...]
    duplicates: int
    holdout_images: int
    holdout_accuracy: float | None
    calibration_error: float | None  # of the confidence, on the hold-out
    holdout_accuracy_before: float | None
    drift: Mapping[str, Drift]  # of every prototype that was known before
    training: TrainingFigures | None
    seconds: float
    peak_memory_mb: float
    warnings: tuple[str, ...]
    note: str | None = None  # why it was not trained, where it could have been
    version: str | None = None  # None for a dry run
    removed_versions: tuple[str, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """What `learn-session --json` prints."""
        drift = {label: own._asdict() for label, own in self.drift.items()}
        return {"schema": 1, **asdict(self), "drift": drift, "training": _plain(self.training)}

    def metrics(self) -> dict[str, Any]:
        """The part that a version keeps: figures, and no names of files."""
        return {
            "mode": self.mode,
            "added": dict(self.added),
            "updated": dict(self.updated),
            "images_used": self.images_used,
            "images_skipped": len(self.skipped),
            "duplicates": self.duplicates,
            "holdout_images": self.holdout_images,
            "holdout_accuracy": self.holdout_accuracy,
            "calibration_error": self.calibration_error,
            "holdout_accuracy_before": self.holdout_accuracy_before,
            "drift": {label: own._asdict() for label, own in self.drift.items()},
            "training": _plain(self.training),
            "seconds": round(self.seconds, 3),
            "peak_memory_mb": round(self.peak_memory_mb, 1),
        }


def strange_metrics(metrics: Mapping[str, Any]) -> list[str]:
    """Those that no version of ours keeps, or that hold more than they would, by name."""
    return sorted(name for name, value in metrics.items() if not _is_ours(name, value))


def _is_ours(name: str, value: object) -> bool:
    match name, value:
        case "added" | "updated", Mapping():
            return all(map(_is_figure, [*value, *value.values()]))
        case "renamed", [_, _]:
            return all(map(_is_figure, value))
        case "drift", Mapping():
            return all(map(_is_figure, value)) and all(
                _are_figures(own, Drift._fields) for own in value.values()
            )
        case "training", Mapping():
            figures = {**value, "losses": None}
            losses = value.get("losses")
            return _are_figures(figures, TrainingFigures.__annotations__) and (
                losses is None or _are_figures(losses, Losses._fields)
            )
    return name in METRICS and _is_figure(value)


def _are_figures(value: object, names: Collection[str]) -> bool:
    """These, and one figure each."""
    return (
        isinstance(value, Mapping)
        and set(value) <= set(names)
        and all(map(_is_figure, value.values()))
    )


def _is_figure(value: object) -> bool:
    """One number, or a few words."""
    if isinstance(value, str):
        return len(value) <= _LONGEST_NOTE
    return value is None or (isinstance(value, int | float) and abs(value) < 2**63)


def _plain(training: TrainingFigures | None) -> dict[str, Any] | None:
    if training is None:
        return None
    losses = training.losses._asdict() if training.losses else None
    return {**asdict(training), "losses": losses}


def session_warnings(
    added: Mapping[str, int], updated: Mapping[str, int], classes: Mapping[str, int]
) -> tuple[str, ...]:
    few = [label for label in added if classes[label] < FEW_IMAGES]
    few_more = [label for label, count in updated.items() if count < FEW_IMAGES]
    warnings = []
    if few:
        warnings.append(
            f"fewer than {FEW_IMAGES} images of {', '.join(few)}: accuracy will be poor, and a "
            "prototype of so few says much about each of them"
        )
    if few_more:
        warnings.append(
            f"fewer than {FEW_IMAGES} new images of {', '.join(few_more)}: while the version "
            "before is kept, the difference between the two says much about each of them"
        )
    if len(classes) == 1:
        warnings.append(
            "only one class is known, so every picture will be called that; teach at least one more"
        )
    return tuple(warnings)

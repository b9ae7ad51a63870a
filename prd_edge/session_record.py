"""What a version's manifest tells of the session that made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from prd_edge.errors import StoreCorruptError
from prd_edge.manifest import Manifest

_LARGEST = 1e15


class SessionRecord(NamedTuple):
    learned_by: str  # "imprinted", "trained", or "trained but not kept", which was imprinted then
    added: int  # classes
    updated: int
    images: int
    holdout_images: int
    holdout_accuracy_before: float | None
    holdout_accuracy: float | None
    calibration_error: float | None
    largest_drift: float | None  # of a prototype that was known before
    seconds: float | None

    @classmethod
    def of(cls, manifest: Manifest) -> SessionRecord | None:
        """None where no session made the version, but init, rename, remove or feedback."""
        if "mode" not in manifest.metrics:
            return None
        try:
            return cls._of(manifest.metrics)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise StoreCorruptError(
                f"the figures of version {manifest.version} cannot be read ({error}); 'prd-edge "
                "gc' removes old versions, 'prd-edge rollback' returns to an older one"
            ) from error

    @classmethod
    def _of(cls, metrics: Mapping[str, Any]) -> SessionRecord:
        def number(name: str) -> float | None:
            return None if metrics.get(name) is None else _number(name, metrics[name])

        drift = metrics.get("drift", {}).values()
        distances = [_number("distance", own["distance"]) for own in drift]
        return cls(
            learned_by=_learned_by(metrics.get("training")),
            added=len(metrics.get("added", ())),
            updated=len(metrics.get("updated", ())),
            images=int(number("images_used") or 0),
            holdout_images=int(number("holdout_images") or 0),
            holdout_accuracy_before=number("holdout_accuracy_before"),
            holdout_accuracy=number("holdout_accuracy"),
            calibration_error=number("calibration_error"),
            largest_drift=max(distances, default=None),
            seconds=number("seconds"),
        )


def what_made(manifest: Manifest) -> str:
    """How its session learned, or the action that was no session."""
    record = SessionRecord.of(manifest)
    return record.learned_by if record else manifest.action


def _learned_by(training: Mapping[str, Any] | None) -> str:
    if training is None:
        return "imprinted"
    return "trained" if training["kept"] else "trained but not kept"


def _number(name: str, value: object) -> float:
    if not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise ValueError(f"{name} is no number that can be")
    return value

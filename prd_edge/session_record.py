"""What a version's manifest tells of the session that made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from prd_edge.manifest import Manifest


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
        metrics = manifest.metrics
        if "mode" not in metrics:
            return None
        distances = [own["distance"] for own in metrics.get("drift", {}).values()]
        return cls(
            learned_by=_learned_by(metrics.get("training")),
            added=len(metrics.get("added", ())),
            updated=len(metrics.get("updated", ())),
            images=metrics.get("images_used", 0),
            holdout_images=metrics.get("holdout_images", 0),
            holdout_accuracy_before=metrics.get("holdout_accuracy_before"),
            holdout_accuracy=metrics.get("holdout_accuracy"),
            calibration_error=metrics.get("calibration_error"),
            largest_drift=max(distances, default=None),
            seconds=metrics.get("seconds"),
        )


def what_made(manifest: Manifest) -> str:
    """How its session learned, or the action that was no session."""
    record = SessionRecord.of(manifest)
    return record.learned_by if record else manifest.action


def _learned_by(training: Mapping[str, Any] | None) -> str:
    if training is None:
        return "imprinted"
    return "trained" if training["kept"] else "trained but not kept"

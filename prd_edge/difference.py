"""What changed between two versions."""

from __future__ import annotations

from typing import Any

import numpy as np

from prd_edge.drift import drift_between
from prd_edge.manifest import Manifest
from prd_edge.model import load_prototypes
from prd_edge.session_record import SessionRecord
from prd_edge.store import Version


def difference(a: Version, b: Version) -> dict[str, Any]:
    """Classes added, removed and updated from `a` to `b`, those that have another neighbour, the
    files that differ, both in figures, and the session that led from one to the other, if one
    did."""
    before, after = a.manifest.classes, b.manifest.classes
    old, new = load_prototypes(a), load_prototypes(b)
    moved = drift_between(old, new)
    updated, neighbours = {}, {}
    for label, own in sorted(moved.items()):
        if before[label] != after[label] or not np.array_equal(old[label], new[label]):
            updated[label] = {"images": after[label] - before[label], "drift": own.distance}
        if own.nearest_before != own.nearest_after:
            neighbours[label] = {"before": own.nearest_before, "after": own.nearest_after}
    session = SessionRecord.of(b.manifest) if b.manifest.parent == a.name else None
    names = sorted(a.manifest.files.keys() | b.manifest.files.keys())
    return {
        "from": a.name,
        "to": b.name,
        "added": {label: n for label, n in after.items() if label not in before},
        "removed": {label: n for label, n in before.items() if label not in after},
        "updated": updated,
        "neighbours": neighbours,
        "files": [n for n in names if a.manifest.files.get(n) != b.manifest.files.get(n)],
        "before": _figures(a.manifest),
        "after": _figures(b.manifest),
        "session": session._asdict() if session else None,
    }


def _figures(manifest: Manifest) -> dict[str, Any]:
    session = SessionRecord.of(manifest)
    return {
        "classes": len(manifest.classes),
        "images": sum(manifest.classes.values()),
        "holdout_accuracy": session.holdout_accuracy if session else None,
        "bytes": manifest.size(),
    }

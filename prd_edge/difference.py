"""What changed between two versions."""

from __future__ import annotations

from typing import Any

import numpy as np

from prd_edge.bank import cosine_distance
from prd_edge.model import load_prototypes
from prd_edge.store import Version


def difference(a: Version, b: Version) -> dict[str, Any]:
    """Classes added, removed and updated from `a` to `b`, and the files that differ."""
    before, after = a.manifest.classes, b.manifest.classes
    old, new = load_prototypes(a), load_prototypes(b)
    updated = {}
    for label in sorted(before.keys() & after.keys()):
        drift = cosine_distance(old[label], new[label])
        if before[label] != after[label] or not np.array_equal(old[label], new[label]):
            updated[label] = {"images": after[label] - before[label], "drift": drift}
    names = sorted(a.manifest.files.keys() | b.manifest.files.keys())
    return {
        "from": a.name,
        "to": b.name,
        "added": {label: n for label, n in after.items() if label not in before},
        "removed": {label: n for label, n in before.items() if label not in after},
        "updated": updated,
        "files": [n for n in names if a.manifest.files.get(n) != b.manifest.files.get(n)],
    }

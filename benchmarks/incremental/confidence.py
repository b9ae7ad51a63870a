"""Does confidence mean something, and is the unknown told? Asked of all test pictures."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from incremental.data import Part
from incremental.streams import Stream
from prd_edge.metrics import auroc, calibration_error
from prd_edge.readout import Verdict


@runtime_checkable
class Confident(Protocol):
    def verdicts(self, part: Part, rows: np.ndarray) -> list[Verdict]: ...


def confidence(method: Confident, stream: Stream) -> dict[str, float]:
    """Expected calibration error (15 bins) on pictures of known classes; where there are strangers,
    how well likeness tells them apart, and what the fitted radii do."""
    rows = np.concatenate([session.test_rows for session in stream.sessions])
    truth = np.concatenate([session.test_labels for session in stream.sessions])
    known = method.verdicts(stream.test, rows)
    labels = np.array(method.labels)  # type: ignore[attr-defined]
    answers = labels[[verdict.confidences.argmax() for verdict in known]]
    right = answers == truth
    sure = np.array([verdict.confidences.max() for verdict in known], np.float32)
    withheld = np.array([verdict.label is None for verdict in known])
    found = {
        "calibration_error": calibration_error(sure, right),
        "right_withheld": _share(withheld[right]),
        "wrong_withheld": _share(withheld[~right]),
    }
    if len(stream.strangers):
        strangers = method.verdicts(stream.test, stream.strangers)
        found["auroc"] = auroc(*([v.likeness for v in verdicts] for verdicts in (known, strangers)))
        found["strangers_told"] = float(np.mean([verdict.label is None for verdict in strangers]))
    return found


def _share(flags: np.ndarray) -> float:
    return float(flags.mean()) if len(flags) else 0.0

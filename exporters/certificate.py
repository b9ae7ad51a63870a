"""What a comparison of exported file and store has found, and whether it is good enough."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any

from prd_edge.errors import GuardRefusedError


@dataclass(frozen=True)
class Certificate:
    format: str
    version: str  # of the store
    images: int
    top1_agreement: float  # share of the pictures whose most likely class is the store's
    unknown_agreement: float  # share of those that are, or are not, unknown to both
    largest_difference: float  # of any confidence
    # Of formats that trade exactness for these, against the same model in single precision.
    size_ratio: float | None = None  # below 1: smaller
    speed_ratio: float | None = None  # above 1: faster, on one thread of the device that exported

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    def to_json(self) -> str:
        return canonical(self.as_dict())

    @classmethod
    def from_json(cls, text: str) -> Certificate | None:
        """None for what is no certificate; what else stands with it is passed over."""
        found = document_of(text)
        try:
            own = cls(**{f.name: found[f.name] for f in fields(cls) if f.name in found})
        except TypeError:
            return None
        numbers = (own.images, own.top1_agreement, own.unknown_agreement, own.largest_difference)
        is_whole = isinstance(own.format, str) and isinstance(own.version, str)
        return own if is_whole and all(isinstance(n, int | float) for n in numbers) else None


def canonical(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, sort_keys=True)


def document_of(text: str) -> dict[str, Any]:
    """What a certificate says, word for word; nothing where it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def refuse_disagreement(found: Certificate, agreement: float, tolerance: float | None) -> None:
    """Without a tolerance only the answers are compared; but all confidences must be numbers."""
    if not isfinite(found.largest_difference):
        raise GuardRefusedError(
            "the file gives confidences that are not numbers; it cannot be used"
        )
    is_near = tolerance is None or found.largest_difference <= tolerance
    if min(found.top1_agreement, found.unknown_agreement) >= agreement and is_near:
        return
    message = (
        f"the file answers otherwise than the store: of {found.images} pictures "
        f"{100 * found.top1_agreement:.1f} % get the same answer, and on "
        f"{100 * found.unknown_agreement:.1f} % both agree whether they are unknown; at least "
        f"{100 * agreement:.0f} % must"
    )
    if not is_near:
        message += (
            f"; a confidence differs by {found.largest_difference:.2g}, at most {tolerance:.2g} may"
        )
    raise GuardRefusedError(message)

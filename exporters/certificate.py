"""What a comparison of exported file and store has found, and whether it is good enough."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from prd_edge.errors import GuardRefusedError


@dataclass(frozen=True)
class Certificate:
    images: int
    top1_agreement: float  # share of the pictures whose most likely class is the store's
    unknown_agreement: float  # share of those that are, or are not, unknown to both
    largest_difference: float  # of any confidence
    version: str  # of the store

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True)


def refuse_disagreement(found: Certificate, agreement: float, tolerance: float) -> None:
    if found.top1_agreement >= agreement and found.largest_difference <= tolerance:
        return
    raise GuardRefusedError(
        f"the file answers otherwise than the store: of {found.images} pictures "
        f"{100 * found.top1_agreement:.1f} % get the same answer, at least {100 * agreement:.0f} % "
        f"must; a confidence differs by {found.largest_difference:.2g}, at most {tolerance:.2g} may"
    )

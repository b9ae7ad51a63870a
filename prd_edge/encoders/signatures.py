"""Which tensors each encoder is made of, so that anything else among its weights is noticed.

A signature is a digest of all names and shapes. In the untrained network shapes are counted in
its base width, which can be chosen. A trained copy of the last stages has the shapes of stages
that the encoder has already.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping

from prd_edge.encoders import UNTRAINED, EncoderSpec

Shapes = Mapping[str, tuple[int, ...]]

_ANCHOR, _ADAPTED = "anchor.", "adapted."
_WIDTH = "conv1.weight"  # of the untrained network: its first dimension

SIGNATURES = {
    "efficientnet_lite0": "fdaa18001a52a742",
    "mobilenet_v3_small": "cee254fe293cc6b9",
    "mobilenet_v3_large": "ff432d68a978e8dd",
    "resnet18": "57eede759d2caae7",
    "efficientnet_b0": "5ebecf3b1c432656",
    "resnet18_scratch": "f84179f4dc4980be",
}


def is_made_of(spec: EncoderSpec, shapes: Shapes) -> bool:
    """Whether these are the tensors of the encoder, all of them and no other."""
    own = shapes
    if spec.adapted_from is not None:
        own = _below(_ANCHOR, shapes)
        copy = Counter(_below(_ADAPTED, shapes).values())
        is_copy = bool(copy) and copy <= Counter(own.values())
        if not is_copy or len(own) + copy.total() != len(shapes):
            return False
    return spec.name in SIGNATURES and signature(spec.name, own) == SIGNATURES[spec.name]


def signature(encoder: str, shapes: Shapes) -> str:
    unit = (shapes.get(_WIDTH) or (1,))[0] if encoder == UNTRAINED else 1
    lines = (f"{name} {[_in(unit, size) for size in shapes[name]]}\n" for name in sorted(shapes))
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def _in(unit: int, size: int) -> str:
    return f"{size // unit}w" if unit > 1 and size % unit == 0 else str(size)


def _below(prefix: str, shapes: Shapes) -> Shapes:
    return {n.removeprefix(prefix): s for n, s in shapes.items() if n.startswith(prefix)}

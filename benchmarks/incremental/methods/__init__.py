"""Methods by name."""

from __future__ import annotations

from collections.abc import Callable

from incremental.ground import Ground
from incremental.methods.base import Method
from incremental.methods.closed_form import ClosedForm
from incremental.methods.edge import Edge, Imprinted
from incremental.methods.er import Er
from incremental.methods.er_ace import ErAce
from incremental.methods.er_aml import ErAml
from incremental.methods.ewc import Ewc
from incremental.methods.fine_tuning import FineTuning
from incremental.methods.frozen import ClassMeans, RandomProjections, StreamingLda, of_anchor
from incremental.methods.icarl import Icarl
from incremental.methods.iid import Iid
from incremental.methods.joint import Joint
from incremental.methods.lwf import Lwf
from incremental.methods.prd import Prd
from incremental.methods.random_filters import RandomFilters
from incremental.methods.sdc import Sdc
from incremental.methods.trained import TailGround

_TAIL = TailGround()
RIVALS: dict[str, Callable[[int], Method]] = {
    "frozen, class means": lambda _: ClassMeans(),
    "frozen, streaming LDA": lambda _: StreamingLda(),
    "frozen, several depths, LDA": lambda _: Imprinted(one_look=True),
    "frozen, random projections": RandomProjections,
    "random projections of our embedding": lambda seed: RandomProjections(seed, of_anchor),
    "fine-tuning": lambda seed: FineTuning(seed, _TAIL),
    "LwF": lambda seed: Lwf(seed, _TAIL),
    "EWC": lambda seed: Ewc(seed, _TAIL),
    "PRD, recipe paper": lambda seed: Prd(seed, _TAIL),
    "prd-edge, imprinted": lambda _: Imprinted(),
    "first session trained, then frozen": lambda seed: Edge(seed, sessions=1),
    "prd-edge": Edge,
    "joint training (upper bound)": Joint,
}
# prd-edge with parts left out, or more of others.
VARIANTS: dict[str, Callable[[int], Method]] = {
    "prd-edge, β = 0": lambda seed: Edge(seed, beta=0.0),
    "prd-edge without transport": lambda seed: Edge(seed, transport=False),
    "prd-edge, every session trains": lambda seed: Edge(seed, every=True),
    "prd-edge, every session trains hard": lambda seed: Edge(seed, every=True, hard=True),
    "prd-edge, every session trains hard, β = 0": lambda seed: Edge(
        seed, every=True, hard=True, beta=0.0
    ),
}
METHODS = {**RIVALS, **VARIANTS}
ABLATION = {
    "cosine to class means": "frozen, class means",
    "+ shared covariance": "frozen, streaming LDA",
    "+ several depths, means and spreads": "frozen, several depths, LDA",
    "+ second look = imprinted": "prd-edge, imprinted",
    "+ first session trained": "first session trained, then frozen",
    "+ later large sessions trained = prd-edge": "prd-edge",
    **{name: name for name in VARIANTS},
}


def _prd(kept: int = 0, **changes: object) -> Callable[[int, Ground], Method]:
    return lambda seed, ground: Prd(seed, ground, kept, **changes)


def _replaying(method: type[Er], kept: int) -> Callable[[int, Ground], Method]:
    return lambda seed, ground: method(seed, ground, kept)


# Those of the paper, and two that it lacks, from scratch.
COEFFICIENTS = (0, 1, 2, 4, 8, 16)
KEPT = (5, 20, 50)  # pictures of a class, where any are
FROM_SCRATCH: dict[str, Callable[[int, Ground], Method]] = {
    "iid": Iid,
    "fine-tuning": FineTuning,
    "LwF": Lwf,
    # At the rate of the reduced scale 5000 diverges at once, and 500 after some tasks.
    "EWC": lambda seed, ground: Ewc(seed, ground, 50.0),
    "SDC": Sdc,
    **{f"ER, M = {m}": _replaying(Er, m) for m in KEPT},
    **{f"iCaRL, M = {m}": _replaying(Icarl, m) for m in KEPT},
    **{f"ER-AML, M = {m}": _replaying(ErAml, m) for m in KEPT},
    **{f"ER-ACE, M = {m}": _replaying(ErAce, m) for m in KEPT},
    "PRD": Prd,
    **{f"PRD, M = {m}": _prd(m) for m in KEPT},
    **{f"PRD, β = {c}": _prd(beta=float(c)) for c in COEFFICIENTS if c != 4},
    **{f"PRD, α = {c}": _prd(alpha=float(c)) for c in COEFFICIENTS if c != 2},
    "PRD, over prototypes": _prd(axis="prototypes"),
    "PRD, student first": _prd(direction="student_first"),
    "PRD, sum over prototypes": _prd(reduction="sum"),
    "PRD, closed form": ClosedForm,
    "random filters, streaming LDA": lambda seed, _: RandomFilters(seed),
}

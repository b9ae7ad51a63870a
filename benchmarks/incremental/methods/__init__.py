"""Methods by name."""

from __future__ import annotations

from collections.abc import Callable

from incremental.methods.base import Method
from incremental.methods.edge import Edge, Imprinted
from incremental.methods.ewc import Ewc
from incremental.methods.fine_tuning import FineTuning
from incremental.methods.frozen import ClassMeans, RandomProjections, StreamingLda, of_anchor
from incremental.methods.joint import Joint
from incremental.methods.lwf import Lwf
from incremental.methods.paper import Paper

RIVALS: dict[str, Callable[[int], Method]] = {
    "frozen, class means": lambda _: ClassMeans(),
    "frozen, streaming LDA": lambda _: StreamingLda(),
    "frozen, several depths, LDA": lambda _: Imprinted(one_look=True),
    "frozen, random projections": RandomProjections,
    "random projections of our embedding": lambda seed: RandomProjections(seed, of_anchor),
    "fine-tuning": FineTuning,
    "LwF": Lwf,
    "EWC": Ewc,
    "PRD, recipe paper": Paper,
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

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
ABLATION: dict[str, Callable[[int], Method]] = {
    "cosine to class means": RIVALS["frozen, class means"],
    "+ shared covariance": RIVALS["frozen, streaming LDA"],
    "+ several depths, means and spreads": RIVALS["frozen, several depths, LDA"],
    "+ second look = imprinted": RIVALS["prd-edge, imprinted"],
    "+ first session trained": RIVALS["first session trained, then frozen"],
    "+ later large sessions, β = 0": lambda seed: Edge(seed, beta=0.0),
    "+ relation distillation, β = 4 = prd-edge": RIVALS["prd-edge"],
    "prd-edge without transport": lambda seed: Edge(seed, transport=False),
    "prd-edge, small sessions train as well": lambda seed: Edge(seed, every=True),
    "the same, as hard as the first, β = 4": lambda seed: Edge(seed, every=True, hard=True),
    "the same, β = 0": lambda seed: Edge(seed, every=True, hard=True, beta=0.0),
}
METHODS = {**RIVALS, **ABLATION}

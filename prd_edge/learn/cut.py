"""Where an encoder is cut: what stays frozen, what is trained, and where that stands in the
embedding."""

from __future__ import annotations

from typing import NamedTuple

import torch

from prd_edge.encoders import EncoderSpec
from prd_edge.errors import InvalidInputError
from prd_edge.learn.encoders import AnchoredEncoder, Encoder, Tail, load_stored
from prd_edge.learn.encoders.weights import Weights
from prd_edge.learn.recipes import Recipe


class Cut(NamedTuple):
    encoder: Encoder
    tail: Tail  # the trained part of it
    start: str  # the first stage that is trained
    features: int  # that the tail makes; the last of them are in the embedding
    trained: slice  # where they are in it
    copied: slice | None = None  # those that it starts as a copy of, where it is new

    @property
    def spec_start(self) -> str | None:
        return self.start if isinstance(self.encoder, AnchoredEncoder) else None


def cut(spec: EncoderSpec, weights: Weights, recipe: Recipe, train_from: str | None) -> Cut:
    made = _cut(spec, weights, recipe, train_from)
    made.encoder.requires_grad_(False)
    made.tail.requires_grad_(True)
    # Three times as fast on a CPU.
    made.tail.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return made


def _cut(spec: EncoderSpec, weights: Weights, recipe: Recipe, train_from: str | None) -> Cut:
    encoder = load_stored(spec, weights)
    if encoder.part_widths() != tuple(spec.parts):
        raise InvalidInputError(
            "this store's encoder was made by an older prd-edge, which embedded other stages; "
            "use --mode imprint, or begin a new store"
        )
    if isinstance(encoder, AnchoredEncoder):
        if train_from not in (None, encoder.start):
            raise InvalidInputError(
                f"cannot train from {train_from!r}: this store has been trained from "
                f"{encoder.start!r}; leave --train-from out"
            )
        anchor = encoder.anchor
        known = sum(anchor.part_widths())
        features = known - anchor.width_before(encoder.start)
        trained = slice(known, spec.dimensions)
        return Cut(encoder, encoder.adapted, encoder.start, features, trained)
    start = train_from or encoder.train_from
    tail = Tail(encoder, start)
    before = encoder.width_before(start)
    features = spec.dimensions - before
    if not recipe.anchored or tail.is_whole:
        return Cut(encoder, tail, start, features, slice(before, spec.dimensions))
    anchored = AnchoredEncoder(encoder, start)
    width = spec.parts[-1]
    trained = slice(spec.dimensions, spec.dimensions + width)
    copied = slice(spec.dimensions - width, spec.dimensions)
    return Cut(anchored.eval(), anchored.adapted, start, features, trained, copied)

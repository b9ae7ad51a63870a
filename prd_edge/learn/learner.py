"""PRD: one session, learned by gradient, while the snapshot holds the old classes in place.

    L(X) = L_sc(X) + α L_p(X, P_c) + β L_d(X, P_o)

P_c are the prototypes of the session's classes, P_o all that were known when it began; a class
that comes back is in both. The learner works on tensors alone and never touches a store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, NamedTuple, Protocol

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Generator, Tensor, nn

from prd_edge.errors import GuardRefusedError
from prd_edge.learn.losses import (
    prototype_tightness,
    relation_distillation,
    supervised_contrastive,
)
from prd_edge.learn.recipes import Recipe


class Views(NamedTuple):
    """Two random views of each sample of a mini-batch, the second ones after the first."""

    inputs: Any  # of 2B views, whatever the trainable part of the encoder takes
    classes: Tensor  # (2B,), rows of the prototypes


class SessionData(Protocol):
    """Where mini-batches come from."""

    def __len__(self) -> int: ...

    def views(self, samples: Tensor, generator: Generator) -> Views: ...


class Losses(NamedTuple):
    contrastive: float
    tightness: float
    relation: float


class Step(NamedTuple):
    """What is told after each mini-batch."""

    epoch: int
    step: int
    steps: int
    losses: Losses


def learn_session(
    encoder: nn.Module,
    prototypes: Tensor,
    known: int,
    data: SessionData,
    recipe: Recipe,
    *,
    seed: int,
    on_step: Callable[[Step], object] = lambda _: None,
) -> Tensor:
    """Train `encoder` in place and return the new prototypes.

    `prototypes` (C, D): the first `known` rows are those of the old classes, the others may hold
    anything; they start from random directions.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = ProjectionHead(prototypes.shape[1], *recipe.projection)
    teacher = deepcopy(encoder).eval().requires_grad_(False)
    old_prototypes = prototypes[:known].clone()
    fresh = torch.randn(len(prototypes) - known, prototypes.shape[1], generator=generator)
    learned = torch.cat([old_prototypes, F.normalize(fresh, dim=1)]).requires_grad_()
    optimiser = torch.optim.SGD(
        [*(p for p in encoder.parameters() if p.requires_grad), *head.parameters(), learned],
        lr=recipe.learning_rate,
        momentum=recipe.momentum,
    )
    steps = recipe.epochs * _batches_an_epoch(len(data), recipe.batch_size)
    encoder.train()
    for step, samples in enumerate(_mini_batches(len(data), recipe, generator), start=1):
        views = data.views(samples, generator)
        features = encoder(views.inputs)  # (2B, D)
        contrastive = supervised_contrastive(
            head(features), views.classes, temperature=recipe.temperature
        )
        tightness = prototype_tightness(learned, features, views.classes)
        relation = features.new_zeros(())
        if known and recipe.beta:
            with torch.no_grad():
                teacher_features = teacher(views.inputs)
            relation = relation_distillation(
                learned[:known],
                features,
                old_prototypes,
                teacher_features,
                axis=recipe.axis,
                direction=recipe.direction,
                reduction=recipe.reduction,
                temperature=recipe.temperature,
            )
        loss = contrastive + recipe.alpha * tightness + recipe.beta * relation
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        losses = Losses(contrastive.item(), tightness.item(), relation.item())
        if not all(map(_is_finite, losses)):
            raise GuardRefusedError(f"training gave {losses} at step {step}; nothing was changed")
        epoch = 1 + (step - 1) * recipe.epochs // steps
        on_step(Step(epoch, step, steps, losses))
    encoder.eval()
    return learned.detach()


class ProjectionHead(nn.Sequential):
    """g: used in training only. (B, D) to (B, K)."""

    def __init__(self, features: int, hidden: int, projected: int) -> None:
        super().__init__(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, projected))


def _batches_an_epoch(samples: int, batch_size: int) -> int:
    return max(1, round(samples / batch_size))


def _mini_batches(samples: int, recipe: Recipe, generator: Generator) -> Iterator[Tensor]:
    """Every sample once an epoch, in batches of nearly equal size."""
    for _ in range(recipe.epochs):
        order = torch.randperm(samples, generator=generator)
        yield from order.tensor_split(_batches_an_epoch(samples, recipe.batch_size))


def _is_finite(value: float) -> bool:
    return value - value == 0.0

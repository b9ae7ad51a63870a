"""PRD: one session, learned by gradient, while the snapshot holds the old classes in place.

    L(X) = L_sc(X) + α L_p(X, P_c) + β L_d(X, P_o)

P_c are the prototypes of the session's classes, P_o all that were known when it began; a class
that comes back is in both. An encoder may give features of several depths, one after another; the
contrastive loss is of all of them, prototypes live in the last. The learner works on tensors alone
and never touches a store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from math import isfinite, sqrt
from typing import NamedTuple, Protocol

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
from prd_edge.progress import Losses


class Views(NamedTuple):
    """Two random views of each sample of a mini-batch, the second ones after the first."""

    inputs: Tensor  # of 2B views, whatever the trainable part of the encoder takes
    classes: Tensor  # (2B,), rows of the prototypes
    snapshot: Tensor | None = None  # (2B, D): what the frozen teacher says, where it is known,
    # in the dimensions of the prototypes


class SessionData(Protocol):
    """Where mini-batches come from."""

    def __len__(self) -> int: ...

    def views(self, samples: Tensor, generator: Generator) -> Views: ...


class Step(NamedTuple):
    """What is told after each mini-batch."""

    epoch: int
    step: int
    steps: int
    losses: Losses


class Checkpoint(NamedTuple):
    """All that the epochs to come depend on. Nothing in it belongs to a single sample."""

    epochs: int  # that are finished
    tensors: Mapping[str, Tensor]


class Learned(NamedTuple):
    prototypes: Tensor  # (C, D)
    steps: int  # that were made, of all in this session


def learn_session(
    encoder: nn.Module,
    prototypes: Tensor,
    known: int,
    data: SessionData,
    recipe: Recipe,
    *,
    seed: int,
    features: int | None = None,
    sessions: Tensor | None = None,
    start: Checkpoint | None = None,
    on_step: Callable[[Step], bool | None] = lambda _: None,
    on_epoch: Callable[[Checkpoint], object] = lambda _: None,
) -> Learned:
    """Train `encoder` in place.

    `prototypes` (C, D): the first `known` rows are those of the old classes, the others may hold
    anything; they start from random directions. `features` is how many the encoder gives, where
    these are more than D. `sessions` (known,) tells old prototypes apart that came in different
    ones, for recipes that compare among prototypes. `on_step` ends the session by returning True.
    Begun at a checkpoint, a session ends as it would have ended without the interruption.
    """
    width = features or prototypes.shape[1]
    training = _Training(encoder, prototypes, known, recipe, seed, width, sessions)
    if start is not None:
        training.restore(start)
    batches = batches_an_epoch(len(data), recipe.batch_size)
    steps = recipe.epochs * batches
    step = (start.epochs if start else 0) * batches
    encoder.train()
    try:
        for epoch in range(start.epochs if start else 0, recipe.epochs):
            generator = torch.Generator().manual_seed(_epoch_seed(seed, epoch))
            for samples in _mini_batches(len(data), batches, generator):
                losses = training.step(data.views(samples, generator))
                step += 1
                _refuse_divergence(losses, step)
                if on_step(Step(epoch + 1, step, steps, losses)):
                    return Learned(training.learned.detach(), step)
            on_epoch(training.checkpoint(epoch + 1))
    finally:
        encoder.eval()
    return Learned(training.learned.detach(), step)


def one_step(encoder: nn.Module, views: Views, recipe: Recipe) -> None:
    """A single step on classes that are all new, to see what it costs."""
    encoder.train()
    with torch.no_grad():
        features = encoder(views.inputs[:2]).shape[1]
    prototypes = torch.zeros(int(views.classes.max()) + 1, features)
    _Training(encoder, prototypes, 0, recipe, 0, features).step(views)


class _Training:
    """The parameters, and one step on them."""

    def __init__(
        self,
        encoder: nn.Module,
        prototypes: Tensor,
        known: int,
        recipe: Recipe,
        seed: int,
        features: int,
        sessions: Tensor | None = None,
    ) -> None:
        generator = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.head = ProjectionHead(features, *recipe.projection)
        self.encoder = encoder
        self.recipe = recipe
        self.known = known
        self.sessions = sessions
        self.old_prototypes = prototypes[:known].clone()
        self.teacher = deepcopy(encoder).eval().requires_grad_(False)
        fresh = torch.randn(len(prototypes) - known, prototypes.shape[1], generator=generator)
        self.learned = torch.cat([self.old_prototypes, F.normalize(fresh, dim=1)]).requires_grad_()
        self.optimiser = torch.optim.SGD(
            [
                *(p for p in encoder.parameters() if p.requires_grad),
                *self.head.parameters(),
                self.learned,
            ],
            lr=recipe.learning_rate,
            momentum=recipe.momentum,
        )

    def step(self, views: Views) -> Losses:
        recipe = self.recipe
        all_features = self.encoder(views.inputs)  # (2B, F)
        contrastive = supervised_contrastive(
            self.head(all_features), views.classes, temperature=recipe.temperature
        )
        features = all_features[:, -self.learned.shape[1] :]  # (2B, D)
        tightness = prototype_tightness(self.learned, features, views.classes)
        relation = features.new_zeros(())
        if self.known and recipe.beta:
            relation = relation_distillation(
                self.learned[: self.known],
                features,
                self.old_prototypes,
                self._snapshot(views),
                axis=recipe.axis,
                direction=recipe.direction,
                reduction=recipe.reduction,
                temperature=recipe.temperature,
                sessions=self.sessions,
            )
        loss = contrastive + recipe.alpha * tightness + recipe.beta * relation
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        return Losses(contrastive.item(), tightness.item(), relation.item())

    @torch.no_grad()
    def _snapshot(self, views: Views) -> Tensor:
        if views.snapshot is not None:
            return views.snapshot
        said: Tensor = self.teacher(views.inputs)[:, -self.learned.shape[1] :]
        return said

    def checkpoint(self, epochs: int) -> Checkpoint:
        return Checkpoint(epochs, {name: t.detach().clone() for name, t in self._tensors().items()})

    @torch.no_grad()
    def restore(self, checkpoint: Checkpoint) -> None:
        for parameter in self._parameters():  # makes the places that the momentum is copied to
            self.optimiser.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
        for name, tensor in self._tensors().items():
            tensor.copy_(checkpoint.tensors[name])

    def _parameters(self) -> list[Tensor]:
        return list(self.optimiser.param_groups[0]["params"])

    def _tensors(self) -> dict[str, Tensor]:
        momentum = [self.optimiser.state[p].get("momentum_buffer") for p in self._parameters()]
        return {
            **{f"encoder.{name}": tensor for name, tensor in self.encoder.state_dict().items()},
            **{f"head.{name}": tensor for name, tensor in self.head.state_dict().items()},
            **{f"momentum.{i}": tensor for i, tensor in enumerate(momentum) if tensor is not None},
            "prototypes": self.learned,
        }


class ProjectionHead(nn.Sequential):
    """g: used in training only. (B, D) to (B, K)."""

    def __init__(self, features: int, hidden: int, projected: int) -> None:
        super().__init__(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, projected))
        self.scale = sqrt(features)

    def forward(self, features: Tensor) -> Tensor:
        # Features of unit length would drown in the biases of layers made for unit variance.
        return super().forward(self.scale * features)  # type: ignore[no-any-return, no-untyped-call]


def batches_an_epoch(samples: int, batch_size: int) -> int:
    return max(1, round(samples / batch_size))


def _mini_batches(samples: int, batches: int, generator: Generator) -> Iterator[Tensor]:
    """Every sample once, in batches of nearly equal size."""
    yield from torch.randperm(samples, generator=generator).tensor_split(batches)


def _epoch_seed(seed: int, epoch: int) -> int:
    """Each epoch draws its own numbers, so that it can begin without those before it."""
    return (seed * 1_000_003 + epoch + 1) % 2**63


def _refuse_divergence(losses: Losses, step: int) -> None:
    for name, loss in losses._asdict().items():
        if not isfinite(loss):
            raise GuardRefusedError(f"training diverged: the {name} loss was {loss} at step {step}")

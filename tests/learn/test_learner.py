"""PRD on a toy: classes are blobs, the encoder a small network, and old data never come back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from prd_edge.errors import GuardRefusedError, InvalidInputError
from prd_edge.learn import learner
from prd_edge.learn.learner import Checkpoint, Step, Views
from prd_edge.learn.recipes import RECIPES, recipe_named

INPUTS, D = 12, 8
TOY = replace(RECIPES["paper"], epochs=30, batch_size=32, learning_rate=0.05, projection=(16, 8))


class Blobs(NamedTuple):
    points: Tensor  # (N, INPUTS)
    classes: Tensor  # (N,)

    def __len__(self) -> int:
        return len(self.classes)

    def views(self, samples: Tensor, generator: torch.Generator) -> Views:
        both = torch.cat([samples, samples])
        noise = 0.1 * torch.randn(len(both), INPUTS, generator=generator)
        return Views(self.points[both] + noise, self.classes[both])


def learn_session(*arguments: Any, **options: Any) -> Tensor:
    return learner.learn_session(*arguments, **options).prototypes


def blobs(classes: list[int], count: int = 40, seed: int = 0, shift: float = 0.0) -> Blobs:
    centres = 2 * torch.randn(20, INPUTS, generator=torch.Generator().manual_seed(9))
    labels = torch.tensor(classes).repeat_interleave(count)
    noise = torch.randn(len(labels), INPUTS, generator=torch.Generator().manual_seed(seed))
    return Blobs(centres[labels] + noise + shift, labels)


def encoder(seed: int = 0) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(INPUTS, 32), nn.ReLU(), nn.Linear(32, D), UnitLength())


class UnitLength(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(x, dim=1)


def accuracy(f: nn.Module, prototypes: Tensor, data: Blobs) -> float:
    with torch.no_grad():
        scores = F.normalize(f(data.points)) @ F.normalize(prototypes).T
    return (scores.argmax(dim=1) == data.classes).float().mean().item()


def two_sessions(beta: float) -> tuple[nn.Module, Tensor, Tensor]:
    f = encoder()
    first = learn_session(f, torch.zeros(4, D), 0, blobs([0, 1, 2, 3]), TOY, seed=1)
    start = torch.cat([first, torch.zeros(4, D)])
    recipe = replace(TOY, beta=beta)
    return f, first, learn_session(f, start, 4, blobs([4, 5, 6, 7]), recipe, seed=2)


def test_a_first_session_is_learned() -> None:
    f = encoder()
    steps: list[Step] = []
    prototypes = learn_session(
        f, torch.zeros(4, D), 0, blobs([0, 1, 2, 3]), TOY, seed=1, on_step=steps.append
    )
    assert accuracy(f, prototypes, blobs([0, 1, 2, 3], seed=5)) > 0.9
    assert [step.step for step in steps] == list(range(1, steps[-1].steps + 1))
    assert steps[-1].epoch == TOY.epochs
    assert steps[-1].losses.contrastive < steps[0].losses.contrastive
    assert steps[-1].losses.tightness < -0.9
    assert {step.losses.relation for step in steps} == {0.0}
    assert not f.training


def test_distillation_holds_the_old_classes() -> None:
    old = blobs([0, 1, 2, 3], seed=5)
    f, _, with_distillation = two_sessions(beta=4.0)
    kept = accuracy(f, with_distillation[:4], old)
    assert accuracy(f, with_distillation, blobs([4, 5, 6, 7], seed=5)) > 0.6
    f, _, without = two_sessions(beta=0.0)
    assert kept > accuracy(f, without[:4], old) + 0.05


def test_old_prototypes_follow_through_the_relation_alone() -> None:
    _, first, learned = two_sessions(beta=0.0)
    torch.testing.assert_close(learned[:4], first)
    _, first, learned = two_sessions(beta=4.0)
    assert (learned[:4] - first).abs().max() > 1e-3


def test_a_class_that_comes_back_keeps_one_prototype_and_moves_it() -> None:
    f = encoder()
    first = learn_session(f, torch.zeros(4, D), 0, blobs([0, 1, 2, 3]), TOY, seed=1)
    shifted = blobs([0, 1], shift=6.0)

    def likeness(prototypes: Tensor) -> float:
        with torch.no_grad():
            features = f(shifted.points)
        return F.cosine_similarity(features, prototypes[shifted.classes]).mean().item()

    before = likeness(first)
    second = learn_session(f, first, 4, shifted, replace(TOY, learning_rate=0.02), seed=2)
    assert second.shape == first.shape
    assert likeness(second) > before + 0.1
    assert accuracy(f, second, blobs([2, 3], seed=5)) > 0.9, "those that did not come back"


def test_one_seed_gives_the_same_bits() -> None:
    runs = [two_sessions(beta=4.0) for _ in range(2)]
    assert torch.equal(runs[0][2], runs[1][2])
    for a, b in zip(runs[0][0].parameters(), runs[1][0].parameters(), strict=True):
        assert torch.equal(a, b)


def test_the_random_state_of_the_app_is_left_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    learn_session(encoder(), torch.zeros(2, D), 0, blobs([0, 1]), TOY, seed=1)
    assert torch.equal(torch.rand(1), expected)


def test_a_session_begun_at_a_checkpoint_ends_as_if_never_interrupted() -> None:
    f = encoder()
    first = learn_session(f, torch.zeros(4, D), 0, blobs([0, 1, 2, 3]), TOY, seed=1)
    start = torch.cat([first, torch.zeros(4, D)])
    snapshot = f.state_dict()
    recipe = replace(TOY, epochs=4)
    kept: list[Checkpoint] = []

    def run(**options: Any) -> tuple[Tensor, nn.Module]:
        g = encoder()
        g.load_state_dict(snapshot)
        data = blobs([0, 4, 5, 6])
        rows = learn_session(g, start, 4, data, recipe, seed=2, on_epoch=kept.append, **options)
        return rows, g

    rows, g = run()
    assert [checkpoint.epochs for checkpoint in kept] == [1, 2, 3, 4]
    for checkpoint in kept[:4]:
        again, h = run(start=checkpoint)
        assert torch.equal(again, rows)
        for a, b in zip(g.parameters(), h.parameters(), strict=True):
            assert torch.equal(a, b)


def test_a_session_ends_when_it_is_told_to() -> None:
    steps: list[int] = []

    def on_step(step: Step) -> bool:
        steps.append(step.step)
        return step.step == 3

    f = encoder()
    learned = learner.learn_session(
        f, torch.zeros(4, D), 0, blobs([0, 1, 2, 3]), TOY, seed=1, on_step=on_step
    )
    assert (steps, learned.steps) == ([1, 2, 3], 3)
    assert not f.training


def test_what_the_snapshot_said_may_be_given_instead_of_computed() -> None:
    teacher = encoder()

    class WithSnapshot(Blobs):
        sign = 1.0

        def views(self, samples: Tensor, generator: torch.Generator) -> Views:
            views = super().views(samples, generator)
            with torch.no_grad():
                return views._replace(snapshot=self.sign * teacher(views.inputs))

    def run(data: Blobs) -> Tensor:
        start = torch.randn(8, D, generator=torch.Generator().manual_seed(3))
        return learn_session(encoder(), start, 4, data, TOY, seed=2)

    data = WithSnapshot(*blobs([4, 5, 6, 7]))
    assert torch.equal(run(data), run(blobs([4, 5, 6, 7])))
    WithSnapshot.sign = -1.0
    assert not torch.equal(run(data), run(blobs([4, 5, 6, 7])))


def test_a_loss_that_is_not_a_number_is_refused() -> None:
    data = blobs([0, 1])
    data.points[3] = torch.nan
    with pytest.raises(GuardRefusedError, match="nan"):
        learn_session(encoder(), torch.zeros(2, D), 0, data, TOY, seed=1)


def test_the_paper_recipe_is_the_papers() -> None:
    paper = recipe_named("paper")
    assert (paper.alpha, paper.beta, paper.temperature) == (2.0, 4.0, 0.1)
    assert (paper.learning_rate, paper.momentum, paper.batch_size) == (0.01, 0.9, 128)
    assert (paper.axis, paper.direction, paper.reduction) == ("samples", "teacher_first", "mean")
    with pytest.raises(InvalidInputError, match="'magic'; choose one of edge, paper"):
        recipe_named("magic")


class TwoDepths(nn.Module):
    """Gives what an early and a late layer say, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.late = encoder()
        self.early = encoder(seed=1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.early(x), self.late(x)], dim=1)


def test_of_several_depths_all_are_contrasted_and_the_last_has_the_prototypes() -> None:
    both, data = TwoDepths(), blobs([0, 1, 2])
    before = both.early[0].weight.clone()
    prototypes = learn_session(both, torch.zeros(3, D), 0, data, TOY, seed=0, features=2 * D)
    assert prototypes.shape == (3, D)
    assert not torch.allclose(both.early[0].weight, before, atol=1e-3)
    assert accuracy(both.late, prototypes, data) > 0.95


def test_of_several_depths_the_last_is_distilled() -> None:
    both, data = TwoDepths(), blobs([0, 1, 2])
    old = learn_session(both, torch.zeros(3, D), 0, data, TOY, seed=0, features=2 * D)
    rows = torch.cat([old, torch.zeros(2, D)])
    learn_session(both, rows, 3, blobs([3, 4]), replace(TOY, beta=16.0), seed=1, features=2 * D)
    assert accuracy(both.late, old, data) > 0.8

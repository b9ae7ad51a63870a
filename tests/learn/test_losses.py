"""Each loss three ways: against a naive loop, against literal values, and by its gradients."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from prd_edge.learn.losses import (
    prototype_tightness,
    relation_distillation,
    supervised_contrastive,
)

TAU = 0.1
B, K, D = 12, 5, 7


def cosine(a: Tensor, b: Tensor) -> float:
    return float(a @ b / (a.norm() * b.norm()))


def h(a: Tensor, b: Tensor) -> float:
    return math.exp(cosine(a, b) / TAU)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def relation(student: tuple[Tensor, Tensor], teacher: tuple[Tensor, Tensor], **options) -> Tensor:
    return relation_distillation(*student, *teacher, **options)


# Supervised contrastive


def test_supcon_against_a_naive_loop() -> None:
    z = random(B, D)
    labels = torch.tensor([0, 1, 2, 0, 1, 2, 0, 0, 1, 1, 2, 3])
    total = 0.0
    for i in range(B):
        positives = [p for p in range(B) if p != i and labels[p] == labels[i]]
        everyone = sum(h(z[a], z[i]) for a in range(B) if a != i)
        if positives:
            total += sum(math.log(h(z[p], z[i]) / everyone) for p in positives) / len(positives)
    expected = -total / B
    assert float(supervised_contrastive(z, labels)) == pytest.approx(expected, rel=1e-9)


def test_supcon_literal_values() -> None:
    z = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
    labels = torch.tensor([0, 0, 1, 1])
    # each view: positive e¹⁰ against e¹⁰ + 1 + 1
    expected = -math.log(math.exp(10) / (math.exp(10) + 2))
    assert float(supervised_contrastive(z, labels)) == pytest.approx(expected)
    # two views, one class: there is nothing to contrast with
    assert float(supervised_contrastive(z[:2], labels[:2])) == pytest.approx(0.0)


def test_supcon_gradient_pulls_positives_together_and_pushes_others_away() -> None:
    z = F.normalize(random(6, D), dim=1).requires_grad_()
    labels = torch.tensor([0, 0, 1, 1, 2, 2])
    (gradient,) = torch.autograd.grad(supervised_contrastive(z, labels), z)
    moved = F.normalize(z - 0.01 * gradient, dim=1)
    before, after = z @ z.T, moved @ moved.T
    same = labels[:, None] == labels[None, :]
    off = ~torch.eye(6, dtype=torch.bool)
    assert (after - before)[same & off].mean() > 0
    assert (after - before)[~same].mean() < 0
    assert supervised_contrastive(moved, labels) < supervised_contrastive(z, labels)


def test_supcon_does_not_depend_on_length_or_order() -> None:
    z, labels = random(B, D), torch.arange(B) % 3
    order = torch.randperm(B, generator=torch.Generator().manual_seed(1))
    value = supervised_contrastive(z, labels)
    torch.testing.assert_close(supervised_contrastive(z * 7, labels), value)
    torch.testing.assert_close(supervised_contrastive(z[order], labels[order]), value)


def test_supcon_without_positives_is_zero_and_finite_in_its_gradient() -> None:
    z = random(3, D).requires_grad_()
    loss = supervised_contrastive(z, torch.arange(3))
    loss.backward()
    assert loss.item() == 0.0
    assert torch.isfinite(z.grad).all()


# Prototype tightness


def test_tightness_against_a_naive_loop() -> None:
    prototypes, features = random(K, D), random(B, D, seed=1)
    classes = torch.arange(B) % K
    expected = -sum(cosine(prototypes[classes[i]], features[i]) for i in range(B)) / B
    assert float(prototype_tightness(prototypes, features, classes)) == pytest.approx(expected)


def test_tightness_literal_values() -> None:
    prototypes = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    features = torch.tensor([[1.0, 0.0], [3.0, 4.0]])
    # cosines: 1 and 4/5
    assert float(prototype_tightness(prototypes, features, torch.tensor([0, 1]))) == (
        pytest.approx(-0.9)
    )


def test_tightness_moves_no_encoder_weight_and_no_other_prototype() -> None:
    encoder = torch.nn.Linear(4, D, dtype=torch.float64)
    prototypes = random(K, D).requires_grad_()
    classes = torch.tensor([1, 3, 3])
    prototype_tightness(prototypes, encoder(random(3, 4)), classes).backward()
    assert encoder.weight.grad is None
    moved = prototypes.grad.abs().sum(dim=1) > 0
    assert moved.tolist() == [False, True, False, True, False]


def test_the_minimum_of_tightness_is_the_mean_of_the_unit_features() -> None:
    features = random(20, D)
    classes = torch.zeros(20, dtype=torch.long)
    best = F.normalize(features, dim=1).mean(dim=0, keepdim=True).requires_grad_()
    (gradient,) = torch.autograd.grad(prototype_tightness(best, features, classes), best)
    assert gradient.abs().max() < 1e-12


# Relation distillation

OPTIONS = [
    {"axis": axis, "direction": direction, "reduction": reduction}
    for axis, direction, reduction in product(
        ("samples", "prototypes"), ("teacher_first", "student_first"), ("mean", "sum")
    )
]
SESSIONS = torch.tensor([0, 0, 1, 1, 1])


def naive_relation(student, teacher, axis, direction, reduction) -> float:
    """The definition, element by element."""

    def shares(pair, row, members) -> list[float]:
        prototypes, features = pair
        if axis == "samples":
            values = [h(prototypes[row], features[i]) for i in members]
        else:
            values = [h(prototypes[k], features[row]) for k in members]
        return [value / sum(values) for value in values]

    def divergence(row, members) -> float:
        new, old = shares(student, row, members), shares(teacher, row, members)
        first, second = (old, new) if direction == "teacher_first" else (new, old)
        return sum(p * math.log(p / q) for p, q in zip(first, second, strict=True))

    if axis == "samples":
        values = [divergence(k, range(B)) for k in range(K)]
    else:
        groups = [[k for k in range(K) if SESSIONS[k] == s] for s in (0, 1)]
        values = [sum(divergence(i, group) for i in range(B)) / B for group in groups]
    return sum(values) / len(values) if reduction == "mean" else sum(values)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options.values()))
def test_relation_against_a_naive_loop(options: dict[str, str]) -> None:
    student = random(K, D), random(B, D, seed=1)
    teacher = random(K, D, seed=2), random(B, D, seed=3)
    expected = naive_relation(student, teacher, **options)
    value = relation(student, teacher, sessions=SESSIONS, **options)
    assert float(value) == pytest.approx(expected, rel=1e-9)


def test_relation_literal_values() -> None:
    prototype = torch.tensor([[1.0, 0.0]])
    teacher = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # cosines 1, 0: shares e¹⁰ : 1
    student = torch.tensor([[1.0, 0.0], [1.0, 0.0]])  # cosines 1, 1: shares ½, ½
    p = math.exp(10) / (math.exp(10) + 1)
    expected = p * math.log(p / 0.5) + (1 - p) * math.log((1 - p) / 0.5)
    value = relation((prototype, student), (prototype, teacher))
    assert float(value) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options.values()))
def test_relation_is_zero_with_zero_gradient_when_nothing_changed(options) -> None:
    prototypes, features = random(K, D), random(B, D, seed=1)
    new = prototypes.clone().requires_grad_(), features.clone().requires_grad_()
    loss = relation(new, (prototypes, features), sessions=SESSIONS, **options)
    loss.backward()
    assert loss.item() == pytest.approx(0.0, abs=1e-12)
    assert new[0].grad.abs().max() < 1e-10
    assert new[1].grad.abs().max() < 1e-10


def test_relation_is_invariant_to_a_turn_of_the_whole_space_and_to_lengths() -> None:
    student = random(K, D), random(B, D, seed=1)
    teacher = random(K, D, seed=2), random(B, D, seed=3)
    turn, _ = torch.linalg.qr(random(D, D, seed=4))
    value = relation(student, teacher)
    torch.testing.assert_close(relation((student[0] @ turn, student[1] @ turn), teacher), value)
    torch.testing.assert_close(relation((student[0] * 3, student[1] * 5), teacher), value)


def test_on_the_axis_of_samples_a_constant_in_a_prototypes_similarities_does_not_matter() -> None:
    """The paper's flexibility, and the reason why old and new classes stop being comparable."""
    in_plane = F.normalize(random(B, 3), dim=1) * 0.5
    constant = torch.full((B, 1), math.sqrt(0.75), dtype=torch.float64)
    features = torch.cat([in_plane, constant], dim=1)  # unit, one coordinate the same for all
    basis = torch.eye(4, dtype=torch.float64)
    teacher = F.normalize(basis[:1] + 0.2 * basis[3:], dim=1)
    raised = teacher * torch.tensor([1.0, 1.0, 1.0, -1.0])  # every cosine falls by the same amount
    same = relation((raised, features), (teacher, features), axis="samples")
    other = relation(
        (torch.cat([raised, basis[1:2]]), features),
        (torch.cat([teacher, basis[1:2]]), features),
        axis="prototypes",
    )
    assert float(same) == pytest.approx(0.0, abs=1e-12)
    assert float(other) > 1e-3


def test_the_teacher_gets_no_gradient_and_old_prototypes_do() -> None:
    student = random(K, D).requires_grad_(), random(B, D, seed=1).requires_grad_()
    teacher = random(K, D, seed=2).requires_grad_(), random(B, D, seed=3).requires_grad_()
    relation(student, teacher).backward()
    assert teacher[0].grad is None
    assert teacher[1].grad is None
    assert (student[0].grad.abs().sum(dim=1) > 0).all()
    assert (student[1].grad.abs().sum(dim=1) > 0).all()


def test_the_sum_grows_with_what_is_known_and_the_mean_does_not() -> None:
    student = random(K, D), random(B, D, seed=1)
    teacher = random(K, D, seed=2), random(B, D, seed=3)
    twice = [(torch.cat([p, p]), f) for p, f in (student, teacher)]
    torch.testing.assert_close(
        relation(*twice, reduction="sum"), 2 * relation(student, teacher, reduction="sum")
    )
    torch.testing.assert_close(relation(*twice), relation(student, teacher))

"""Prototype-sample relation distillation: new data stand in for the old (PRD, ICML 2023)."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

Axis = Literal["samples", "prototypes"]
Direction = Literal["teacher_first", "student_first"]
Reduction = Literal["mean", "sum"]


def relation_distillation(
    prototypes: Tensor,
    features: Tensor,
    teacher_prototypes: Tensor,
    teacher_features: Tensor,
    *,
    axis: Axis = "samples",
    direction: Direction = "teacher_first",
    reduction: Reduction = "mean",
    temperature: float = 0.1,
    sessions: Tensor | None = None,
) -> Tensor:
    """Keep how old prototypes relate to the current samples as the snapshot had it.

        P_t(k)_i = h(p_k^t, f_t(x_i)) / Σ_j h(p_k^t, f_t(x_j)),      h(a, b) = exp(cos(a, b) / τ)
        L_d = mean_k KL(P_{t−1}(k) ‖ P_t(k))

    `prototypes` (K, D) are the old ones, trainable, and `features` (B, D) the encoder's; the
    teacher's are those of the snapshot at the start of the session, and get no gradient.

    Options, where the paper and its published code differ or leave a choice:
    - axis `samples`: a distribution over the batch for each prototype, as in the equation, and so
      unchanged by a constant added to all similarities of a prototype. Axis `prototypes`: one over
      the old prototypes of each session for each sample; `sessions` (K,) tells them apart.
    - direction `teacher_first` is KL(P_{t−1} ‖ P_t), `student_first` the order of the equation.
    - reduction `mean` over prototypes (or, on the other axis, sessions); `sum` makes the weight of
      the term grow with what is known.
    """
    student = _similarities(prototypes, features) / temperature  # (K, B)
    teacher = _similarities(teacher_prototypes, teacher_features).detach() / temperature  # (K, B)
    if axis == "samples":
        return _reduce(_divergence(student, teacher, direction), reduction)  # over K
    rows = [slice(None)] if sessions is None else [sessions == s for s in torch.unique(sessions)]
    per_session = [
        _divergence(student[row].T, teacher[row].T, direction).mean() for row in rows
    ]  # each over B
    total = sum(per_session, start=student.new_zeros(()))
    return total / len(rows) if reduction == "mean" else total


def _similarities(prototypes: Tensor, features: Tensor) -> Tensor:
    """Cosines (K, B)."""
    return F.normalize(prototypes, dim=1) @ F.normalize(features, dim=1).T


def _divergence(student: Tensor, teacher: Tensor, direction: Direction) -> Tensor:
    """KL between the softmaxes of the rows: (R, X) and (R, X) to (R,)."""
    log_student, log_teacher = student.log_softmax(dim=1), teacher.log_softmax(dim=1)
    first, second = (
        (log_teacher, log_student) if direction == "teacher_first" else (log_student, log_teacher)
    )
    return (first.exp() * (first - second)).sum(dim=1)


def _reduce(values: Tensor, reduction: Reduction) -> Tensor:
    return values.mean() if reduction == "mean" else values.sum()

"""What was learned and forgotten from version to version, on one labelled folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from prd_edge import metrics
from prd_edge.evaluate import Evaluation, evaluate_all
from prd_edge.figures import percent
from prd_edge.model import load_predictor, load_readout
from prd_edge.predictor import Predictor
from prd_edge.store import ENCODER_GRAPH, PREPROCESS_GRAPH, Store, Version


@dataclass(frozen=True)
class Group:
    """Classes that came with one version, of those that are still known and asked about."""

    version: str
    classes: tuple[str, ...]


@dataclass(frozen=True)
class Course:
    evaluations: tuple[Evaluation, ...]  # of the live version's ancestors and itself, oldest first

    def groups(self) -> list[Group]:
        asked = set(self.evaluations[-1].support())
        left = asked.intersection(self.evaluations[-1].taught)
        found = []
        for own in self.evaluations:
            if came := left.intersection(own.taught):
                found.append(Group(own.version, tuple(sorted(came))))
                left -= came
        return found

    def matrix(self) -> list[list[float]]:
        """R[i][j]: accuracy of version i on the classes of group j."""
        classes = [set(group.classes) for group in self.groups()]
        return [[_accuracy(own, some) for some in classes] for own in self.evaluations]

    def since(self) -> list[int]:
        """At which version, by its place, each group came."""
        versions = [own.version for own in self.evaluations]
        return [versions.index(group.version) for group in self.groups()]

    def curves(self) -> dict[str, list[float | None]]:
        """For each group, by its version: the accuracies on it; None before it came."""
        matrix, since = self.matrix(), self.since()
        return {
            group.version: [row[j] if i >= since[j] else None for i, row in enumerate(matrix)]
            for j, group in enumerate(self.groups())
        }

    def table(self) -> tuple[list[str], list[list[object]]]:
        """Header and rows: a version a row, with its accuracy on all it was taught and on each
        group."""
        curves = self.curves()
        rows = [
            [own.version, len(own.taught), percent(own.accuracy), *map(percent, of_groups)]
            for own, *of_groups in zip(self.evaluations, *curves.values(), strict=True)
        ]
        return ["version", "classes", "all taught", *(f"of {name}" for name in curves)], rows

    def accuracies(self) -> list[float]:
        """Of each version, on what it had been taught."""
        return [own.accuracy or 0.0 for own in self.evaluations]

    def figures(self) -> dict[str, float]:
        matrix, since = self.matrix(), self.since()
        return {
            "average_incremental_accuracy": sum(self.accuracies()) / len(self.evaluations),
            "forgetting": metrics.forgetting(matrix, since),
            "backward_transfer": metrics.backward_transfer(matrix, since),
            "forward_transfer": metrics.forward_transfer(matrix, since),
        }

    def as_dict(self) -> dict[str, Any]:
        return {
            "schema": 1,
            **self.figures(),
            "groups": [{"version": g.version, "classes": list(g.classes)} for g in self.groups()],
            "accuracy_by_group": self.matrix(),
            "versions": [own.as_dict() for own in self.evaluations],
        }


def _accuracy(evaluation: Evaluation, classes: set[str]) -> float:
    own = {key: n for key, n in evaluation.confusion.items() if key[0] in classes}
    right = sum(n for (truth, answer), n in own.items() if truth == answer)
    return right / sum(own.values())


def evaluate_course(
    store: Store,
    data: str | os.PathLike[str] | Iterable[tuple[object, str]],
    *,
    threads: int | None = None,
    always_answer: bool = False,
) -> Course:
    live = store.live()
    # A live version without classes is refused by whoever asks it.
    versions = [own for own in live.lineage() if own.manifest.classes] or [live]
    return Course(
        tuple(evaluate_all(_sharing(versions, threads), data, always_answer=always_answer))
    )


def _sharing(versions: list[Version], threads: int | None) -> list[Predictor]:
    """Their predictors; those with one encoder share it."""
    embedders: dict[object, Predictor] = {}
    found = []
    for version in versions:
        records = tuple(version.manifest.files[name] for name in (ENCODER_GRAPH, PREPROCESS_GRAPH))
        if records not in embedders:
            embedders[records] = load_predictor(version, threads)
            found.append(embedders[records])
        else:
            found.append(
                Predictor(embedders[records].embedder, load_readout(version), version.name)
            )
    return found

"""How often is the answer right? Measured on a labelled folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from prd_edge.errors import NoUsableDataError
from prd_edge.predictor import Predictor
from prd_edge.session import Session, Skipped


@dataclass(frozen=True)
class Evaluation:
    version: str
    confusion: Counter[tuple[str, str | None]]  # (truth, answer) -> images
    skipped: tuple[Skipped, ...]

    @property
    def images(self) -> int:
        return self.confusion.total()

    @property
    def accuracy(self) -> float:
        right = sum(n for (truth, answer), n in self.confusion.items() if truth == answer)
        return right / self.images

    @property
    def balanced_accuracy(self) -> float:
        """The mean of the classes' recalls: every class counts the same."""
        recalls = self.recall()
        return sum(recalls.values()) / len(recalls)

    @property
    def unknown(self) -> int:
        """Images that were called unknown."""
        return sum(n for (_, answer), n in self.confusion.items() if answer is None)

    def recall(self) -> dict[str, float]:
        return {
            label: self.confusion[label, label] / total for label, total in self.support().items()
        }

    def support(self) -> dict[str, int]:
        totals: Counter[str] = Counter()
        for (truth, _), n in self.confusion.items():
            totals[truth] += n
        return dict(sorted(totals.items()))

    def confusions(self) -> list[tuple[str, str | None, int]]:
        """Wrong answers, the most frequent first."""
        wrong = [(t, a, n) for (t, a), n in self.confusion.items() if t != a]
        return sorted(wrong, key=lambda row: (-row[2], row[0], row[1] or ""))

    def as_dict(self) -> dict[str, Any]:
        recall = self.recall()
        return {
            "schema": 1,
            "version": self.version,
            "images": self.images,
            "skipped": [{"name": s.name, "reason": s.reason} for s in self.skipped],
            "accuracy": self.accuracy,
            "balanced_accuracy": self.balanced_accuracy,
            "unknown": self.unknown,
            "classes": {
                label: {"images": n, "recall": recall[label]} for label, n in self.support().items()
            },
            "confusions": [{"truth": t, "answer": a, "images": n} for t, a, n in self.confusions()],
        }


def evaluate(
    predictor: Predictor,
    data: str | os.PathLike[str] | Iterable[tuple[object, str]],
    *,
    always_answer: bool = False,
) -> Evaluation:
    """Predict every image of a folder (one sub-folder a class) and compare. Of a class that was
    taught, an image called unknown is a mistake."""
    session = Session.open(data)
    skipped = list(session.skipped)
    confusion: Counter[tuple[str, str | None]] = Counter()
    items = list(session.items)
    answers = predictor.predict_many(
        (item.source for item in items), top_k=1, always_answer=always_answer
    )
    for item, answer in zip(items, answers, strict=True):
        if answer.error is None:
            confusion[item.label, answer.label] += 1
        else:
            skipped.append(Skipped(item.name, answer.error))
    if not confusion:
        if not skipped:
            raise NoUsableDataError("there is no image to evaluate")
        raise NoUsableDataError(f"no image could be read; {skipped[0].name}: {skipped[0].reason}")
    return Evaluation(predictor.version, confusion, tuple(skipped))

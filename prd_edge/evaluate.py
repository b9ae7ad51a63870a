"""How good are the answers? Measured on a labelled folder, by one version or by several."""

from __future__ import annotations

import heapq
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from prd_edge import metrics
from prd_edge.errors import ImageError, NoUsableDataError
from prd_edge.images import decode
from prd_edge.parallel import ordered_map
from prd_edge.predictor import Prediction, Predictor
from prd_edge.session import Item, Session, Skipped

_MISTAKES = 20


class Mistake(NamedTuple):
    """A wrong answer, and how sure it was."""

    confidence: float
    name: str  # of the file
    truth: str
    answer: str


@dataclass(frozen=True)
class Evaluation:
    """Of classes that were taught, an image called unknown is a mistake; images of other classes
    count apart, and for them unknown is the right answer."""

    version: str
    taught: tuple[str, ...]
    confusion: Counter[tuple[str, str | None]]  # (truth, answer) -> images of any class
    # Of images of taught classes: the most likely class's confidence, whether it is the right one
    # (withheld or not), and the likeness to it.
    confidences: np.ndarray
    is_right: np.ndarray
    likeness: np.ndarray
    strangers_likeness: np.ndarray
    withheld: int  # right answers that were called unknown
    mistakes: tuple[Mistake, ...]  # the surest first
    milliseconds: float  # of one image, the median
    images_per_second: float
    skipped: tuple[Skipped, ...]

    @property
    def images(self) -> int:
        return self.confusion.total()

    @property
    def of_taught(self) -> Counter[tuple[str, str | None]]:
        known = set(self.taught)
        return Counter({key: n for key, n in self.confusion.items() if key[0] in known})

    @property
    def accuracy(self) -> float | None:
        """None where no image is of a taught class."""
        confusion = self.of_taught
        right = sum(n for (truth, answer), n in confusion.items() if truth == answer)
        return right / confusion.total() if confusion else None

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean of the classes' recalls: every class counts the same."""
        recalls = metrics.recall(self.of_taught)
        return sum(recalls.values()) / len(recalls) if recalls else None

    @property
    def unknown(self) -> int:
        """Images that were called unknown."""
        return sum(n for (_, answer), n in self.confusion.items() if answer is None)

    @property
    def calibration_error(self) -> float | None:
        if not len(self.confidences):
            return None
        return metrics.calibration_error(self.confidences, self.is_right)

    @property
    def strangers(self) -> int:
        """Images of classes that were never taught."""
        return len(self.strangers_likeness)

    @property
    def strangers_told(self) -> float | None:
        """The share of them that was called unknown."""
        told = sum(n for (t, a), n in self.confusion.items() if a is None and t not in self.taught)
        return told / self.strangers if self.strangers else None

    @property
    def auroc(self) -> float | None:
        """The chance that an image of a taught class is more like its answer than a stranger."""
        if not self.strangers or not len(self.likeness):
            return None
        return metrics.auroc(self.likeness, self.strangers_likeness)

    def support(self) -> dict[str, int]:
        totals: Counter[str] = Counter()
        for (truth, _), n in self.confusion.items():
            totals[truth] += n
        return dict(sorted(totals.items()))

    def confusions(self) -> list[tuple[str, str | None, int]]:
        """Wrong answers, the most frequent first."""
        known = set(self.taught)
        wrong = [
            (t, a, n)
            for (t, a), n in self.confusion.items()
            if t != a and not (a is None and t not in known)
        ]
        return sorted(wrong, key=lambda row: (-row[2], row[0], row[1] or ""))

    def as_dict(self) -> dict[str, Any]:
        """What `evaluate --json` prints."""
        recall, precision = metrics.recall(self.of_taught), metrics.precision(self.confusion)
        known = len(self.confidences)
        return {
            "schema": 1,
            "version": self.version,
            "images": self.images,
            "skipped": [{"name": s.name, "reason": s.reason} for s in self.skipped],
            "accuracy": self.accuracy,
            "balanced_accuracy": self.balanced_accuracy,
            "unknown": self.unknown,
            "right_withheld": self.withheld / known if known else None,
            "never_taught": {
                "images": self.strangers,
                "called_unknown": self.strangers_told,
                "auroc": self.auroc,
            },
            "calibration": {
                "error": self.calibration_error,
                "bins": [
                    own._asdict() for own in metrics.reliability(self.confidences, self.is_right)
                ],
            },
            "classes": {
                label: {
                    "images": n,
                    "taught": label in self.taught,
                    "recall": recall.get(label),
                    "precision": precision.get(label),
                }
                for label, n in self.support().items()
            },
            "confusions": [{"truth": t, "answer": a, "images": n} for t, a, n in self.confusions()],
            "mistakes": [own._asdict() for own in self.mistakes],
            "speed": {"ms": self.milliseconds, "images_per_second": self.images_per_second},
        }


def evaluate(
    predictor: Predictor,
    data: str | os.PathLike[str] | Iterable[tuple[object, str]],
    *,
    always_answer: bool = False,
) -> Evaluation:
    """Predict every image of a folder (one sub-folder a class) and compare."""
    return evaluate_all([predictor], data, always_answer=always_answer)[0]


def evaluate_all(
    predictors: Sequence[Predictor],
    data: str | os.PathLike[str] | Iterable[tuple[object, str]],
    *,
    always_answer: bool = False,
) -> list[Evaluation]:
    """By several versions at once: an image is decoded once, and embedded once by each encoder
    that some of them share."""
    for predictor in predictors:
        predictor.refuse_empty()
    session = Session.open(data)
    tallies = [_Tally(predictor) for predictor in predictors]
    skipped = []
    started = time.perf_counter()
    for item, answers in _answered(predictors, session.items, always_answer):
        if isinstance(answers, str):
            skipped.append(Skipped(item.name, answers))
            continue
        for tally, answer in zip(tallies, answers, strict=True):
            tally.add(item, answer)
    skipped = [*session.skipped, *skipped]
    if not tallies[0].confusion:
        if not skipped:
            raise NoUsableDataError("there is no image to evaluate")
        raise NoUsableDataError(f"no image could be read; {skipped[0].name}: {skipped[0].reason}")
    seconds = time.perf_counter() - started
    return [tally.evaluation(seconds, tuple(skipped)) for tally in tallies]


def _answered(
    predictors: Sequence[Predictor], items: Iterable[Item], always_answer: bool
) -> Iterator[tuple[Item, list[Prediction] | str]]:
    """Each item with what every predictor says of it, or why it cannot be read."""
    embedders = {predictor.embedder for predictor in predictors}

    def ask(item: Item) -> tuple[Item, list[Prediction] | str]:
        started = time.perf_counter()
        try:
            image = decode(item.source)
        except ImageError as error:
            return Item(item.name, item.label, None), str(error)
        embeddings = {embedder: embedder.embed_among_many(image) for embedder in embedders}
        answers = [
            p.answer(None, embeddings[p.embedder], started, always_answer=always_answer)
            for p in predictors
        ]
        return Item(item.name, item.label, None), answers  # the image is not held any longer

    for embedder in embedders:
        embedder.prepare_for_many()
    return ordered_map(ask, items, threads=predictors[0].embedder.threads)


class _Tally:
    """Answers of one version, counted one by one."""

    def __init__(self, predictor: Predictor) -> None:
        self.version = predictor.version
        self.taught = predictor.readout.labels
        self._taught = frozenset(self.taught)
        self.confusion: Counter[tuple[str, str | None]] = Counter()
        self._known: list[tuple[float, bool, float]] = []  # confidence, is right, likeness
        self._strangers: list[float] = []
        self._withheld = 0
        self._surest_mistakes: list[Mistake] = []
        self._milliseconds: list[float] = []

    def add(self, item: Item, answer: Prediction) -> None:
        self.confusion[item.label, answer.label] += 1
        self._milliseconds.append(answer.ms)
        best = answer.top_k[0]
        if item.label in self._taught:
            is_right = best.label == item.label
            self._known.append((best.confidence, is_right, answer.likeness))
            self._withheld += is_right and answer.unknown
        else:
            self._strangers.append(answer.likeness)
        if answer.label is not None and answer.label != item.label:
            mistake = Mistake(best.confidence, item.name, item.label, best.label)
            heapq.heappush(self._surest_mistakes, mistake)
            if len(self._surest_mistakes) > _MISTAKES:
                heapq.heappop(self._surest_mistakes)

    def evaluation(self, seconds: float, skipped: tuple[Skipped, ...]) -> Evaluation:
        known = np.array(self._known, np.float64).reshape(-1, 3)
        return Evaluation(
            version=self.version,
            taught=self.taught,
            confusion=self.confusion,
            confidences=known[:, 0].astype(np.float32),
            is_right=known[:, 1].astype(bool),
            likeness=known[:, 2],
            strangers_likeness=np.array(self._strangers),
            withheld=self._withheld,
            mistakes=tuple(sorted(self._surest_mistakes, reverse=True)),
            milliseconds=float(np.median(self._milliseconds)),
            images_per_second=self.confusion.total() / seconds,
            skipped=skipped,
        )

"""In which sessions a data set comes: new classes in each, or the same classes in another guise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from incremental.data import DATA_SETS, load


class Session(NamedTuple):
    rows: np.ndarray  # of the pictures to learn from
    labels: np.ndarray  # what they are to be called
    test_rows: np.ndarray  # of the pictures that this session makes answerable
    test_labels: np.ndarray


class Labelled(Protocol):
    """Pictures, by row, in whatever form a method takes them."""

    @property
    def labels(self) -> np.ndarray: ...


class Stream(NamedTuple):
    name: str
    train: Any  # Labelled
    test: Any
    sessions: list[Session]
    strangers: np.ndarray  # rows of the test pictures of classes that are never taught
    size: int  # of the network's input
    is_domains: bool = False  # the same classes come again in another guise


class StreamKind(NamedTuple):
    title: str
    data: str
    sessions: int
    per_class: int | None = None  # pictures of each class to learn from; None: all
    by_superclass: bool = False
    taught: float = 1.0  # share of the classes; the others stay unknown
    first: int | None = None  # classes of the first session, where it is larger than the others


STREAMS = {
    "cifar-40": StreamKind("CIFAR-100, 20 × 5 classes, 40 a class", "cifar100", 20, 40),
    "cifar-500": StreamKind("CIFAR-100, 20 × 5 classes, 500 a class", "cifar100", 20),
    "grocery": StreamKind("Grocery, 9 × 9 classes", "grocery", 9),
    "trashnet": StreamKind("TrashNet, 3 × 2 classes", "trashnet", 3),
    "domains": StreamKind(
        "CIFAR-100 superclasses, 5 sessions, one fine class of each, 40 pictures",
        "cifar100",
        5,
        40,
        by_superclass=True,
    ),
    "grocery-half": StreamKind("Grocery, 40 of 81 classes in 5 sessions", "grocery", 5, taught=0.5),
}

# The twenty superclasses of CIFAR-100, each with its five classes.
SUPERCLASSES = """
aquatic_mammals: beaver dolphin otter seal whale
fish: aquarium_fish flatfish ray shark trout
flowers: orchid poppy rose sunflower tulip
food_containers: bottle bowl can cup plate
fruit_and_vegetables: apple mushroom orange pear sweet_pepper
household_electrical_devices: clock keyboard lamp telephone television
household_furniture: bed chair couch table wardrobe
insects: bee beetle butterfly caterpillar cockroach
large_carnivores: bear leopard lion tiger wolf
large_man-made_outdoor_things: bridge castle house road skyscraper
large_natural_outdoor_scenes: cloud forest mountain plain sea
large_omnivores_and_herbivores: camel cattle chimpanzee elephant kangaroo
medium_mammals: fox porcupine possum raccoon skunk
non-insect_invertebrates: crab lobster snail spider worm
people: baby boy girl man woman
reptiles: crocodile dinosaur lizard snake turtle
small_mammals: hamster mouse rabbit shrew squirrel
trees: maple oak palm pine willow
vehicles_1: bicycle bus motorcycle pickup_truck train
vehicles_2: lawn_mower rocket streetcar tank tractor
"""


def open_stream(name: str, seed: int, work: Path) -> Stream:
    """A stream of frozen features. The seed decides the order of the classes and which pictures
    are taken."""
    kind = STREAMS[name]
    train, test = load(kind.data, "train", work), load(kind.data, "test", work)
    return stream_of(name, kind, train, test, DATA_SETS[kind.data].size, seed)


def stream_of(
    name: str, kind: StreamKind, train: Labelled, test: Labelled, size: int, seed: int
) -> Stream:
    random = np.random.default_rng(seed)
    if kind.by_superclass:
        parts = _one_of_each_superclass(random, kind.sessions)
    else:
        classes = random.permutation(np.unique(train.labels))
        classes = classes[: int(kind.taught * len(classes))]
        parts = [{str(c): str(c) for c in own} for own in _split(classes, kind)]
    sessions = []
    for names in parts:
        rows = np.concatenate(
            [
                random.permutation(np.flatnonzero(train.labels == own))[: kind.per_class]
                for own in names
            ]
        )
        test_rows = np.flatnonzero(np.isin(test.labels, list(names)))
        called: Callable[[str], str] = names.__getitem__
        sessions.append(
            Session(
                rows,
                np.array([called(str(own)) for own in train.labels[rows]]),
                test_rows,
                np.array([called(str(own)) for own in test.labels[test_rows]]),
            )
        )
        if not len(test_rows):
            raise ValueError(f"no test pictures of {', '.join(names)}")
    asked = np.concatenate([session.test_rows for session in sessions])
    strangers = np.setdiff1d(np.arange(len(test.labels)), asked)
    return Stream(name, train, test, sessions, strangers, size, kind.by_superclass)


def _split(classes: np.ndarray, kind: StreamKind) -> list[np.ndarray]:
    if kind.first is None:
        return np.array_split(classes, kind.sessions)
    return [classes[: kind.first], *np.array_split(classes[kind.first :], kind.sessions - 1)]


def _one_of_each_superclass(random: np.random.Generator, sessions: int) -> list[dict[str, str]]:
    """For each session, its classes and the superclasses they are called by."""
    parts: list[dict[str, str]] = [{} for _ in range(sessions)]
    for line in SUPERCLASSES.strip().splitlines():
        superclass, members = line.split(": ")
        for part, member in zip(parts, random.permutation(members.split()), strict=True):
            part[str(member)] = superclass
    return parts

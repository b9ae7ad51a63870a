"""In which tasks the paper's data sets come."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from incremental.data import DATA
from incremental.local_copies import LOCAL_COPIES
from incremental.pixels import Pictures, Scale, averaged_down
from incremental.streams import Session, Stream, StreamKind, stream_of

SCENARIOS = {
    "cifar-20": StreamKind("Split-CIFAR100, 20 tasks of 5 classes", "cifar100", 20),
    "cifar-10": StreamKind("Split-CIFAR100, 10 tasks of 10 classes", "cifar100", 10),
    "cifar-half-6": StreamKind("CIFAR-100, 50 classes, then 5 × 10", "cifar100", 6, first=50),
    "cifar-half-11": StreamKind("CIFAR-100, 50 classes, then 10 × 5", "cifar100", 11, first=50),
    "cifar-50": StreamKind("Split-CIFAR100, 50 tasks of 2 classes", "cifar100", 50),
    "cifar-domains": StreamKind(
        "CIFAR-100 superclasses, 5 domains, one fine class of each", "cifar100", 5, None, True
    ),
    "mini-imagenet-20": StreamKind("Split-MiniImageNet, 20 tasks of 5", "mini-imagenet", 20),
    "imagenet32-200": StreamKind("ImageNet32, 200 tasks of 5 classes", "imagenet32", 200),
    "imagenet-half-6": StreamKind(
        "ImageNet-Subset, 50 classes, then 5 × 10", "imagenet-subset", 6, first=50
    ),
    "imagenet-half-11": StreamKind(
        "ImageNet-Subset, 50 classes, then 10 × 5", "imagenet-subset", 11, first=50
    ),
    "clad-c": StreamKind("CLAD-C, days and nights", "clad-c", 6),
    "folder": StreamKind("Pictures in folders", "folder", 200),
}


def open_scenario(
    name: str, scale: Scale, root: Path, seed: int, tasks: int | None = None
) -> Stream:
    """`root`: the copy. The seed decides the order of the classes, and the pictures where not all
    are taken."""
    kind = SCENARIOS[name]._replace(per_class=scale.per_class)
    copy = LOCAL_COPIES[kind.data]
    train, test = (averaged_down(half, scale.pixels) for half in copy.read(root, copy.pixels))
    size = train.squares.shape[1]
    if tasks is not None and (kind.by_superclass or train.domains is not None):
        raise SystemExit(f"the domains of {name} are what they are; leave --tasks out")
    if train.domains is not None:
        return _by_domain(name, train, test, size, seed)
    kind = kind._replace(sessions=tasks or kind.sessions)
    classes = len(np.unique(train.labels))
    later = classes - (kind.first or 0)
    least = kind.sessions - (1 if kind.first else 0)
    if not kind.by_superclass and not 1 <= least <= later:
        raise SystemExit(
            f"{root} has {classes} classes, which cannot be {kind.sessions} tasks; "
            "give another number with --tasks"
        )
    return stream_of(name, kind, train, test, size, seed)


def local_copy(name: str, data: Path | None) -> Path:
    """Where the data set of a scenario is: below the folder of all, or where the user says, to
    where CIFAR-100 is downloaded if it is not there."""
    copy = LOCAL_COPIES[SCENARIOS[name].data]
    places = [DATA / copy.folder] if data is None else [data / copy.folder, data]
    for place in places:
        if place.is_dir():
            return place
    if data is not None and SCENARIOS[name].data == "cifar100":
        data.mkdir(parents=True)
        copy.read(data, copy.pixels)
        return data
    raise SystemExit(f"{places[-1]} is not a folder: name your copy of {copy.folder} with --data")


def _by_domain(name: str, train: Pictures, test: Pictures, size: int, seed: int) -> Stream:
    """In the order of the domains. Test pictures belong to none, so each domain is asked about a
    random part of them."""
    assert train.domains is not None
    random = np.random.default_rng(seed)
    domains = np.unique(train.domains)
    parts = np.array_split(random.permutation(len(test.labels)), len(domains))
    sessions = []
    for domain, test_rows in zip(domains, parts, strict=True):
        rows = np.flatnonzero(train.domains == domain)
        sessions.append(Session(rows, train.labels[rows], test_rows, test.labels[test_rows]))
    return Stream(name, train, test, sessions, np.zeros(0, int), size, is_domains=True)

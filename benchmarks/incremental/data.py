"""Data sets, and what the frozen encoder says of their pictures: computed once, kept in --work.

Of every picture: its embedding as others would make it (one look, the central square of 7/8 of the
short side), its embedding as prd-edge makes it, and of prd-edge's looks the features that enter
the trained stages; of pictures to learn from, those of a few random views as well.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from prd_edge.images import decode

DATA = Path(os.environ.get("PRD_EDGE_DATA", Path(__file__).parents[3] / "shared/data"))
START = "block11"
PROOFS = 8  # pictures kept as pixels, to prove a trained graph on
Pairs = list[tuple[object, str]]


class DataSet(NamedTuple):
    load: Callable[[], tuple[Pairs, Pairs]]  # to learn from, and to be asked about
    size: int  # of the encoder's input
    views: int  # random ones


class Part(NamedTuple):
    """The pictures of one half of a data set, by row."""

    labels: np.ndarray  # (N,)
    usual: np.ndarray  # (N, D): one look, as the encoder was trained
    anchor: np.ndarray  # (N, D): the mean of prd-edge's looks
    looks: np.ndarray  # float16 (N, L, C, h, w)
    views: np.ndarray | None  # float16 (N, V, C, h, w)
    squares: np.ndarray  # uint8 (PROOFS, S, S, 3)


def folder(root: Path) -> Pairs:
    return [(path, path.parent.name) for path in sorted(root.glob("*/*.jpg"))]


def grocery() -> tuple[Pairs, Pairs]:
    return folder(DATA / "grocery/train"), folder(DATA / "grocery/test")


def trashnet() -> tuple[Pairs, Pairs]:
    """The first 70 % of each class after a shuffle with seed 0 are for training."""
    train: Pairs = []
    test: Pairs = []
    by_class: dict[str, Pairs] = {}
    for pair in folder(DATA / "trashnet"):
        by_class.setdefault(pair[1], []).append(pair)
    for pairs in by_class.values():
        random.Random(0).shuffle(pairs)
        cut = round(0.7 * len(pairs))
        train += pairs[:cut]
        test += pairs[cut:]
    return train, test


def cifar100() -> tuple[Pairs, Pairs]:
    return cifar_part("train"), cifar_part("test")


def cifar_part(part: str) -> Pairs:
    return [(image, name) for name, images in strips(DATA / "cifar100" / part) for image in images]


def strips(root: Path) -> Iterator[tuple[str, np.ndarray]]:
    """A lossless picture a class, `KK_name.webp`, its images, (N, 32, 32, 3), below each other."""
    for strip in sorted(root.glob("*.webp")):
        images = np.asarray(Image.open(strip).convert("RGB")).reshape(-1, 32, 32, 3)
        yield strip.stem[3:], images


def without_duplicates(pairs: Pairs) -> Pairs:
    """One of each picture; none of those that stand under two labels."""
    from prd_edge.harvest import digest_of

    labels: dict[bytes, set[str]] = {}
    digests = [digest_of(decode(image)) for image, _ in pairs]
    for digest, (_, label) in zip(digests, pairs, strict=True):
        labels.setdefault(digest, set()).add(label)
    kept: Pairs = []
    for digest, pair in zip(digests, pairs, strict=True):
        if len(labels.pop(digest, ())) == 1:
            kept.append(pair)
    return kept


DATA_SETS = {
    "grocery": DataSet(grocery, 224, 4),
    "trashnet": DataSet(trashnet, 224, 4),
    "cifar100": DataSet(cifar100, 128, 2),
}


def prepare(name: str, work: Path) -> None:
    """Compute the features of a data set, unless they are there."""
    if _file(work, name, "done").exists():
        return
    data = DATA_SETS[name]
    train, test = data.load()
    print(f"computing features of {name}, once", file=sys.stderr, flush=True)
    _write(without_duplicates(train), data, work, f"{name}-train", data.views)
    _write(test, data, work, f"{name}-test", 0)
    _file(work, name, "done").touch()


def load(name: str, half: str, work: Path) -> Part:
    def read(what: str) -> np.ndarray:
        return np.load(_file(work, f"{name}-{half}", what + ".npy"), mmap_mode="r")

    views = read("views") if half == "train" else None
    return Part(
        read("labels"),
        np.array(read("usual")),
        np.array(read("anchor")),
        read("looks"),
        views,
        read("squares"),
    )


def _file(work: Path, name: str, what: str) -> Path:
    return work / "features" / f"{name}-{what}"


def _write(pairs: Pairs, data: DataSet, work: Path, name: str, views: int) -> None:
    from prd_edge.encoders.wheel_weights import read_wheel_weights
    from prd_edge.learn.cut import Cut
    from prd_edge.learn.encoders import Tail, load_module
    from prd_edge.learn.random_view import random_view
    from prd_edge.learn.trunk import Trunk
    from prd_edge.preprocess import LOOKS, Look, Preprocessor, build_onnx

    encoder = load_module("efficientnet_lite0", read_wheel_weights())
    trunk = Trunk(Cut(encoder, Tail(encoder, START), START, slice(0, 0), 0), snapshot=False)
    preprocess = Preprocessor(build_onnx(data.size))
    as_usual = Preprocessor(build_onnx(data.size, (Look(7, is_mirrored=False),)))
    first = trunk.plain(preprocess(decode(pairs[0][0])))
    assert first.output is not None
    n, dimensions, shape = len(pairs), len(first.output), first.features.shape[1:]
    usual, anchor = np.zeros((n, dimensions), np.float32), np.zeros((n, dimensions), np.float32)
    work.joinpath("features").mkdir(parents=True, exist_ok=True)

    def array(what: str, count: int) -> np.ndarray:
        path = _file(work, name, what + ".npy")
        return np.lib.format.open_memmap(path, "w+", np.float16, (n, count, *shape))

    looks = array("looks", len(LOOKS))
    kept_views = array("views", views) if views else None

    def fill(row: int) -> None:
        image = decode(pairs[row][0])
        own = trunk.plain(preprocess(image))
        looks[row], anchor[row] = own.features, own.output
        usual[row] = trunk.plain(as_usual(image)).output
        for view in range(views):
            square = random_view(image, preprocess, np.random.default_rng([0, view, row]))
            kept_views[row, view] = trunk.view(square).features

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for _ in threads.map(fill, range(n)):
            pass
    proofs = [preprocess(decode(image)) for image, _ in pairs[:: max(1, n // PROOFS)][:PROOFS]]
    for what, values in (
        ("usual", usual),
        ("anchor", anchor),
        ("labels", np.array([label for _, label in pairs])),
        ("squares", np.concatenate(proofs)),
    ):
        np.save(_file(work, name, what + ".npy"), values)

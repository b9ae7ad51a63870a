"""Data sets of the paper, read from a copy that the user has. Only CIFAR-100 is downloaded, by
torchvision, to a folder that the user names.

    cifar100          train/ and test/ with one strip of pictures a class, or torchvision's folder
    mini-imagenet     a folder a class, or images/ with train.csv, val.csv and test.csv
    imagenet32        train_data_batch_1.npz …, val_data.npz
    imagenet-subset   train/ and val/ with a folder a class
    clad-c            SSLAD-2D/labeled of SODA10M: annotations/instance_*.json beside the pictures
    folder            train/ and test/ (or val/), or a folder a class
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from incremental.data import strips
from incremental.pixels import Pictures

Halves = tuple[Pictures, Pictures]  # to learn from, and to be asked about
_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp")
_TEST_SHARE = 1 / 6  # of each class, where a copy is not divided: 100 of MiniImageNet's 600


class LocalCopy(NamedTuple):
    read: Callable[[Path, int], Halves]
    pixels: int  # of the squares that pictures are scaled to
    folder: str  # below the folder of all data sets


def cifar100(root: Path, pixels: int) -> Halves:
    if not (root / "train").is_dir():
        return _cifar_of_torchvision(root)
    return _strips(root / "train"), _strips(root / "test")


def _strips(root: Path) -> Pictures:
    names, images = zip(*strips(root), strict=True)
    return Pictures(np.repeat(names, [len(own) for own in images]), np.concatenate(images))


def _cifar_of_torchvision(root: Path) -> Halves:
    from prd_edge.learn.torchvision_import import import_torchvision

    data_set = import_torchvision().datasets.CIFAR100
    halves = []
    for is_train in (True, False):
        half = data_set(root, train=is_train, download=not (root / data_set.base_folder).exists())
        halves.append(Pictures(np.array(half.classes)[half.targets], half.data))
    return halves[0], halves[1]


def folder(root: Path, pixels: int) -> Halves:
    halves = [root / name for name in ("train", "val", "test") if (root / name).is_dir()]
    if root / "train" not in halves or len(halves) == 1:
        return _divided(_in_folders(root), pixels)
    found = [_in_folders(half) for half in halves]
    classes = [{label for _, label in pairs} for pairs in found]
    if (
        not classes[0] & classes[-1]
    ):  # divided by classes, as MiniImageNet is: tasks are made of all
        return _divided([pair for pairs in found for pair in pairs], pixels)
    return _read(found[0], pixels), _read(found[-1], pixels)


def mini_imagenet(root: Path, pixels: int) -> Halves:
    tables = [root / f"{part}.csv" for part in ("train", "val", "test")]
    if not tables[0].exists():
        return folder(root, pixels)
    pairs = []
    for table in tables:  # each has classes of its own; the paper's tasks are made of all
        with table.open(newline="") as lines:
            pairs += [
                (root / "images" / line["filename"], line["label"])
                for line in csv.DictReader(lines)
            ]
    return _divided(pairs, pixels)


def imagenet32(root: Path, pixels: int) -> Halves:
    batches = sorted(root.glob("train_data_batch_*.npz"))
    if not batches or not (root / "val_data.npz").exists():
        raise SystemExit(f"no train_data_batch_*.npz and val_data.npz in {root}")
    return _arrays(batches), _arrays([root / "val_data.npz"])


def _arrays(files: Iterable[Path]) -> Pictures:
    """`data` (N, 3 · S · S), colours one after another, and `labels` from 1 on."""
    squares, labels = [], []
    for file in files:
        with np.load(file) as content:
            data = content["data"]
            side = round((data.shape[1] / 3) ** 0.5)
            squares.append(data.reshape(-1, 3, side, side).transpose(0, 2, 3, 1))
            labels.append(np.char.zfill(np.asarray(content["labels"]).astype(str), 4))
    return Pictures(np.concatenate(labels), np.concatenate(squares))


def clad_c(root: Path, pixels: int) -> Halves:
    """Objects cut out of street scenes; every domain is one day or one night.

    As CLAD-C has it, SODA10M's validation half is learned from, in six domains, and small and
    occluded objects are left out.
    """
    labelled = root / "SSLAD-2D/labeled" if (root / "SSLAD-2D").is_dir() else root
    found = _objects(labelled, "val")
    train = [own for domain in _CLAD_DOMAINS for own in found if own.domain == domain]
    domains = np.array([_CLAD_DOMAINS.index(own.domain) for own in train])
    if missing := set(range(len(_CLAD_DOMAINS))) - set(domains.tolist()):
        raise SystemExit(f"no objects of {_CLAD_DOMAINS[min(missing)]} in {labelled}")
    test = _cut_out(_objects(labelled, "test"), pixels)
    return _cut_out(train, pixels)._replace(domains=domains), test


_CLAD_DOMAINS = [
    ("20191111", "Daytime"),
    ("20191111", "Night"),
    ("20191117", "Daytime"),
    ("20191117", "Night"),
    ("20191120", "Daytime"),
    ("20191121", "Night"),
]
_CLAD_SMALLEST = 1024  # pixels


class _Object(NamedTuple):
    domain: tuple[str, str]  # date and period
    file: Path
    box: tuple[float, float, float, float]  # left, top, width, height
    label: str


def _objects(root: Path, part: str) -> list[_Object]:
    file = root / "annotations" / f"instance_{part}.json"
    if not file.exists():
        raise SystemExit(f"{file} is missing")
    content = json.loads(file.read_text())
    names = {category["id"]: category["name"] for category in content["categories"]}
    images = {image["id"]: image for image in content["images"]}
    found = []
    for annotation in content["annotations"]:
        # In this data set 0 stands for what is hidden by something else.
        if annotation["area"] < _CLAD_SMALLEST or annotation["occluded"] == 0:
            continue
        image = images[annotation["image_id"]]
        domain = (image["date"].strip().replace("-", ""), image["period"])
        box = tuple(annotation["bbox"])
        file = root / part / image["file_name"]
        found.append(_Object(domain, file, box, names[annotation["category_id"]]))
    return found


def _cut_out(objects: list[_Object], pixels: int) -> Pictures:
    squares = np.zeros((len(objects), pixels, pixels, 3), np.uint8)
    order = sorted(range(len(objects)), key=lambda row: objects[row].file)
    for file, rows in groupby(order, key=lambda row: objects[row].file):
        with Image.open(file) as image:
            whole = image.convert("RGB")
        for row in rows:
            cut = whole.crop(_square(objects[row].box))  # black beyond the edges
            squares[row] = np.asarray(cut.resize((pixels, pixels)))
    return Pictures(np.array([found.label for found in objects]), squares)


def _square(box: tuple[float, float, float, float]) -> tuple[int, int, int, int]:
    """The smallest square around a box that has its middle."""
    left, top, width, height = box
    side = max(width, height)
    left, top = left + (width - side) / 2, top + (height - side) / 2
    return round(left), round(top), round(left + side), round(top + side)


def _in_folders(root: Path) -> list[tuple[Path, str]]:
    files = sorted(path for path in root.glob("*/*") if path.suffix.lower() in _SUFFIXES)
    if not files:
        raise SystemExit(f"no pictures in {root}: one folder a class is expected there")
    return [(file, file.parent.name) for file in files]


def _divided(pairs: list[tuple[Path, str]], pixels: int) -> Halves:
    """A fixed share of each class is to be asked about."""
    random = np.random.default_rng(0)
    labels = np.array([label for _, label in pairs])
    is_test = np.zeros(len(pairs), bool)
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        is_test[rows[: max(1, round(_TEST_SHARE * len(rows)))]] = True
    train, test = (
        [pair for pair, own in zip(pairs, is_test, strict=True) if own == half]
        for half in (False, True)
    )
    return _read(train, pixels), _read(test, pixels)


def _read(pairs: list[tuple[Path, str]], pixels: int) -> Pictures:
    squares = np.stack(list(_squares((file for file, _ in pairs), pixels)))
    return Pictures(np.array([label for _, label in pairs]), squares)


def _squares(files: Iterable[Path], pixels: int) -> Iterator[np.ndarray]:
    """The central square of each, scaled."""
    for file in files:
        with Image.open(file) as image:
            rgb = image.convert("RGB")
        side = min(rgb.size)
        left, top = (rgb.width - side) / 2, (rgb.height - side) / 2
        box = (left, top, left + side, top + side)
        yield np.asarray(rgb.resize((pixels, pixels), Image.Resampling.BICUBIC, box))


LOCAL_COPIES = {
    "cifar100": LocalCopy(cifar100, 32, "cifar100"),
    "mini-imagenet": LocalCopy(mini_imagenet, 84, "mini-imagenet"),
    "imagenet32": LocalCopy(imagenet32, 32, "imagenet32"),
    "imagenet-subset": LocalCopy(folder, 64, "imagenet-subset"),
    "clad-c": LocalCopy(clad_c, 64, "clad-c"),
    "folder": LocalCopy(folder, 32, "folder"),
}

"""What a store tells somebody who holds a picture: was it one of those learned?

    .venv/bin/python benchmarks/membership.py

Twenty classes of CIFAR-100, imprinted with n pictures each at 128 px. Asked about are those, and
100 of each class that were not learned; whoever asks knows the class. Reported are the area under
the curve (0.5 is chance) and how many of those learned are told where 1 % of the others are wrongly
named, for four ways to tell them:

- answers: the lead of the class in the answers, which an exported file gives as well
- prototype: the cosine to the class's prototype
- metric: the distance to the prototype in the metric of the covariance
- span: how much of the embedding lies outside of what the second moment spans, or where it spans
  all, the leverage. Every picture learned lies in it, so this tells for certain while pictures are
  fewer than dimensions.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from incremental.data import cifar_part

from prd_edge.bank import PrototypeBank
from prd_edge.embedder import Embedder
from prd_edge.encoders import build_encoder
from prd_edge.images import decode
from prd_edge.metrics import auroc
from prd_edge.model import encoder_contents
from prd_edge.readout import Readout, shrunk_covariance
from prd_edge.store import PREPROCESS_GRAPH

CLASSES, PIXELS, STRANGERS = 20, 128, 100
COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
_NO_ENERGY = 1e-9  # of the largest eigenvalue: a direction in which nothing was learned

Attack = Callable[[PrototypeBank, np.ndarray, np.ndarray], np.ndarray]


def by_answers(bank: PrototypeBank, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    scores = Readout.of(bank).scores(x.astype(np.float32))
    own = np.take_along_axis(scores, rows[:, None], axis=1)[:, 0]
    np.put_along_axis(scores, rows[:, None], -np.inf, axis=1)
    return own - scores.max(axis=1)


def by_prototype(bank: PrototypeBank, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    p = bank.prototypes()[rows]
    return (x * p).sum(axis=1) / np.linalg.norm(x, axis=1) / np.linalg.norm(p, axis=1)


def by_metric(bank: PrototypeBank, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    off = x - bank.prototypes()[rows]
    sigma = shrunk_covariance(bank)
    solved = off.T if sigma is None else np.linalg.solve(sigma, off.T)  # (D, N)
    return -np.einsum("nd,dn->n", off, solved)


def by_span(bank: PrototypeBank, x: np.ndarray, _: np.ndarray) -> np.ndarray:
    energies, directions = np.linalg.eigh(bank.second_moment)
    along = (x @ directions) ** 2  # (N, D)
    empty = energies < _NO_ENERGY * energies[-1]
    if empty.any():
        return -along[:, empty].sum(axis=1)
    return -(along / energies).sum(axis=1)


ATTACKS: dict[str, Attack] = {
    "answers": by_answers,
    "prototype": by_prototype,
    "metric": by_metric,
    "span": by_span,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("work/privacy"))
    parser.add_argument("--counts", type=int, nargs="+", default=COUNTS)
    options = parser.parse_args()
    learned = embedded("train", 500, options.work)  # (20, 500, D)
    strangers = embedded("test", STRANGERS, options.work)  # (20, 100, D)
    head = " | ".join(f"{name}: AUC | told at 1 %" for name in ATTACKS)
    print(f"| images a class | in all | {head} |\n|---|---|" + "---|---|" * len(ATTACKS))
    for count in options.counts:
        print(
            f"| {count} | {count * CLASSES} | {' | '.join(cells(learned[:, :count], strangers))} |"
        )


def cells(learned: np.ndarray, strangers: np.ndarray) -> list[str]:
    """(K, n, D) and (K, m, D) to a cell for each figure."""
    dimensions = learned.shape[2]
    members, rows = learned.reshape(-1, dimensions), np.repeat(np.arange(CLASSES), learned.shape[1])
    names = [f"{row:02d}" for row in range(CLASSES)]
    bank = PrototypeBank.empty(dimensions).add(members, [names[row] for row in rows])
    others = strangers.reshape(-1, dimensions)
    asked = np.concatenate([members, others]).astype(np.float64)
    all_rows = np.concatenate([rows, np.repeat(np.arange(CLASSES), strangers.shape[1])])
    found = []
    for attack in ATTACKS.values():
        told = attack(bank, asked, all_rows)
        inside, outside = told[: len(members)], told[len(members) :]
        caught = 100 * float((inside > np.quantile(outside, 0.99)).mean())
        found += [f"{auroc(inside, outside):.2f}", f"{caught:.0f} %"]
    return found


def embedded(half: str, count: int, work: Path) -> np.ndarray:
    """(20, count, D), kept for the next time."""
    file = work / f"{half}-{CLASSES}-{PIXELS}.npy"
    if file.exists():
        return np.load(file)
    print(f"embedding {CLASSES * count} pictures ({half})", file=sys.stderr)
    contents = encoder_contents(build_encoder(image_size=PIXELS))
    embedder = Embedder(contents[PREPROCESS_GRAPH], lambda: contents["encoder.onnx"])
    embedder.prepare_for_many()
    by_class: dict[str, list[object]] = {}
    for picture, label in cifar_part(half):
        by_class.setdefault(label, []).append(picture)
    pictures = [own for label in sorted(by_class)[:CLASSES] for own in by_class[label][:count]]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda own: embedder.embed_among_many(decode(own)), pictures))
    file.parent.mkdir(parents=True, exist_ok=True)
    found = np.stack(rows).reshape(CLASSES, count, -1)
    np.save(file, found)
    return found


if __name__ == "__main__":
    main()

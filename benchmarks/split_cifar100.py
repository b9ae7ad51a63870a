"""The paper's Split-CIFAR100, reduced: PRD, PRD without distillation, and fine-tuning.

    .venv/bin/python benchmarks/split_cifar100.py [--seeds 0 1 2] [--epochs 3] [--width 16]

Twenty tasks of five classes, one after another, no replay, ResNet-18 from scratch. After the last
task: average observed accuracy over all tasks, class-incremental (among all classes) and
task-incremental (among the task's five). Each finished run is kept in --work, so that a killed
command goes on where it stopped. CIFAR-100 is found in PRD_EDGE_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Generator, Tensor, nn

from prd_edge.learn.augment import random_views
from prd_edge.learn.encoders.resnet18_scratch import untrained
from prd_edge.learn.learner import Views, learn_session
from prd_edge.learn.recipes import RECIPES, Recipe

DATA = Path(os.environ.get("PRD_EDGE_DATA", Path(__file__).parents[2] / "shared/data"))
TASKS, CLASSES_A_TASK = 20, 5


class Images(NamedTuple):
    """A session of raw images: the whole encoder is trained."""

    images: Tensor  # uint8 (N, 32, 32, 3)
    classes: Tensor  # (N,), counted in the order in which they are taught

    def __len__(self) -> int:
        return len(self.classes)

    def views(self, samples: Tensor, generator: Generator) -> Views:
        both = torch.cat([samples, samples])
        return Views(random_views(self.images[both], generator), self.classes[both])


Learn = Callable[[nn.Module, Tensor, int, Images, Recipe, int], Tensor]


def prd(
    encoder: nn.Module, rows: Tensor, known: int, task: Images, recipe: Recipe, seed: int
) -> Tensor:
    return learn_session(encoder, rows, known, task, recipe, seed=seed)


def fine_tuning(
    encoder: nn.Module, rows: Tensor, known: int, task: Images, recipe: Recipe, seed: int
) -> Tensor:
    """Cross-entropy over all classes seen so far; the rows are those of a cosine classifier."""
    generator = torch.Generator().manual_seed(seed)
    fresh = torch.randn(len(rows) - known, rows.shape[1], generator=generator)
    learned = torch.cat([rows[:known], F.normalize(fresh, dim=1)]).requires_grad_()
    optimiser = torch.optim.SGD(
        [*encoder.parameters(), learned], lr=recipe.learning_rate, momentum=recipe.momentum
    )
    encoder.train()
    for _ in range(recipe.epochs):
        order = torch.randperm(len(task), generator=generator)
        for samples in order.split(recipe.batch_size):
            views = task.views(samples, generator)
            features = encoder(views.inputs)
            logits = F.normalize(features) @ F.normalize(learned).T / recipe.temperature
            loss = F.cross_entropy(logits, views.classes)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
    encoder.eval()
    return learned.detach()


def run(learn: Learn, recipe: Recipe, width: int, per_class: int, seed: int) -> dict[str, object]:
    train, test = load("train", per_class, seed), load("test", 100, seed)
    encoder = untrained(seed, width).to(memory_format=torch.channels_last)
    rows = torch.zeros(0, 8 * width)
    started = time.perf_counter()
    history = []
    for task in range(TASKS):
        known = len(rows)
        rows = torch.cat([rows, torch.zeros(CLASSES_A_TASK, 8 * width)])
        rows = learn(encoder, rows, known, task_of(train, task), recipe, 1000 * seed + task)
        history.append(observe(encoder, rows, test, task))
    return {
        "class_incremental": history[-1][0],
        "task_incremental": history[-1][1],
        "curve": history,
        "seconds": time.perf_counter() - started,
    }


@torch.inference_mode()
def observe(encoder: nn.Module, rows: Tensor, test: Images, last: int) -> tuple[float, float]:
    """Average observed accuracy over the tasks so far: among all classes, and within the task."""
    seen = task_of(test, 0, last + 1)
    features = torch.cat([encoder(part) for part in seen.images.split(500)])
    scores = F.normalize(features) @ F.normalize(rows).T  # (N, C)
    own = scores.view(len(scores), -1, CLASSES_A_TASK)[torch.arange(len(scores)), seen.classes // 5]
    among_all = (scores.argmax(dim=1) == seen.classes).float().mean()
    within = (own.argmax(dim=1) == seen.classes % CLASSES_A_TASK).float().mean()
    return 100 * among_all.item(), 100 * within.item()


def task_of(images: Images, first: int, count: int = 1) -> Images:
    wanted = (images.classes // CLASSES_A_TASK >= first) & (
        images.classes // CLASSES_A_TASK < first + count
    )
    return Images(images.images[wanted], images.classes[wanted])


def load(part: str, per_class: int, seed: int) -> Images:
    """Classes in an order, and images chosen, by the seed."""
    chosen = np.random.default_rng(seed)
    order = chosen.permutation(100)
    strips = sorted((DATA / "cifar100" / part).glob("*.webp"))
    images = []
    for fine in order:
        strip = np.asarray(Image.open(strips[fine]).convert("RGB")).reshape(-1, 32, 32, 3)
        images.append(strip[chosen.permutation(len(strip))[:per_class]])
    classes = np.repeat(np.arange(100), [len(own) for own in images])
    return Images(torch.from_numpy(np.concatenate(images)), torch.from_numpy(classes))


METHODS: dict[str, tuple[Learn, dict[str, float]]] = {
    "PRD, β = 4": (prd, {}),
    "PRD, β = 0": (prd, {"beta": 0.0}),
    "fine-tuning": (fine_tuning, {}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--images", type=int, default=500, help="a class")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--work", type=Path, default=Path("work/split_cifar100"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    base = replace(RECIPES["paper"], epochs=options.epochs, batch_size=options.batch_size)
    options.work.mkdir(parents=True, exist_ok=True)
    print("| method | class-incremental | task-incremental | time a run |")
    print("|---|---|---|---|", flush=True)
    for name, (learn, changes) in METHODS.items():
        runs = []
        for seed in options.seeds:
            settings = (options.epochs, options.batch_size, options.width, options.images)
            key = "-".join(map(str, (name.replace(" ", ""), seed, *settings)))
            kept = options.work / f"{key}.json"
            if not kept.exists():
                recipe = replace(base, **changes)
                kept.write_text(json.dumps(run(learn, recipe, *settings[2:], seed)))
            runs.append(json.loads(kept.read_text()))
        class_, task = spread(runs, "class_incremental"), spread(runs, "task_incremental")
        seconds = statistics.median(run["seconds"] for run in runs)
        print(f"| {name} | {class_} | {task} | {seconds:.0f} s |", flush=True)


def spread(runs: list[dict[str, object]], key: str) -> str:
    values = [float(run[key]) for run in runs]
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.1f} ± {error:.1f}"


if __name__ == "__main__":
    main()

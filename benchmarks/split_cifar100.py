"""The paper's Split-CIFAR100, reduced: PRD, PRD without distillation, and fine-tuning.

    .venv/bin/python benchmarks/split_cifar100.py [--seeds 0 1 2] [--epochs 8] [--pixels 16]

Twenty tasks of five classes, one after another, no replay, ResNet-18 from scratch. The paper's has
eight times the width, sees four times the pixels and trains for a hundred epochs; eight have to do
here, at five times its learning rate and with smaller batches. All else is the recipe `paper`.
After the last task: average observed accuracy over all tasks, class-incremental (among all classes)
and task-incremental (among the task's five). Each finished run is kept in --work, so that a killed
command goes on where it stopped. CIFAR-100 is found in PRD_EDGE_DATA.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
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
from torch import Tensor, nn

from prd_edge.learn.encoders.resnet18_scratch import untrained
from prd_edge.learn.learner import learn_session
from prd_edge.learn.recipes import RECIPES, Recipe
from prd_edge.learn.session_views import Squares

DATA = Path(os.environ.get("PRD_EDGE_DATA", Path(__file__).parents[2] / "shared/data"))
TASKS, CLASSES_A_TASK = 20, 5


Learn = Callable[[nn.Module, Tensor, int, Squares, Recipe, int], Tensor]


def prd(
    encoder: nn.Module, rows: Tensor, known: int, task: Squares, recipe: Recipe, seed: int
) -> Tensor:
    return learn_session(encoder, rows, known, task, recipe, seed=seed).prototypes


def fine_tuning(
    encoder: nn.Module, rows: Tensor, known: int, task: Squares, recipe: Recipe, seed: int
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


def run(
    learn: Learn, recipe: Recipe, width: int, pixels: int, per_class: int, seed: int
) -> dict[str, object]:
    train, test = load("train", pixels, per_class, seed), load("test", pixels, 100, seed)
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
def observe(encoder: nn.Module, rows: Tensor, test: Squares, last: int) -> tuple[float, float]:
    """Average observed accuracy over the tasks so far: among all classes, and within the task."""
    seen = task_of(test, 0, last + 1)
    features = torch.cat([encoder(part) for part in seen.images[:, 0].split(500)])
    scores = F.normalize(features) @ F.normalize(rows).T  # (N, C)
    own = scores.view(len(scores), -1, CLASSES_A_TASK)[torch.arange(len(scores)), seen.classes // 5]
    among_all = (scores.argmax(dim=1) == seen.classes).float().mean()
    within = (own.argmax(dim=1) == seen.classes % CLASSES_A_TASK).float().mean()
    return 100 * among_all.item(), 100 * within.item()


def task_of(images: Squares, first: int, count: int = 1) -> Squares:
    wanted = (images.classes // CLASSES_A_TASK >= first) & (
        images.classes // CLASSES_A_TASK < first + count
    )
    return Squares(images.images[wanted], images.classes[wanted])


def load(part: str, pixels: int, per_class: int, seed: int) -> Squares:
    """Classes in an order, and images chosen, by the seed; each pixel the mean of a square."""
    chosen = np.random.default_rng(seed)
    order = chosen.permutation(100)
    strips = sorted((DATA / "cifar100" / part).glob("*.webp"))
    images = []
    for fine in order:
        strip = np.asarray(Image.open(strips[fine]).convert("RGB")).reshape(-1, 32, 32, 3)
        images.append(strip[chosen.permutation(len(strip))[:per_class]])
    classes = np.repeat(np.arange(100), [len(own) for own in images])
    tall = torch.from_numpy(np.concatenate(images)).permute(0, 3, 1, 2).float()
    small = F.avg_pool2d(tall, 32 // pixels).round().to(torch.uint8).permute(0, 2, 3, 1)
    return Squares(small.contiguous()[:, None], torch.from_numpy(classes))


METHODS: dict[str, tuple[Learn, dict[str, float]]] = {
    "PRD, β = 4": (prd, {}),
    "PRD, β = 0": (prd, {"beta": 0.0}),
    "fine-tuning": (fine_tuning, {}),
}


class Job(NamedTuple):
    method: str
    seed: int
    epochs: int
    batch_size: int
    width: int
    pixels: int
    images: int
    learning_rate: float
    work: Path

    @property
    def file(self) -> Path:
        name = self.method.replace(" ", "")
        return self.work / ("-".join(map(str, (name, *self[1:-1]))) + ".json")


def finish(job: Job) -> None:
    """Run what has not been run yet."""
    if job.file.exists():
        return
    torch.set_num_threads(1)
    learn, changes = METHODS[job.method]
    recipe = replace(
        RECIPES["paper"],
        epochs=job.epochs,
        batch_size=job.batch_size,
        learning_rate=job.learning_rate,
        projection=(8 * job.width, 8 * job.width),
        **changes,
    )
    result = run(learn, recipe, job.width, job.pixels, job.images, job.seed)
    partial = job.file.with_suffix(".partial")
    partial.write_text(json.dumps(result))
    partial.rename(job.file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--pixels", type=int, default=16, choices=[8, 16, 32])
    parser.add_argument("--images", type=int, default=500, help="a class")
    parser.add_argument("--learning-rate", type=float, default=0.05)
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="runs side by side")
    parser.add_argument("--work", type=Path, default=Path("work/split_cifar100"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    settings = (
        options.epochs,
        options.batch_size,
        options.width,
        options.pixels,
        options.images,
        options.learning_rate,
        options.work,
    )
    jobs = {method: [Job(method, seed, *settings) for seed in options.seeds] for method in METHODS}
    started = time.perf_counter()
    # One thread a run: side by side they waste nothing on waiting for each other.
    with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
        for _ in pool.imap_unordered(finish, (job for own in jobs.values() for job in own)):
            pass
    print("| method | class-incremental | task-incremental | time a run |")
    print("|---|---|---|---|")
    for method, own in jobs.items():
        runs = [json.loads(job.file.read_text()) for job in own]
        class_, task = spread(runs, "class_incremental"), spread(runs, "task_incremental")
        minutes = statistics.median(run["seconds"] for run in runs) / 60
        print(f"| {method} | {class_} | {task} | {minutes:.0f} min |")
    print(
        f"\n{(time.perf_counter() - started) / 60:.0f} min in all, {options.workers} side by side"
    )


def spread(runs: list[dict[str, object]], key: str) -> str:
    values = [float(run[key]) for run in runs]
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.1f} ± {error:.1f}"


if __name__ == "__main__":
    main()

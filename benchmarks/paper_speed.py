"""How fast PRD trains from scratch, against a straightforward implementation of the same step.

    .venv/bin/python benchmarks/paper_speed.py [--repeats 3]

A task of 5 × 100 pictures with fifty classes known before it. Straightforward: default memory
layout, views made anew in every step, the teacher run on both of them in eager torch. Ours is what
paper.py runs: channels last, a few views a picture and what the teacher says of them remembered,
half precision at the full scale where the processor has it. Losses, network, optimiser, batches and
number of steps are the same. What is done once a task and what is done in every epoch are timed
apart and added up for as many epochs as the scale has. In turn, on one thread each; then both as
they would fill the machine: the straightforward one alone, with all threads that torch takes, ours
as one run a core. Ratios are medians of the repeats.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from dataclasses import replace
from statistics import median
from typing import NamedTuple

import numpy as np
import torch
from incremental.pixels import FULL, REDUCED, Pictures, PixelGround, Scale, has_bfloat16

from prd_edge.learn.encoders.resnet18_scratch import untrained
from prd_edge.learn.learner import learn_session
from prd_edge.learn.session_views import Squares

KNOWN, CLASSES, PER_CLASS = 50, 5, 100
_ALL_THREADS = torch.get_num_threads()  # that torch takes by itself


class Shape(NamedTuple):
    title: str
    scale: Scale
    pixels: int


SHAPES = {
    "reduced": Shape("width 8, 16 px, batches of 32", REDUCED, 16),
    "wider": Shape("width 16, 32 px, batches of 128", replace(FULL, base_width=16), 32),
    "paper": Shape("width 64, 32 px, batches of 128", FULL, 32),
}


class Measurement(NamedTuple):
    shape: str
    is_ours: bool
    threads: int | None  # None: as many as torch takes


def seconds(what: Measurement) -> float:
    """That one task would take."""
    torch.set_num_threads(what.threads or _ALL_THREADS)
    scale, pixels = SHAPES[what.shape].scale, SHAPES[what.shape].pixels
    random = np.random.default_rng(0)
    classes = KNOWN + np.repeat(np.arange(CLASSES), PER_CLASS)
    squares = random.integers(0, 256, (len(classes), pixels, pixels, 3), np.uint8)
    ground = PixelGround(scale)
    prototypes = torch.randn(KNOWN + CLASSES, ground.width)
    recipe = replace(ground.recipe(len(classes), KNOWN), epochs=1)
    network = ground.network(0) if what.is_ours else untrained(0, scale.base_width).eval()
    started = time.perf_counter()
    if what.is_ours:
        pictures = Pictures(classes, squares)
        data = ground.session(pictures, np.arange(len(classes)), classes, network)
    else:
        data = Squares(torch.from_numpy(squares)[:, None], torch.from_numpy(classes))
    once = time.perf_counter() - started
    learn_session(network, prototypes, KNOWN, data, recipe, seed=0, features=ground.width)
    an_epoch = time.perf_counter() - started - once
    return once + scale.epochs * an_epoch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    print("| | straightforward | ours | ratio, one thread each | ratio, the whole machine |")
    print("|---|---|---|---|---|")
    with multiprocessing.get_context("spawn").Pool(cores) as pool:
        for name in options.shapes:
            shape = SHAPES[name]
            pool.map(seconds, [Measurement("reduced", True, 1)] * cores, chunksize=1)  # warms up
            plain, ours, alone, together = [], [], [], []
            for _ in range(options.repeats):
                plain.append(pool.apply(seconds, [Measurement(name, False, 1)]))
                ours.append(pool.apply(seconds, [Measurement(name, True, 1)]))
                alone.append(pool.apply(seconds, [Measurement(name, False, None)]))
                side_by_side = [Measurement(name, True, 1)] * cores
                together.append(max(pool.map(seconds, side_by_side, chunksize=1)) / cores)
            images = CLASSES * PER_CLASS * shape.scale.epochs
            each = median(a / b for a, b in zip(plain, ours, strict=True))
            whole = median(a / b for a, b in zip(alone, together, strict=True))
            print(
                f"| {shape.title} | {images / median(plain):.0f} images/s "
                f"| {images / median(ours):.0f} images/s | {each:.1f} | {whole:.1f} |",
                flush=True,
            )
    print(f"\n{cores} cores; instructions for bfloat16: {'yes' if has_bfloat16() else 'no'}")


if __name__ == "__main__":
    main()

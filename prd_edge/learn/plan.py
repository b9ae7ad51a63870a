"""What a session will cost, measured on a few views before the work starts.

Decides what is left open: the number of threads, the size of mini-batches and the number of views
that fit into memory.
"""

from __future__ import annotations

import time
from copy import deepcopy
from dataclasses import replace
from math import ceil, floor, inf
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from prd_edge.errors import InvalidInputError
from prd_edge.learn.encoders import Tail
from prd_edge.learn.learner import Views, one_step
from prd_edge.learn.recipes import Recipe
from prd_edge.learn.session_views import FEWEST_VIEWS
from prd_edge.memory import memory_mb, release_memory
from prd_edge.progress import Estimate
from prd_edge.training import TrainingSettings

_DEFAULT_ROOM_MB = 750.0  # beside what the process has taken up already: an app may be large
_SHARE_OF_FREE_MEMORY = 0.6
_MB = 2.0**20
_TRIAL_SAMPLES = 4
_SMALLEST_BATCH = 8
_WORKING_OVER_SAVED = 1.6  # all that a step takes up, over what is kept for its backward pass
_SOLVE_COPIES = 5  # of a covariance, while the readout is computed
_EMBEDDING_COPIES = 3  # of all embeddings, while old classes are carried over
_BASE_MB = 650.0  # of a process that has loaded an encoder to train, and little else
_ROUGHLY_MB = 100.0
_SECONDS_A_GIGAFLOP = 0.02  # of double-precision linear algebra: what a slow core does


class Plan(NamedTuple):
    recipe: Recipe  # with a batch size and a number of views that fit
    threads: int
    views_budget: float  # bytes for views
    seconds_to_train_in: float  # from the start of the session
    estimate: Estimate


class Trial(NamedTuple):
    """One small step, measured."""

    threads: int
    view_seconds: float  # to train on one view
    view_bytes: float  # taken up by one view


def make_plan(
    recipe: Recipe,
    settings: TrainingSettings,
    trial: Trial,
    *,
    images: int,
    dimensions: int,
    looks: int,
    cached_bytes: int,
    read_seconds: float,
) -> Plan:
    """`looks` are those at each image; `cached_bytes` and `read_seconds` are of one view of one."""
    base_mb = _base_mb()
    base = base_mb * _MB
    budget = (settings.max_memory_mb or base_mb + _default_room_mb()) * _MB
    room = budget - base
    cache = min(images * (looks + FEWEST_VIEWS) * cached_bytes, room / 2)  # what it should have
    while (
        recipe.batch_size > _SMALLEST_BATCH
        and 2 * recipe.batch_size * trial.view_bytes > room - cache
    ):
        recipe = replace(recipe, batch_size=recipe.batch_size // 2)
    working = 2 * recipe.batch_size * trial.view_bytes
    views_budget = room - working
    closing = _SOLVE_COPIES * 8 * dimensions**2 + _EMBEDDING_COPIES * 8 * dimensions * images
    if views_budget <= 0 or (settings.max_memory_mb and closing > room):
        raise InvalidInputError(
            f"{budget / _MB:.0f} MB of memory are too little to train: about "
            f"{(base + max(working, closing)) / _MB:.0f} MB are needed; allow more with "
            "--max-memory, learn fewer images at a time, or use --mode imprint"
        )
    fitting = int(views_budget // (images * cached_bytes)) - looks if cached_bytes else recipe.views
    views = min(max(fitting, 0), recipe.views)
    is_cached = views >= FEWEST_VIEWS
    if is_cached:
        recipe = replace(recipe, views=views)
    reads = images * (looks + recipe.views if is_cached else 3 * looks + 2 * recipe.epochs)
    solve_flops = 6 * dimensions**3
    all_looks = looks * images * trial.view_seconds / 3  # through the tail, without a step
    finishing = all_looks + solve_flops / 1e9 * _SECONDS_A_GIGAFLOP
    finishing += 0.0 if is_cached else looks * images * read_seconds
    training = all_looks + 2 * images * recipe.epochs * trial.view_seconds
    seconds = reads * read_seconds + training + finishing
    cached = images * (looks + views) * cached_bytes if is_cached else 0.0
    peak = base + max(working + cached, closing)
    estimate = Estimate(
        seconds=seconds,
        memory_mb=peak / _MB,
        images=images,
        views=views if is_cached else 0,
        epochs=recipe.epochs,
        threads=trial.threads,
    )
    train_in = inf if settings.max_seconds is None else settings.max_seconds - finishing
    return Plan(recipe, trial.threads, views_budget, train_in, estimate)


def measure_step(tail: Tail, view: Tensor, recipe: Recipe, candidates: list[int]) -> Trial:
    """Time a small training step on each number of threads, and take the quickest.

    `view` (1, …) stands for all of them.
    """
    inputs = view.expand(2 * _TRIAL_SAMPLES, *view.shape[1:]).clone(
        memory_format=torch.preserve_format
    )
    classes = torch.arange(2).repeat(_TRIAL_SAMPLES)
    kept: dict[int, int] = {}
    copy = deepcopy(tail)
    weights = {parameter.untyped_storage().data_ptr() for parameter in copy.parameters()}

    def count(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
        one_step(copy, Views(inputs, classes), recipe)  # also warms up
    timed = []
    for threads in candidates:
        torch.set_num_threads(threads)
        one_step(copy, Views(inputs, classes), recipe)  # a new number of threads warms up anew
        started = time.perf_counter()
        one_step(copy, Views(inputs, classes), recipe)
        timed.append((time.perf_counter() - started, threads))
    seconds, threads = min(timed)
    torch.set_num_threads(threads)
    views = 2 * _TRIAL_SAMPLES
    return Trial(threads, seconds / views, _WORKING_OVER_SAVED * sum(kept.values()) / views)


def thread_candidates(settings: TrainingSettings, available: int) -> list[int]:
    """Two threads on two busy cores can be slower than one. A given seed promises the same bytes,
    which depend on the number of threads: then it is not left to a measurement."""
    if settings.threads is not None or settings.seed is not None:
        return [min(settings.threads or available, available)]
    return sorted({1, (available + 1) // 2, available})


def _base_mb() -> float:
    """Roughly what is taken up already. What fits beside it decides over batches and views, and so
    over the result, which must not hang on a few megabytes more or less."""
    release_memory()
    return max(_BASE_MB, ceil(memory_mb() / _ROUGHLY_MB) * _ROUGHLY_MB)


def _default_room_mb() -> float:
    try:
        available = int(Path("/proc/meminfo").read_text().split("MemAvailable:")[1].split()[0])
    except (OSError, IndexError, ValueError):
        return _DEFAULT_ROOM_MB
    free = _SHARE_OF_FREE_MEMORY * available / 1024
    return min(_DEFAULT_ROOM_MB, floor(free / _ROUGHLY_MB) * _ROUGHLY_MB)

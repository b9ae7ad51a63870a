"""What of a session in progress survives a power cut: weights, under a key of what made them."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from prd_edge.learn.cut import Cut
from prd_edge.learn.learner import Checkpoint
from prd_edge.learn.reading import Reading
from prd_edge.learn.recipes import Recipe
from prd_edge.training import TrainingSettings, TrainingTask

SECONDS_BETWEEN = 15.0  # a checkpoint costs a small device's disk a second or two
_EPOCHS = "epochs"


class Resumable:
    def __init__(
        self,
        task: TrainingTask,
        settings: TrainingSettings,
        recipe: Recipe,
        cut: Cut,
        reading: Reading,
    ) -> None:
        self._checkpoints = task.checkpoints
        self._saved = time.perf_counter()
        # The same images, in the same order, learned in the same way upon the same knowledge.
        what = hashlib.sha256()
        settled = [asdict(recipe), settings.holdout, cut.start, task.spec]
        settled += [reading.cached_views, task.known.bank.labels]
        if settings.seed is not None:  # without one the same bytes are not promised
            settled += [settings.seed, reading.plan.threads]
        what.update(json.dumps(settled).encode())
        for digest, label in zip(reading.found.digests, reading.found.labels, strict=True):
            what.update(digest + label.encode() + b"\0")
        known = {**task.known.bank.prototype_tensors(), **task.weights()}
        for name in sorted(known):  # tensors come from a file in any order
            what.update(known[name].tobytes())
        self._key = what.hexdigest()

    def load(self) -> Checkpoint | None:
        data = self._checkpoints.load(self._key) if self._checkpoints else None
        if data is None:
            return None
        try:
            tensors = load(data)
        except SafetensorError:
            return None
        return Checkpoint(int(tensors.pop(_EPOCHS)[0]), tensors)

    def save(self, checkpoint: Checkpoint) -> None:
        if self._checkpoints is None or time.perf_counter() - self._saved < SECONDS_BETWEEN:
            return
        tensors = {name: tensor.contiguous() for name, tensor in checkpoint.tensors.items()}
        data = save({**tensors, _EPOCHS: torch.tensor([checkpoint.epochs])})
        self._checkpoints.save(self._key, data)
        self._saved = time.perf_counter()

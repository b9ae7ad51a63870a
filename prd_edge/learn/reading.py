"""Reading a session to train on it: every image once, through the trunk, with its random views."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
import torch

from prd_edge.errors import GuardRefusedError, ImageError, InvalidInputError
from prd_edge.harvest import Harvest, Look, digest_of, harvest
from prd_edge.images import decode
from prd_edge.learn.cut import Cut
from prd_edge.learn.plan import Plan, make_plan, measure_step, thread_candidates
from prd_edge.learn.random_view import random_view
from prd_edge.learn.recipes import Recipe
from prd_edge.learn.session_views import (
    PreparedSession,
    RecomputedViews,
    Squares,
    View,
    ViewStorage,
    as_input,
)
from prd_edge.learn.trunk import Trunk
from prd_edge.parallel import ordered_map
from prd_edge.progress import Progress
from prd_edge.session import Item
from prd_edge.training import TrainingSettings, TrainingTask

_PROOF_IMAGES = 16  # kept as pixels until the trained encoder's graph is proven on them
TYPICAL_COUNT = 500  # of an iterable that does not tell its length
_TYPICAL_IMAGE = (480, 640, 3)
_MB = 2.0**20


@dataclass
class Reading:
    """A session that has been read, and is forgotten with this object."""

    plan: Plan
    _reader: _Reader
    found: Harvest

    def prepared(self, positions: np.ndarray, classes: torch.Tensor) -> PreparedSession:
        """Some of the images that were found, with the rows of their classes."""
        return self._reader.prepared(self.found.rows[positions], classes)

    @property
    def cached_views(self) -> int:
        """Random views kept of each image."""
        return self._reader.cached_views

    def forget_views(self) -> None:
        self._reader.forget()

    def sample_squares(self, held: np.ndarray) -> np.ndarray:
        """Some held-out images, preprocessed: uint8 (n, S, S, 3). Others where none is held out."""
        digests = {d for d, is_held in zip(self.found.digests, held, strict=True) if is_held}
        looks = [own for d, own in self._reader.proof if d in digests]
        return np.concatenate(looks or [own for _, own in self._reader.proof])


def read_session(
    task: TrainingTask, cut: Cut, recipe: Recipe, settings: TrainingSettings
) -> Reading:
    reader = _Whole(task, cut) if cut.tail.is_whole else _Trunked(task, cut, recipe, settings)
    plan = reader.plan(recipe, settings)
    reader.begin(plan)
    if task.session.count is not None:
        task.on_progress(Progress("estimate", 0, None, estimate=plan.estimate))
    found = harvest(
        task.session,
        task.embedder,
        look=reader.look,
        keep=reader.keep,
        on_progress=task.on_progress,
        cancel=task.cancel,
    )
    return Reading(plan, reader, found)


@dataclass
class _Reader:
    """What the two ways of reading share."""

    task: TrainingTask
    cut: Cut
    proof: list[tuple[bytes, np.ndarray]] = field(default_factory=list, init=False)
    budget: float = field(default=0.0, init=False)
    deadline: float = field(default=inf, init=False)  # after it there is no time to train
    cached_views: int = field(default=0, init=False)

    def look(self, image: np.ndarray, digest: bytes) -> Look:
        raise NotImplementedError

    def keep(self, item: Item, digest: bytes, more: Any) -> None:
        raise NotImplementedError

    def prepared(self, rows: np.ndarray, classes: torch.Tensor) -> PreparedSession:
        raise NotImplementedError

    def forget(self) -> None:
        raise NotImplementedError

    def cost(self, image: np.ndarray) -> tuple[torch.Tensor, int]:
        """One view as the tail takes it, and the bytes that are kept of a view."""
        raise NotImplementedError

    def plan(self, recipe: Recipe, settings: TrainingSettings) -> Plan:
        started = time.perf_counter()
        image = self._first_image()
        view, cached_bytes = self.cost(image)
        read_seconds = (time.perf_counter() - started) / self.task.embedder.threads
        candidates = thread_candidates(settings, self.task.embedder.threads)
        return make_plan(
            recipe,
            settings,
            measure_step(self.cut.tail, view, recipe, candidates),
            images=self.task.session.count or TYPICAL_COUNT,
            dimensions=sum(self.cut.encoder.part_widths()),
            looks=len(self.task.embedder.preprocess(image)),
            cached_bytes=cached_bytes,
            read_seconds=read_seconds,
        )

    def begin(self, plan: Plan) -> None:
        self.budget = plan.views_budget
        self.deadline = self.task.started + plan.seconds_to_train_in

    def keep_for_proof(self, digest: bytes, looks: np.ndarray) -> None:
        """Of each class the smallest digests are held out, so the smallest of all are."""
        self.proof.append((digest, looks))
        if len(self.proof) > 2 * _PROOF_IMAGES:
            self.proof = sorted(self.proof, key=lambda kept: kept[0])[:_PROOF_IMAGES]

    def _first_image(self) -> np.ndarray:
        if isinstance(self.task.session.items, Sequence):
            for item in self.task.session.items[:_PROOF_IMAGES]:
                try:
                    return decode(item.source)
                except ImageError:
                    continue
        return np.random.default_rng(0).integers(0, 256, _TYPICAL_IMAGE, dtype=np.uint8)


class _Whole(_Reader):
    """For an encoder without a trunk: the pixels themselves."""

    def __init__(self, task: TrainingTask, cut: Cut) -> None:
        super().__init__(task, cut)
        self._squares: list[np.ndarray] = []
        self._joined: torch.Tensor | None = None

    def cost(self, image: np.ndarray) -> tuple[torch.Tensor, int]:
        looks = self.task.embedder.preprocess(image)
        self.task.embedder.embed_looks(looks)
        return torch.from_numpy(looks[:1]), 0

    def look(self, image: np.ndarray, _digest: bytes) -> Look:
        looks = self.task.embedder.preprocess(image)
        return Look(self.task.embedder.embed_looks(looks), looks)

    def keep(self, _item: Item, digest: bytes, more: Any) -> None:
        self._squares.append(more)
        if 2 * len(self._squares) * more.nbytes > self.budget:  # twice while they are joined
            needed = 2 * (self.task.session.count or len(self._squares)) * more.nbytes / _MB
            raise InvalidInputError(
                f"{needed:.0f} MB of pixels do not fit into the memory that is allowed; raise "
                "--max-memory, or learn fewer images in a session"
            )
        self.keep_for_proof(digest, more)

    def prepared(self, rows: np.ndarray, classes: torch.Tensor) -> PreparedSession:
        if self._joined is None:
            self._joined = torch.from_numpy(np.stack(self._squares))
            self._squares.clear()
        return Squares(self._joined, classes, torch.from_numpy(rows))

    def forget(self) -> None:
        self._joined = None


class _Trunked(_Reader):
    """The usual way: trunk features of random views, cached, or made anew where they do not fit."""

    def __init__(
        self, task: TrainingTask, cut: Cut, recipe: Recipe, settings: TrainingSettings
    ) -> None:
        super().__init__(task, cut)
        self._trunk = Trunk(cut, snapshot=bool(task.known.bank.labels) and recipe.beta > 0)
        self._seed = settings.seed or 0
        self._storage = ViewStorage(0.0, None)
        self._random_views = recipe.views
        self._sources: list[tuple[object, bytes]] = []  # files, and what was in them

    def begin(self, plan: Plan) -> None:
        super().begin(plan)
        self._storage = ViewStorage(self.budget, self.task.session.count)
        self._random_views = plan.recipe.views

    def cost(self, image: np.ndarray) -> tuple[torch.Tensor, int]:
        view = self._view(image, np.random.default_rng(0))
        return as_input(torch.from_numpy(view.features[None])), view.size()

    def look(self, image: np.ndarray, digest: bytes) -> Look:
        looks = self.task.embedder.preprocess(image)
        plain = self._trunk.plain(looks)
        assert plain.output is not None
        views = [View(plain.features, None)]
        number = int.from_bytes(digest)
        wanted = 0 if self._storage.is_full or self._is_late() else self._random_views
        for view in range(wanted):
            views.append(self._view(image, np.random.default_rng([self._seed, view, number])))
        return Look(plain.output, (looks, views))

    def keep(self, item: Item, digest: bytes, more: Any) -> None:
        looks, views = more
        self.keep_for_proof(digest, looks)
        is_file = isinstance(item.source, str | os.PathLike)
        self._sources.append((item.source if is_file else None, digest))
        self._storage.add(views)
        self.cached_views = self._storage.random_views
        cannot_be_read_again = any(source is None for source, _ in self._sources)
        if self._storage.is_full and cannot_be_read_again and not self._is_late():
            raise InvalidInputError(
                f"views of {len(self._sources)} images do not fit into the memory that is allowed; "
                "raise --max-memory, or give a folder, whose files can be read again"
            )

    def _is_late(self) -> bool:
        """There is no time left to train, and so no need for views."""
        return time.perf_counter() > self.deadline

    def prepared(self, rows: np.ndarray, classes: torch.Tensor) -> PreparedSession:
        if self._storage.is_full:
            return RecomputedViews(self._look_again, rows, classes)
        return self._storage.rows(rows, classes)

    def forget(self) -> None:
        self._storage = ViewStorage(0.0, None)

    def _view(self, image: np.ndarray, random: np.random.Generator) -> View:
        square = random_view(image, self.task.embedder.preprocess, random)
        return View(*self._trunk.view(square))

    def _same_image(self, source: object, digest: bytes) -> np.ndarray:
        try:
            image = decode(source)
        except ImageError as error:
            raise GuardRefusedError(f"{source} cannot be read any more ({error})") from error
        if digest_of(image) != digest:
            raise GuardRefusedError(f"{source} was changed while it was being learned")
        return image

    def _look_again(self, wanted: Sequence[tuple[int, int | None]]) -> list[View]:
        def look(picture: tuple[int, int | None]) -> View:
            row, seed = picture
            image = self._same_image(*self._sources[row])
            if seed is not None:
                return self._view(image, np.random.default_rng(seed))
            looks = self.task.embedder.preprocess(image)
            return View(self._trunk.plain(looks).features, None)

        return list(ordered_map(look, wanted, threads=self.task.embedder.threads))

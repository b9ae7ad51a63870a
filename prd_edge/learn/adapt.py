"""A session from images to a trained encoder and the knowledge that goes with it.

The order of things: measure and plan, read every image once, imprint (the floor, and the way
back), train, carry what is known into the new space, and let the session's own hold-out decide
which of the two is kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import sqrt
from typing import NamedTuple

import numpy as np
import torch

from prd_edge.bank import PrototypeBank
from prd_edge.drift import drift
from prd_edge.encoders import BuiltEncoder
from prd_edge.errors import Cancelled, GuardRefusedError
from prd_edge.harvest import Harvest
from prd_edge.imprint import Imprint, Imprinted, right_answers
from prd_edge.learn.checkpointing import Resumable
from prd_edge.learn.cut import Cut, cut
from prd_edge.learn.encoders import module_weights, unproven_graph
from prd_edge.learn.gradient_prototypes import GradientPrototypes
from prd_edge.learn.learner import Step, batches_an_epoch, learn_session
from prd_edge.learn.parity import check_parity
from prd_edge.learn.plan import Plan
from prd_edge.learn.reading import TYPICAL_COUNT, Reading, read_session
from prd_edge.learn.recipes import Recipe, default_recipe, recipe_named
from prd_edge.learn.transport import transported
from prd_edge.memory import release_memory
from prd_edge.progress import Losses, Progress
from prd_edge.readout import Temperature
from prd_edge.report import TrainingFigures
from prd_edge.training import Learned, TrainingSettings, TrainingTask

_FORWARD_BATCH = 64


def adapt(task: TrainingTask, settings: TrainingSettings) -> Learned:
    recipe = recipe_named(settings.recipe) if settings.recipe else default_recipe(task.spec.name)
    if settings.epochs is not None:
        recipe = replace(recipe, epochs=settings.epochs, images=None)
    count = task.session.count or TYPICAL_COUNT
    recipe = recipe.for_images(count)
    made = cut(task.spec, task.weights(), recipe, settings.train_from)
    with _threads_restored():
        reading = read_session(task, made, recipe, settings)
        return Adaptation(task, settings, made, reading).result()


class _Result(NamedTuple):
    encoder: BuiltEncoder
    learned: Imprinted
    embeddings: np.ndarray  # (N, D), by the trained encoder


@dataclass
class Adaptation:
    task: TrainingTask
    settings: TrainingSettings
    cut: Cut
    reading: Reading
    steps: int = 0
    steps_planned: int = 0
    losses: Losses | None = None
    resumed_after: int = 0

    @property
    def plan(self) -> Plan:
        return self.reading.plan

    @property
    def recipe(self) -> Recipe:
        return self.plan.recipe

    def result(self) -> Learned:
        known = self.task.known
        found = self.reading.found
        temperature = known.readout.temperature
        held = found.holdout(self.settings.holdout)
        trained, note = None, self._reason_not_to_train(held)
        if note is None:
            try:
                trained = self._trained(found, held, temperature)
                note = self._cut_short()
            except GuardRefusedError as error:
                note = str(error)
        self.reading.forget_views()
        release_memory()
        floor = Imprint(known.bank, temperature, found, holdout=self.settings.holdout)
        if trained is not None and (worse := self._worse(trained, floor, found)):
            trained, note = None, worse
        encoder, learned = (None, floor.completed()) if trained is None else trained[:2]
        if encoder is None:
            note = f"{note}; the session was imprinted instead"
        return Learned(
            found=found,
            imprinted=learned,
            drift=drift(known.bank, learned.bank),
            encoder=encoder,
            training=self._figures(floor.judgement.accuracy, encoder is not None, note),
        )

    def _worse(self, trained: _Result, floor: Imprint, found: Harvest) -> str | None:
        """What speaks against keeping what was trained."""
        reached, at_least = trained.learned.judgement.right, floor.judgement.right
        of_what = "hold-out"
        if reached is None or at_least is None:  # without a hold-out, at least no disaster
            of_what = "images themselves"
            reached = right_answers(trained.learned.readout, trained.embeddings, found.labels)
            imprinted = floor.completed().readout
            at_least = right_answers(imprinted, found.embeddings, found.labels)
        if not is_worse(reached, at_least):
            return None
        return (
            f"training reached {100 * reached.mean():.1f} % of the {of_what}, "
            f"imprinting {100 * at_least.mean():.1f} %"
        )

    def _figures(self, floor: float | None, kept: bool, note: str | None) -> TrainingFigures:
        return TrainingFigures(
            recipe=self.recipe.name,
            train_from=self.cut.start,
            seed=self.settings.seed or 0,
            threads=self.plan.threads,
            epochs=self.recipe.epochs,
            batch_size=self.recipe.batch_size,
            views=self.reading.cached_views,
            steps=self.steps,
            steps_planned=self.steps_planned,
            losses=self.losses,
            resumed_after=self.resumed_after,
            imprint_accuracy=floor,
            kept=kept,
            note=note,
        )

    def _reason_not_to_train(self, held: np.ndarray) -> str | None:
        if not held.any() and self.settings.holdout > 0:
            return "no class has the 5 images it takes to hold one out and check the training"
        if self._seconds_left() <= 0:
            return f"no time was left to train within {self.settings.max_seconds:g} s"
        return None

    def _cut_short(self) -> str | None:
        if self.steps == self.steps_planned:
            return None
        return (
            f"training was ended after {self.steps} of {self.steps_planned} steps to keep within "
            f"{self.settings.max_seconds:g} s"
        )

    def _seconds_left(self) -> float:
        return self.plan.seconds_to_train_in - (time.perf_counter() - self.task.started)

    # Training

    def _trained(self, found: Harvest, held: np.ndarray, temperature: Temperature) -> _Result:
        bank = self.task.known.bank
        labels = [*bank.labels, *sorted(set(found.labels) - set(bank.labels))]
        rows = {label: row for row, label in enumerate(labels)}
        classes = torch.tensor([rows[label] for label in found.labels])
        before = self._tail_outputs(len(found.labels))  # (N, D_t)
        prototypes = self._train(bank, classes, held, len(labels))
        change = self._tail_outputs(len(found.labels)) - before
        self.reading.forget_views()
        release_memory()
        embeddings = found.embeddings.copy()
        embeddings[:, self.cut.trained] += self.cut.share * change
        new = replace(found, embeddings=embeddings)
        if self.recipe.prototypes == "closed_form":
            after = embeddings[~held][:, self.cut.trained]
            moved = self.moved_bank(found.embeddings[~held], after)
            imprint = Imprint(moved, temperature, new, holdout=self.settings.holdout)
            del moved  # a covariance is large
            learned = imprint.completed()
        else:
            by_gradient = GradientPrototypes(
                dict(zip(labels, prototypes, strict=True)),
                self.cut.trained,
                self.cut.encoder.part_widths(),
            )
            learned = by_gradient.imprinted(bank, new, held, temperature)
        return _Result(self._encoder(held), learned, embeddings)

    def moved_bank(self, before: np.ndarray, after: np.ndarray) -> PrototypeBank:
        """What was known, carried into the space of the trained encoder."""
        bank = self.task.known.bank
        return transported(bank, before, after, self.cut.trained) if bank.labels else bank

    def _train(
        self, bank: PrototypeBank, classes: torch.Tensor, held: np.ndarray, count: int
    ) -> np.ndarray:
        earlier = bank.prototypes()[:, -self.cut.related :]
        prototypes = torch.zeros(count, earlier.shape[1])
        prototypes[: len(bank.labels)] = torch.from_numpy(earlier).float()
        data = self.reading.prepared(np.flatnonzero(~held), classes[~torch.from_numpy(held)])
        batches = batches_an_epoch(len(data), self.recipe.batch_size)
        self.steps_planned = self.recipe.epochs * batches
        resumable = Resumable(self.task, self.settings, self.recipe, self.cut, self.reading)
        start = resumable.load()
        self.resumed_after = start.epochs if start else 0
        learned = learn_session(
            self.cut.tail,
            prototypes,
            len(bank.labels),
            data,
            self.recipe.for_session(len(set(classes.tolist())), len(bank.labels), count),
            seed=self.settings.seed or 0,
            features=self.cut.trained.stop - self.cut.trained.start,
            start=start,
            on_step=self._on_step,
            on_epoch=resumable.save,
        )
        self.steps = learned.steps
        self.task.on_progress(Progress("finishing", 0, None))
        return learned.prototypes.double().numpy()

    def _on_step(self, step: Step) -> bool:
        self.losses = step.losses
        self.task.on_progress(Progress("training", step.step, step.steps, step.losses))
        if self.task.cancel.is_set():
            raise Cancelled("stopped on request; nothing was changed")
        return self._seconds_left() <= 0

    @torch.inference_mode()
    def _tail_outputs(self, count: int) -> np.ndarray:
        """Of the session's images, the mean over the looks at each."""
        data = self.reading.prepared(np.arange(count), torch.zeros(count, dtype=torch.long))
        parts = torch.arange(count).tensor_split(-(-count // _FORWARD_BATCH))
        of_looks = torch.cat([self.cut.tail(data.plain(p)) for p in parts])  # (N L, D_t)
        outputs: np.ndarray = of_looks.view(count, -1, of_looks.shape[1]).mean(dim=1).numpy()
        if not np.isfinite(outputs).all():
            raise GuardRefusedError("the trained encoder gives values that are not numbers")
        return outputs

    def _encoder(self, held: np.ndarray) -> BuiltEncoder:
        """The trained encoder, its graph proven on images it was not trained on."""
        encoder = self.cut.encoder.eval()
        spec = self.task.spec._replace(
            parts=encoder.part_widths(), adapted_from=self.cut.spec_start
        )
        graph = unproven_graph(encoder)
        check_parity(encoder, graph, self.reading.sample_squares(held))
        return BuiltEncoder(spec, module_weights(encoder), graph)


def is_worse(right: np.ndarray, right_before: np.ndarray) -> bool:
    """Whether more answers (N,) were lost than won, beyond one standard deviation of chance."""
    lost, won = int((right_before & ~right).sum()), int((right & ~right_before).sum())
    return lost - won > sqrt(lost + won)


@contextmanager
def _threads_restored() -> Iterator[None]:
    """An app that embeds us keeps its own number of threads."""
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)

"""Making a store and teaching it a session. `Runtime` is how an app calls it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import NamedTuple

from prd_edge.checkpoint import CheckpointFile
from prd_edge.commit import StoreWriter, writing
from prd_edge.config import StoreConfig
from prd_edge.drift import drift
from prd_edge.embedder import Embedder
from prd_edge.encoders import BuiltEncoder, EncoderSpec, build_encoder
from prd_edge.errors import Cancelled, InvalidInputError
from prd_edge.harvest import harvest
from prd_edge.imprint import Imprint, accuracy_before
from prd_edge.memory import peak_memory_mb
from prd_edge.model import (
    ENCODER,
    UNCHANGED_ENCODER,
    Knowledge,
    encoder_contents,
    load_embedder,
    load_knowledge,
    parse_tensors,
    retrained_contents,
)
from prd_edge.progress import OnProgress
from prd_edge.report import SessionReport, session_warnings
from prd_edge.session import Session
from prd_edge.store import PREPROCESS_GRAPH, Store, Version
from prd_edge.succession import commit_next, tidy
from prd_edge.training import (
    Learned,
    TrainingSettings,
    TrainingTask,
    is_worth_training,
    torch_is_installed,
    train,
)

MODES = ("prd", "imprint")


@dataclass(frozen=True)
class _Base:
    """What a session starts from."""

    commit: Callable[[StoreWriter], Version]  # the live version, or a new store's first one
    spec: EncoderSpec
    encoder_file: Callable[[], bytes]
    embedder: Embedder
    knowledge: Knowledge


class _Outcome(NamedTuple):
    base: _Base
    contents: dict[str, bytes | None]  # of the encoder
    spec: EncoderSpec
    knowledge: Knowledge
    report: SessionReport


def create_store(
    store: Store, config: StoreConfig, *, weights_file: Path | None = None, seed: int = 0
) -> Version:
    """Make the store, with its encoder and no classes yet."""
    _refuse_existing(store)
    encoder = _build(config, weights_file, seed)
    contents = encoder_contents(encoder)
    with writing(store) as writer:
        _refuse_existing(store)  # another process may have been quicker
        return _commit_first(writer, config, encoder, contents)


def _refuse_existing(store: Store) -> None:
    if store.exists():
        raise InvalidInputError(
            f"there is already a store at {store.path}; use it, or choose another place"
        )


def learn_session(
    store: Store,
    data: str | os.PathLike[str] | Iterable[tuple[object, str]],
    *,
    new_store: StoreConfig,
    mode: str | None,
    settings: TrainingSettings,
    dry_run: bool,
    on_progress: OnProgress | None,
    cancel: Event | None,
) -> SessionReport:
    """`mode` None is training where torch is installed and the session is worth it, imprinting
    otherwise."""
    if mode is not None and mode not in MODES:
        raise InvalidInputError(f"no mode named {mode!r}; choose one of {', '.join(MODES)}")
    started = time.perf_counter()
    session = Session.open(data)
    must_train = mode == "prd" or (mode is None and settings.wants_training)
    if settings.wants_training and not must_train:
        raise InvalidInputError(
            "imprinting does not train: leave out --recipe, --train-from and --epochs, "
            "or use --mode prd"
        )

    def learn() -> _Outcome:
        threads = settings.threads
        base = _live_base(store, threads) if store.exists() else _new_base(new_store, threads)
        task = TrainingTask(
            session=session,
            spec=base.spec,
            weights=lambda: parse_tensors(base.encoder_file()),
            embedder=base.embedder,
            known=base.knowledge,
            started=started,
            checkpoints=None if dry_run else CheckpointFile(store.checkpoint),
            on_progress=on_progress or (lambda _: None),
            cancel=cancel or Event(),
        )
        may_train = must_train or (mode is None and torch_is_installed())
        is_worth_it = is_worth_training(base.spec, session.labels, base.knowledge.bank.labels)
        if must_train or (may_train and is_worth_it):
            return _outcome(base, train(task, settings), settings.holdout)
        outcome = _outcome(base, _imprinted(task, settings), settings.holdout)
        if not may_train:
            return outcome
        note = "too few classes to train on; --mode prd trains anyway"
        return outcome._replace(report=replace(outcome.report, note=note))

    def told(report: SessionReport) -> SessionReport:
        return _timed(replace(report, warnings=(*session.warnings, *report.warnings)), started)

    if dry_run:
        return told(learn().report)
    with writing(store) as writer:
        outcome = learn()
        if cancel is not None and cancel.is_set():
            raise Cancelled("stopped on request; nothing was changed")
        parent = outcome.base.commit(writer)
        version = commit_next(
            writer,
            parent,
            outcome.knowledge,
            "learn-session",
            encoder=outcome.contents,
            spec=outcome.spec,
            metrics=_timed(outcome.report, started).metrics(),
        )
        removed = tidy(writer, version)
    return told(
        replace(outcome.report, parent=parent.name, version=version.name, removed_versions=removed)
    )


def _imprinted(task: TrainingTask, settings: TrainingSettings) -> Learned:
    found = harvest(task.session, task.embedder, on_progress=task.on_progress, cancel=task.cancel)
    known = task.known
    temperature = known.readout.temperature
    imprinted = Imprint(known.bank, temperature, found, holdout=settings.holdout).completed()
    return Learned(found, imprinted, drift(known.bank, imprinted.bank))


def _outcome(base: _Base, learned: Learned, holdout: float) -> _Outcome:
    new = Knowledge(learned.imprinted.bank, learned.imprinted.readout)
    report = _report(base.knowledge, learned, new, holdout)
    if learned.encoder is None:
        return _Outcome(base, UNCHANGED_ENCODER, base.spec, new, report)
    contents = retrained_contents(learned.encoder, base.encoder_file())
    return _Outcome(base, contents, learned.encoder.spec, new, report)


def _timed(report: SessionReport, started: float) -> SessionReport:
    return replace(report, seconds=time.perf_counter() - started, peak_memory_mb=peak_memory_mb())


def _live_base(store: Store, threads: int | None) -> _Base:
    live = store.live()
    return _Base(
        commit=lambda _: live,
        spec=live.manifest.encoder,
        encoder_file=lambda: live.read(ENCODER),
        embedder=load_embedder(live, threads),
        knowledge=load_knowledge(live),
    )


def _new_base(config: StoreConfig, threads: int | None) -> _Base:
    encoder = _build(config)
    contents = encoder_contents(encoder)
    return _Base(
        commit=lambda writer: _commit_first(writer, config, encoder, contents),
        spec=encoder.spec,
        encoder_file=lambda: contents[ENCODER],
        embedder=Embedder(contents[PREPROCESS_GRAPH], lambda: encoder.graph, threads=threads),
        knowledge=Knowledge.none(encoder.spec.dimensions),
    )


def _build(config: StoreConfig, weights_file: Path | None = None, seed: int = 0) -> BuiltEncoder:
    return build_encoder(
        config.encoder, image_size=config.image_size, weights_file=weights_file, seed=seed
    )


def _commit_first(
    writer: StoreWriter, config: StoreConfig, encoder: BuiltEncoder, contents: dict[str, bytes]
) -> Version:
    return writer.commit(
        {**contents, **Knowledge.none(encoder.spec.dimensions).contents()},
        parent=None,
        action="init",
        config=config,
        encoder=encoder.spec,
        classes={},
        identities={},
        metrics={},
    )


def _report(known: Knowledge, learned: Learned, new: Knowledge, holdout: float) -> SessionReport:
    found, judgement = learned.found, learned.imprinted.judgement
    counts = found.counts()
    before = known.classes()
    added = {label: n for label, n in counts.items() if label not in before}
    updated = {label: n for label, n in counts.items() if label in before}
    return SessionReport(
        mode="imprint" if learned.encoder is None else "prd",
        parent=None,
        added=added,
        updated=updated,
        images_used=len(found.labels),
        skipped=found.skipped,
        duplicates=found.duplicates,
        holdout_images=judgement.images,
        holdout_accuracy=judgement.accuracy,
        calibration_error=judgement.calibration_error,
        holdout_accuracy_before=accuracy_before(known.readout, found, holdout),
        drift=learned.drift,
        training=learned.training,
        seconds=0.0,
        peak_memory_mb=0.0,
        warnings=session_warnings(added, updated, new.classes()),
    )

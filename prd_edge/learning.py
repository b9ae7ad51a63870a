"""Changing a store: make it, teach it a session, edit its classes, return to an older version.

Each is a plain function over a store; `Runtime` is how an app calls them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from prd_edge.bank import PrototypeBank
from prd_edge.calibration import calibrated, relative_temperature
from prd_edge.commit import StoreWriter, writing
from prd_edge.config import StoreConfig
from prd_edge.embedder import Embedder
from prd_edge.encoders import BuiltEncoder, build_encoder
from prd_edge.errors import InvalidInputError, StoreError
from prd_edge.harvest import Harvest, OnProgress, harvest
from prd_edge.imprint import Imprinted, imprint
from prd_edge.model import (
    UNCHANGED_ENCODER,
    Knowledge,
    encoder_contents,
    load_embedder,
    load_knowledge,
)
from prd_edge.report import SessionReport, peak_memory_mb, session_warnings
from prd_edge.session import Session
from prd_edge.store import PREPROCESS_GRAPH, Store, Version

MODES = ("imprint",)


@dataclass(frozen=True)
class _Base:
    """What a session starts from."""

    commit: Callable[[StoreWriter], Version]  # the live version, or a new store's first one
    embedder: Embedder
    knowledge: Knowledge


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
    threads: int | None,
    mode: str,
    holdout: float,
    dry_run: bool,
    on_progress: OnProgress | None,
    cancel: Event | None,
) -> SessionReport:
    if mode not in MODES:
        raise InvalidInputError(f"no mode named {mode!r}; choose one of {', '.join(MODES)}")
    if not 0.0 <= holdout < 1.0:
        raise InvalidInputError(f"holdout is {holdout}; it must be at least 0 and below 1")
    started = time.perf_counter()
    session = Session.open(data)

    def learn() -> tuple[_Base, Knowledge, SessionReport]:
        base = _live_base(store, threads) if store.exists() else _new_base(new_store, threads)
        found = harvest(session, base.embedder, on_progress=on_progress, cancel=cancel)
        known = base.knowledge
        learned = imprint(known.bank, known.readout, found, holdout=holdout)
        new = Knowledge(learned.bank, learned.readout)
        return base, new, _report(known, found, learned, new, mode, started)

    if dry_run:
        return learn()[2]
    with writing(store) as writer:
        base, knowledge, report = learn()
        parent = base.commit(writer)
        version = _commit(writer, parent, knowledge, "learn-session", report.metrics())
        removed = _tidy(writer, version)
    return replace(
        report,
        parent=parent.name,
        version=version.name,
        removed_versions=removed,
        seconds=time.perf_counter() - started,
        peak_memory_mb=peak_memory_mb(),
    )


def edit_classes(
    store: Store, action: str, change: Callable[[PrototypeBank], PrototypeBank]
) -> Version:
    """Commit a changed bank; the temperature keeps its meaning."""
    store.live()  # says so if there is no store, before one is half made
    with writing(store) as writer:
        parent = store.live()
        known = load_knowledge(parent)
        bank = change(known.bank)
        temperature = relative_temperature(known.bank, known.readout)
        version = _commit(writer, parent, Knowledge(bank, calibrated(bank, temperature)), action)
        _tidy(writer, version)
    return version


def _tidy(writer: StoreWriter, version: Version) -> tuple[str, ...]:
    """Remove old versions. If that fails the session is learned all the same: next time, then."""
    try:
        return tuple(writer.gc(version.manifest.config.keep_versions))
    except StoreError:
        return ()


def _live_base(store: Store, threads: int | None) -> _Base:
    live = store.live()
    return _Base(lambda _: live, load_embedder(live, threads), load_knowledge(live))


def _new_base(config: StoreConfig, threads: int | None) -> _Base:
    encoder = _build(config)
    contents = encoder_contents(encoder)
    return _Base(
        lambda writer: _commit_first(writer, config, encoder, contents),
        Embedder(contents[PREPROCESS_GRAPH], lambda: encoder.graph, threads=threads),
        Knowledge.none(encoder.spec.dimensions),
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
        metrics={},
    )


def _commit(
    writer: StoreWriter,
    parent: Version,
    knowledge: Knowledge,
    action: str,
    metrics: dict[str, object] | None = None,
) -> Version:
    return writer.commit(
        {**UNCHANGED_ENCODER, **knowledge.contents()},
        parent=parent,
        action=action,
        config=parent.manifest.config,
        encoder=parent.manifest.encoder,
        classes=knowledge.classes(),
        metrics=metrics or {},
    )


def _report(
    known: Knowledge,
    found: Harvest,
    learned: Imprinted,
    new: Knowledge,
    mode: str,
    started: float,
) -> SessionReport:
    counts = found.counts()
    before = known.classes()
    added = {label: n for label, n in counts.items() if label not in before}
    return SessionReport(
        mode=mode,
        parent=None,
        added=added,
        updated={label: n for label, n in counts.items() if label in before},
        images_used=len(found.labels),
        skipped=found.skipped,
        duplicates=found.duplicates,
        holdout_images=learned.holdout_images,
        holdout_accuracy=learned.holdout_accuracy,
        holdout_accuracy_before=learned.holdout_accuracy_before,
        drift=learned.drift,
        seconds=time.perf_counter() - started,
        peak_memory_mb=peak_memory_mb(),
        warnings=session_warnings(added, new.classes()),
    )

"""Runtime: learning and predicting, as an app embeds them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Lock

from prd_edge.bank import PrototypeBank
from prd_edge.calibration import calibrated, relative_temperature
from prd_edge.classes import clean_class_name
from prd_edge.commit import StoreWriter, writing
from prd_edge.config import StoreConfig
from prd_edge.embedder import Embedder
from prd_edge.encoders import BuiltEncoder, build_encoder
from prd_edge.errors import InvalidInputError
from prd_edge.harvest import Harvest, OnProgress, harvest
from prd_edge.imprint import Imprinted, imprint
from prd_edge.manifest import Manifest
from prd_edge.model import (
    UNCHANGED_ENCODER,
    Knowledge,
    encoder_contents,
    load_embedder,
    load_knowledge,
    load_predictor,
)
from prd_edge.predictor import Prediction, Predictor
from prd_edge.preprocess import build_onnx as build_preprocess
from prd_edge.report import SessionReport, peak_memory_mb, session_warnings
from prd_edge.session import Session
from prd_edge.store import Store, Version

DEFAULT_HOLDOUT = 0.2
MODES = ("imprint",)


@dataclass(frozen=True)
class _Base:
    """What a session starts from: the live version, or an encoder that is not stored yet."""

    version: Version | None
    encoder: BuiltEncoder | None
    embedder: Embedder
    knowledge: Knowledge


class Runtime:
    """A store, opened. Safe to predict with from many threads while other processes learn.

    >>> rt = Runtime.open("prd_store")                # doctest: +SKIP
    >>> report = rt.learn_session("./new_data")       # doctest: +SKIP
    >>> rt.predict("image.jpg").label                 # doctest: +SKIP
    'mug'
    """

    def __init__(self, store: Store, config: StoreConfig, threads: int | None) -> None:
        self.store = store
        self._config = config
        self._threads = threads
        self._loaded: Predictor | None = None
        self._loading = Lock()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] = "prd_store",
        *,
        config: StoreConfig | None = None,
        threads: int | None = None,
    ) -> Runtime:
        """Open a store. A missing one is made by the first `learn_session`, with `config`."""
        if threads is not None and threads < 1:
            raise InvalidInputError(f"threads is {threads}; it must be at least 1")
        return cls(Store(Path(path)), config or StoreConfig(), threads)

    def init(self, *, weights_file: Path | None = None, seed: int = 0) -> Manifest:
        """Make the store, with its encoder and no classes yet."""
        if self.store.exists():
            raise InvalidInputError(
                f"there is already a store at {self.store.path}; use it, or choose another place"
            )
        encoder = self._build_encoder(weights_file, seed)
        with writing(self.store) as writer:
            return self._commit_encoder(writer, encoder).manifest

    # Predicting

    def predict(self, source: object, *, top_k: int = 3, threshold: float = 0.0) -> Prediction:
        """Classify a path, bytes, a PIL image or a uint8 array (H, W, 3)."""
        return self._predictor().predict(source, top_k=top_k, threshold=threshold)

    def predict_many(
        self, sources: Iterable[object], *, top_k: int = 3, threshold: float = 0.0
    ) -> Iterator[Prediction]:
        """Classify many, in order and in constant memory, all by one version. An image that cannot
        be read gets an answer with `error` set."""
        return self._predictor().predict_many(sources, top_k=top_k, threshold=threshold)

    def refresh(self) -> bool:
        """Move to the live version if it has changed, by this process or another."""
        with self._loading:
            version = self.store.live()
            changed = self._loaded is None or self._loaded.version != version.name
            if changed:
                self._loaded = load_predictor(version, self._threads)
            return changed

    def _predictor(self) -> Predictor:
        if self._loaded is None:
            self.refresh()
        assert self._loaded is not None
        return self._loaded

    # Learning

    def learn_session(
        self,
        data: str | os.PathLike[str] | Iterable[tuple[object, str]],
        *,
        mode: str = "imprint",
        holdout: float = DEFAULT_HOLDOUT,
        dry_run: bool = False,
        on_progress: OnProgress | None = None,
        cancel: Event | None = None,
    ) -> SessionReport:
        """Learn a folder (one sub-folder a class) or an iterable of (image, label).

        When this returns the new version is live; on any error the old one still is. `dry_run`
        does everything but the commit; setting `cancel` stops the work with `Cancelled`.
        """
        if mode not in MODES:
            raise InvalidInputError(f"no mode named {mode!r}; choose one of {', '.join(MODES)}")
        if not 0.0 <= holdout < 1.0:
            raise InvalidInputError(f"holdout is {holdout}; it must be at least 0 and below 1")
        started = time.perf_counter()
        session = Session.open(data)

        def learn() -> tuple[_Base, Imprinted, SessionReport]:
            base = self._base()
            found = harvest(session, base.embedder, on_progress=on_progress, cancel=cancel)
            learned = imprint(base.knowledge.bank, base.knowledge.readout, found, holdout=holdout)
            return base, learned, _report(base, found, learned, mode, started)

        if dry_run:
            return learn()[2]
        with writing(self.store) as writer:
            base, learned, report = learn()
            parent = base.version or self._commit_encoder(writer, _present(base.encoder))
            knowledge = Knowledge(learned.bank, learned.readout)
            version = _commit(writer, parent, knowledge, "learn-session", report.metrics())
            removed = tuple(writer.gc(version.manifest.config.keep_versions))
        self._refresh_if_loaded()
        return replace(
            report,
            parent=parent.name,
            version=version.name,
            removed_versions=removed,
            seconds=time.perf_counter() - started,
            peak_memory_mb=peak_memory_mb(),
        )

    # Classes and versions

    def classes(self) -> dict[str, int]:
        """Every known class and the number of images behind its prototype."""
        return dict(self.store.live().manifest.classes)

    def rename(self, old: str, new: str) -> str:
        """Rename a class; returns the new version."""
        label = clean_class_name(new)
        return self._edit(f"rename {old!r} to {label!r}", lambda bank: bank.rename(old, label))

    def remove(self, label: str) -> str:
        """Remove a class from the live version; older kept versions still know it."""
        return self._edit(f"remove {label!r}", lambda bank: bank.remove(label))

    def history(self) -> list[Manifest]:
        """The manifests of all kept versions, oldest first."""
        return [version.manifest for version in self.store.readable_versions()]

    def rollback(self, version: str | None = None) -> Manifest:
        """Make an older version live again: the given one, or the one before the live one."""
        with writing(self.store) as writer:
            manifest = writer.rollback(version).manifest
        self._refresh_if_loaded()
        return manifest

    # Below: the steps of the above

    def _edit(self, action: str, change: Callable[[PrototypeBank], PrototypeBank]) -> str:
        with writing(self.store) as writer:
            parent = self.store.live()
            known = load_knowledge(parent)
            bank = change(known.bank)
            temperature = relative_temperature(known.bank, known.readout)
            knowledge = Knowledge(bank, calibrated(bank, temperature))
            version = _commit(writer, parent, knowledge, action, {})
            writer.gc(version.manifest.config.keep_versions)
        self._refresh_if_loaded()
        return version.name

    def _base(self) -> _Base:
        if self.store.exists():
            live = self.store.live()
            return _Base(live, None, load_embedder(live, self._threads), load_knowledge(live))
        encoder = self._build_encoder(None, 0)
        preprocess = build_preprocess(encoder.spec.image_size)
        embedder = Embedder(preprocess, encoder.graph, threads=self._threads)
        return _Base(None, encoder, embedder, Knowledge.none(encoder.spec.dimensions))

    def _build_encoder(self, weights_file: Path | None, seed: int) -> BuiltEncoder:
        return build_encoder(
            self._config.encoder,
            image_size=self._config.image_size,
            weights_file=weights_file,
            seed=seed,
        )

    def _commit_encoder(self, writer: StoreWriter, encoder: BuiltEncoder) -> Version:
        knowledge = Knowledge.none(encoder.spec.dimensions)
        return writer.commit(
            {**encoder_contents(encoder), **knowledge.contents()},
            parent=None,
            action="init",
            config=self._config,
            encoder=encoder.spec,
            classes={},
            metrics={},
        )

    def _refresh_if_loaded(self) -> None:
        if self._loaded is not None:
            self.refresh()


def _commit(
    writer: StoreWriter,
    parent: Version,
    knowledge: Knowledge,
    action: str,
    metrics: dict[str, object],
) -> Version:
    return writer.commit(
        {**UNCHANGED_ENCODER, **knowledge.contents()},
        parent=parent,
        action=action,
        config=parent.manifest.config,
        encoder=parent.manifest.encoder,
        classes=knowledge.classes(),
        metrics=metrics,
    )


def _report(
    base: _Base, found: Harvest, learned: Imprinted, mode: str, started: float
) -> SessionReport:
    known = set(base.knowledge.bank.labels)
    counts = found.counts()
    added = {label: n for label, n in counts.items() if label not in known}
    classes = Knowledge(learned.bank, learned.readout).classes()
    return SessionReport(
        mode=mode,
        parent=base.version.name if base.version else None,
        added=added,
        updated={label: n for label, n in counts.items() if label in known},
        images_used=len(found.labels),
        skipped=found.skipped,
        duplicates=found.duplicates,
        holdout_images=learned.holdout_images,
        holdout_accuracy=learned.holdout_accuracy,
        holdout_accuracy_before=learned.holdout_accuracy_before,
        drift=learned.drift,
        seconds=time.perf_counter() - started,
        peak_memory_mb=peak_memory_mb(),
        warnings=session_warnings(added, classes),
    )


def _present(encoder: BuiltEncoder | None) -> BuiltEncoder:
    assert encoder is not None  # a base without a version has one
    return encoder

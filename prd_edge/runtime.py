"""Runtime: learning and predicting, as an app embeds them.

Only what predicting needs is imported here at once; a process that never learns stays small.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from unicodedata import normalize

from prd_edge.errors import InvalidInputError, StoreChangedError, StoreError
from prd_edge.parallel import Meanwhile
from prd_edge.store import ENCODER_GRAPH, Store

if TYPE_CHECKING:
    from threading import Event

    from prd_edge.config import StoreConfig
    from prd_edge.evaluate import Evaluation
    from prd_edge.feedback import Feedback
    from prd_edge.forgetting import Forgotten
    from prd_edge.manifest import Manifest
    from prd_edge.predictor import Prediction, Predictor
    from prd_edge.progress import OnProgress
    from prd_edge.report import SessionReport
    from prd_edge.store import Version

# A folder with one sub-folder a class, or pairs of image and label.
Labelled = str | os.PathLike[str] | Iterable[tuple[object, str]]
Outcome = TypeVar("Outcome")


class Runtime:
    """A store, opened. Safe to predict with from many threads while other processes learn.

    >>> rt = Runtime.open("prd_store")                # doctest: +SKIP
    >>> report = rt.learn_session("./new_data")       # doctest: +SKIP
    >>> rt.predict("image.jpg").label                 # doctest: +SKIP
    'mug'
    """

    def __init__(self, store: Store, config: StoreConfig | None, threads: int | None) -> None:
        self.store = store
        self._config = config
        self._threads = threads
        self._loaded: Predictor | None = None
        self._seen: Manifest | None = None  # of what is loaded
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
        return cls(Store(Path(path)), config, threads)

    # Predicting

    def predict(
        self,
        source: object,
        *,
        top_k: int = 3,
        threshold: float = 0.0,
        among: Sequence[str] | None = None,
        always_answer: bool = False,
    ) -> Prediction:
        """Classify a path, bytes, a PIL image or a uint8 array (H, W, 3).

        A picture unlike everything known is answered unknown, unless `always_answer` is set; so is
        one of less confidence than `threshold`. With `among` the answer is one of these classes.
        """
        return self._predictor(among).predict(
            source,
            top_k=top_k,
            threshold=threshold,
            always_answer=always_answer or among is not None,
        )

    def predict_many(
        self,
        sources: Iterable[object],
        *,
        top_k: int = 3,
        threshold: float = 0.0,
        among: Sequence[str] | None = None,
        always_answer: bool = False,
    ) -> Iterator[Prediction]:
        """Classify many, in order and in constant memory, all by one version. An image that cannot
        be read gets an answer with `error` set."""
        return self._predictor(among).predict_many(
            sources,
            top_k=top_k,
            threshold=threshold,
            always_answer=always_answer or among is not None,
        )

    @property
    def version(self) -> str:
        """The version that answers."""
        return self._predictor().version

    def refresh(self) -> bool:
        """Move to the live version if it has changed, by this process or another."""
        with self._loading:
            version = self.store.live()
            if self._loaded is not None and self._seen == version.manifest:
                return False  # of the same name may be another, that a class was taken out of
            self._loaded, self._seen = self._load(version), version.manifest
            return True

    def _load(self, version: Version) -> Predictor:
        # The largest file is read and checked while onnxruntime is being imported.
        graph = Meanwhile(lambda: version.read(ENCODER_GRAPH))
        from prd_edge.model import load_predictor

        try:
            return load_predictor(version, self._threads, graph.result)
        except StoreChangedError:  # removed, or rewritten
            return self._load(self.store.live())

    def _predictor(self, among: Sequence[str] | None = None) -> Predictor:
        if self._loaded is None:
            self.refresh()
        assert self._loaded is not None
        if among is None:
            return self._loaded
        return self._loaded.among([normalize("NFC", label) for label in among])

    # Learning

    def init(self, *, weights_file: Path | None = None, seed: int = 0) -> Manifest:
        """Make the store, with its encoder and no classes yet."""
        from prd_edge.learning import create_store

        config = self._new_store_config()
        return create_store(self.store, config, weights_file=weights_file, seed=seed).manifest

    def learn_session(
        self,
        data: Labelled,
        *,
        mode: str | None = None,
        recipe: str | None = None,
        train_from: str | None = None,
        epochs: int | None = None,
        seed: int | None = None,
        max_seconds: float | None = None,
        max_memory: float | None = None,
        holdout: float = 0.2,
        dry_run: bool = False,
        on_progress: OnProgress | None = None,
        cancel: Event | None = None,
    ) -> SessionReport:
        """Learn a folder (one sub-folder a class) or an iterable of (image, label).

        When this returns the new version is live; on any error the old one still is. Mode
        `prd` trains the encoder's last stages, `imprint` leaves the encoder as it is; by
        default a session trains, where torch is installed, that brings a fair part of all
        classes. A share `holdout` of the images is not trained on: it decides whether the
        training is kept. Two runs with one `seed` give the same bytes. `max_seconds` and
        `max_memory` (MB) bound the whole session. `dry_run` does everything but the commit;
        setting `cancel` stops the work with `Cancelled`.
        """
        from prd_edge.learning import learn_session
        from prd_edge.training import TrainingSettings

        report = learn_session(
            self.store,
            data,
            new_store=self._new_store_config(),
            mode=mode,
            settings=TrainingSettings(
                recipe=recipe,
                train_from=train_from,
                epochs=epochs,
                seed=seed,
                threads=self._threads,
                max_seconds=max_seconds,
                max_memory_mb=max_memory,
                holdout=holdout,
            ),
            dry_run=dry_run,
            on_progress=on_progress,
            cancel=cancel,
        )
        return self._refreshed(report)

    # Classes and versions

    def classes(self) -> dict[str, int]:
        """Every known class and the number of images behind its prototype."""
        return dict(self.store.live().manifest.classes)

    def rename(self, old: str, new: str) -> str:
        """Rename a class; returns the new version."""
        from prd_edge.classes import clean_class_name
        from prd_edge.editing import rename_class

        version = rename_class(self.store, normalize("NFC", old), clean_class_name(new))
        return self._refreshed(version).name

    def remove(self, label: str) -> str:
        """Remove a class from the live version; older kept versions still know it."""
        from prd_edge.editing import remove_class

        return self._refreshed(remove_class(self.store, normalize("NFC", label))).name

    def forget(self, label: str) -> Forgotten:
        """Take a class out of every kept version, for good: its prototype, its numbers and its
        names. What cannot be taken out is told by the answer's `remains`."""
        from prd_edge.forgetting import forget_class

        return self._refreshed(forget_class(self.store, normalize("NFC", label)))

    def feedback(
        self, source: object, *, label: str | None = None, not_label: str | None = None
    ) -> Feedback:
        """Say of one picture what it is (`label`), or what it is not (`not_label`).

        Nothing is trained and nothing of the picture is kept: one or two numbers a class change,
        by a bounded step.
        """
        from prd_edge.editing import give_feedback

        said = [normalize("NFC", name) for name in (label, not_label) if name is not None]
        if len(said) != 1:
            raise InvalidInputError("say either what the picture is or what it is not")
        return self._refreshed(give_feedback(self.store, source, said[0], is_it=label is not None))

    def export(
        self,
        target: str | os.PathLike[str],
        *,
        format: str = "onnx",  # noqa: A002  (what it is called on the command line)
        version: str | int | None = None,
        calibrate: str | os.PathLike[str] | None = None,
        images: str | os.PathLike[str] | None = None,
        evaluation: str | os.PathLike[str] | None = None,
    ) -> Any:
        """Write a version as one file that gives the same answers, and return what checking it
        found; on a disagreement nothing is written.

        `calibrate`: a folder of pictures, for formats that are fitted on some. `images`: one of
        pictures to check the file with. `evaluation`: what `prd-edge evaluate --json` said, for
        the model card beside it.
        """
        from prd_edge.export import exporter_named

        return exporter_named(format).export(
            self.store.live() if version is None else self.store.version(str(version)),
            Path(target),
            calibrate=Path(calibrate) if calibrate else None,
            images=Path(images) if images else None,
            evaluation=Path(evaluation) if evaluation else None,
        )

    def evaluate(self, data: Labelled, *, always_answer: bool = False) -> Evaluation:
        """How good the answers are, on data like those that are learned."""
        from prd_edge.evaluate import evaluate

        return evaluate(self._predictor(), data, always_answer=always_answer)

    def history(self) -> list[Manifest]:
        """The manifests of all kept versions, oldest first."""
        return [version.manifest for version in self.store.readable_versions()]

    def rollback(self, version: str | int | None = None) -> Manifest:
        """Make an older version live again: the given one, or the one before the live one."""
        from prd_edge.commit import writing

        with writing(self.store) as writer:
            manifest = writer.rollback(None if version is None else str(version)).manifest
        return self._refreshed(manifest)

    def _new_store_config(self) -> StoreConfig:
        from prd_edge.config import StoreConfig

        return self._config or StoreConfig()

    def _refreshed(self, outcome: Outcome) -> Outcome:
        """After a change, answers come from the new version."""
        if self._loaded is not None:
            with suppress(StoreError):  # what was asked for is committed all the same
                self.refresh()
        return outcome

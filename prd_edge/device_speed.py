"""How fast this device is: predicting and learning, timed with pictures that are drawn here.

A store that is given is only read. Learning is timed in a temporary one, of the default encoder,
which is gone afterwards whatever happens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import disk_usage
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from prd_edge.config import StoreConfig
from prd_edge.demo_data import SESSION_1, write_session
from prd_edge.errors import StoreError
from prd_edge.predict_process import PredictProcess
from prd_edge.runtime import Runtime

_NEEDED_MB = 200


@dataclass(frozen=True)
class Workload:
    """The session that is learned. Its pictures are predicted too."""

    classes: int = 5
    images_per_class: int = 20
    image_size: int = StoreConfig.image_size


USUAL = Workload()


@dataclass(frozen=True)
class Model:
    """What predicted."""

    encoder: str
    image_size: int
    is_trained: bool  # then some stages run twice, trained and frozen
    classes: int


@dataclass(frozen=True)
class DeviceSpeed:
    """Medians, but for `image_ms_95th`, below which 95 of 100 predictions stay, and memory."""

    model: Model
    cold_start_seconds: float  # a whole `prd-edge predict` of one picture
    image_ms: float  # in a process that has its model loaded
    image_ms_95th: float
    images_per_second: float
    predict_memory_mb: float
    learn_session_seconds: float


def measure(
    store: Path | None = None,
    *,
    repeats: int = 3,
    threads: int | None = None,
    workload: Workload = USUAL,
    on_stage: Callable[[str], object] = lambda _: None,
) -> DeviceSpeed:
    """Predicting is timed on `store`, or on the temporary one. `on_stage` is told what is next."""
    given = None if store is None else _loaded(Runtime.open(store, threads=threads))
    with _temporary_folder() as folder:
        on_stage("drawing pictures")
        session = write_session(folder, SESSION_1[: workload.classes], workload.images_per_class)
        pictures = sorted(session.rglob("*.jpg"))

        on_stage(f"learning them, {repeats} ×")
        config = StoreConfig(image_size=workload.image_size, keep_versions=1)
        own = Runtime.open(folder / "store", config=config, threads=threads)
        own.init()
        learning = _seconds(repeats, lambda: own.learn_session(session, mode="imprint"))

        runtime = given or _loaded(own)
        process = PredictProcess(runtime.store.path, threads)
        on_stage("predicting them in a process of its own, for its memory")
        memory_mb = process.peak_memory_mb(session)
        on_stage(f"starting 'prd-edge predict', {repeats} ×")
        cold = _seconds(repeats, lambda: process.run(pictures[0]))

        on_stage(f"predicting them one by one, {repeats} ×")
        alone = [
            seconds
            for picture in pictures
            for seconds in _seconds(repeats, partial(runtime.predict, picture))
        ]
        on_stage(f"predicting them together, {repeats} ×")
        together = _seconds(repeats, lambda: list(runtime.predict_many(pictures)))
        model = _model(runtime)
    return DeviceSpeed(
        model=model,
        cold_start_seconds=median(cold),
        image_ms=1000 * median(alone),
        image_ms_95th=1000 * float(np.percentile(alone, 95)),
        images_per_second=len(pictures) / median(together),
        predict_memory_mb=memory_mb,
        learn_session_seconds=median(learning),
    )


def _loaded(runtime: Runtime) -> Runtime:
    """With its model in memory and used once; a store that cannot answer is refused here."""
    runtime.predict(np.zeros((224, 224, 3), np.uint8))
    return runtime


def _model(runtime: Runtime) -> Model:
    manifest = runtime.store.live().manifest
    spec = manifest.encoder
    return Model(spec.name, spec.image_size, spec.adapted_from is not None, len(manifest.classes))


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    advice = f"let TMPDIR name a folder with {_NEEDED_MB} MB free"
    try:
        folder = TemporaryDirectory(prefix="prd-edge-benchmark-")
    except OSError as error:
        raise StoreError(f"cannot make a temporary folder: {error.strerror}; {advice}") from error
    with folder as name:
        free_mb = disk_usage(name).free // 10**6
        if free_mb < _NEEDED_MB:
            raise StoreError(f"{Path(name).parent} has only {free_mb} MB free; {advice}")
        yield Path(name)


def _seconds(repeats: int, action: Callable[[], object]) -> list[float]:
    """How long each of the repeats took."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return times

"""Small things that many tests need: a quick store, pictures, and the command line in-process."""

from __future__ import annotations

import os
import shutil
import signal
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from PIL import Image

from prd_edge import Runtime, StoreConfig
from prd_edge.errors import MissingDependencyError
from prd_edge.images import decode

# Where the tests run in the background Ctrl-C is ignored, and children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no fault of what is tested.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

TINY = StoreConfig(image_size=32)
COLOURS = {"blue": (30, 60, 200), "green": (40, 180, 60), "red": (210, 40, 30)}


def picture(
    colour: tuple[int, int, int], seed: int, size: tuple[int, int] = (40, 48)
) -> np.ndarray:
    """A noisy patch of one colour: easy to tell apart, no two alike."""
    noise = np.random.default_rng(seed).integers(-25, 26, (*size, 3))
    return np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)


def write_session(root: Path, *, images: int = 6, start: int = 0, classes: object = None) -> Path:
    for index, (label, colour) in enumerate(COLOURS.items()):
        if classes is not None and label not in classes:  # type: ignore[operator]
            continue
        (root / label).mkdir(parents=True)
        for number in range(start, start + images):
            image = Image.fromarray(picture(colour, 1000 * index + number))
            image.save(root / label / f"{number}.png")
    return root


@pytest.fixture(autouse=True)
def lean_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a device without torch: learning is imprinting unless a test asks for more."""
    monkeypatch.setenv("PRD_EDGE_MODE", "imprint")
    monkeypatch.setattr("prd_edge.learning.torch_is_installed", lambda: False)


@pytest.fixture(autouse=True)
def signals_are_left_alone() -> Iterator[None]:
    """A handler that one test leaves behind would change what another sees."""
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.fixture(scope="session")
def taught_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two sessions behind it: versions 1 (empty), 2 (two classes) and 3 (three)."""
    folder = tmp_path_factory.mktemp("taught")
    runtime = Runtime.open(folder / "store", config=TINY)
    runtime.learn_session(write_session(folder / "one", classes=("blue", "green")), mode="imprint")
    runtime.learn_session(
        write_session(folder / "two", start=6, classes=("green", "red")), mode="imprint"
    )
    return folder / "store"


@pytest.fixture
def taught(taught_once: Path, tmp_path: Path) -> Path:
    """A copy of that store to change or damage."""
    copy = tmp_path / "store"
    shutil.copytree(taught_once, copy)
    return copy


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return write_session(tmp_path / "session", start=20)


@pytest.fixture
def decoded_alive(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many decoded pictures of sessions and evaluations there are at the moment."""
    references: list[weakref.ref[np.ndarray]] = []

    def noted(source: object) -> np.ndarray:
        image = decode(source)
        references.append(weakref.ref(image))
        return image

    for module in ("harvest", "evaluate"):
        monkeypatch.setattr(f"prd_edge.{module}.decode", noted)
    return lambda: sum(reference() is not None for reference in references)


@pytest.fixture
def data_sets() -> Path:
    """The real data sets, where they are."""
    default = Path(__file__).parents[2] / "shared/data"
    found = Path(os.environ.get("PRD_EDGE_DATA", default))
    if not found.is_dir():
        pytest.skip(f"no data sets at {found}; set PRD_EDGE_DATA")
    return found


def needs_web_runtime() -> None:
    """onnxruntime-web, which npm fetches once; where that is not possible, CI must know."""
    from prd_edge.exporters.web_runtime import runtime_files

    try:
        runtime_files()
    except MissingDependencyError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture
def prd_edge(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs the command line in this process: (exit code, standard output, standard error)."""
    from prd_edge.cli.main import _run

    def call(*arguments: object) -> tuple[int, str, str]:
        code = _run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call

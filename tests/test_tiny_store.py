"""The tiny store that the fault suites use is a store like any other: every command works on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from prd_edge.store import Store
from tests.tiny_store import COLOURS, pairs, picture, teach, write_session

PrdEdge = Callable[..., tuple[int, str, str]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return teach(tmp_path / "store").store.path


def test_it_tells_colours_apart(tmp_path: Path) -> None:
    runtime = teach(tmp_path / "store")
    for label, colour in COLOURS.items():
        assert runtime.predict(picture(colour, 500)).label == label
    assert runtime.evaluate(pairs(*COLOURS, start=70)).accuracy == 1
    assert runtime.store.bytes_on_disk() < 20_000


def test_every_command_that_writes(place: Path, tmp_path: Path, prd_edge: PrdEdge) -> None:
    data = write_session(tmp_path / "data", start=20)
    red = data / "red/20.png"
    for arguments, version in (
        (("learn-session", data), "000004"),
        (("feedback", red, "--not", "red"), "000005"),
        (("classes", "rename", "red", "scarlet"), "000006"),
        (("classes", "remove", "blue"), "000007"),
        (("rollback", "6"), "000006"),
        (("gc", "--keep", "1"), "000006"),
        (("verify", "--repair"), "000006"),
    ):
        code, _, err = prd_edge(*arguments, "--store", place)
        assert code == 0, err
        assert Store(place).live().name == version
    assert set(Store(place).live().manifest.classes) == {"blue", "green", "scarlet"}


def test_every_command_that_reads(place: Path, tmp_path: Path, prd_edge: PrdEdge) -> None:
    data = write_session(tmp_path / "data", start=20)
    for arguments in (
        ("predict", data / "red/20.png"),
        ("evaluate", data),
        ("export", "-o", tmp_path / "model.onnx"),
        ("classes", "list"),
        ("info",),
        ("history",),
        ("diff", "2", "3"),
        ("verify",),
    ):
        code, out, err = prd_edge(*arguments, "--store", place)
        assert code == 0, err
        assert out

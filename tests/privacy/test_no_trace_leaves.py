"""Nothing of a sample is in what leaves a store: exports, reports, cards and what is printed.

Pictures given to check an export with, to evaluate on and for feedback are samples, too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from prd_edge import Runtime
from prd_edge.cli.main import _run
from tests.privacy.test_no_trace import scratch
from tests.privacy.traces import SMALL, Samples, found_in, make_images, samples_of

__all__ = ["scratch"]


@pytest.fixture
def learned(tmp_path: Path, scratch: Path) -> tuple[Path, Samples]:
    """A folder for what leaves, and the samples behind the store beside it."""
    runtime = Runtime.open(tmp_path / "store", config=SMALL, threads=1)
    folder = make_images(tmp_path / "pictures", ("cup", "pen"), 1)
    runtime.learn_session(folder, mode="imprint")
    (tmp_path / "out").mkdir()
    return tmp_path / "out", samples_of(folder, runtime.store)


def test_of_exports_reports_and_cards(
    learned: tuple[Path, Samples], scratch: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out, samples = learned
    pictures, store = samples.folder, out.parent / "store"
    some = sorted(pictures.glob("*/*.png"))[0]
    commands: list[list[object]] = [
        ["export", "-o", out / "model.onnx", "--images", pictures],
        ["evaluate", pictures, "--json"],
        ["evaluate", pictures, "--all-versions", "--report", out / "page.html"],
        ["info", "--card"],
        ["history", "--json"],
        ["diff", "1", "2", "--json"],
        ["verify", "--privacy", "--json"],
        ["feedback", some, "--is", some.parent.name, "--json"],
        ["forget", "pen", "--json"],
    ]
    for command in commands:
        capfd.readouterr()
        assert _run([*map(str, command), "--store", str(store)]) == 0, command
        printed = capfd.readouterr()
        said = (printed.out + printed.err).encode()
        assert samples.traces_in(said) == set(), command
    assert (out / "model.onnx").stat().st_size > 1e6
    assert (out / "page.html").exists()
    assert found_in(out, samples) == set()
    assert found_in(store, samples) == set()
    assert found_in(scratch, samples) == set()


def test_what_is_planted_in_an_export_is_found(learned: tuple[Path, Samples]) -> None:
    out, samples = learned
    (out / "model.onnx").write_bytes(b"graph" + samples.embeddings[3].tobytes() + b"end")
    assert found_in(out, samples) == {"embedding"}
    (out / "model.onnx").write_bytes(b"graph" + samples.files[0])
    assert found_in(out, samples) == {"file"}

"""The harness of the rivals benchmark: streams, loop, measures, methods."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from incremental import streams
from incremental.data import Part
from incremental.loop import average_accuracy, run
from incremental.methods import frozen
from incremental.methods.base import Method
from incremental.methods.frozen import ClassMeans, RandomProjections, StreamingLda
from incremental.streams import STREAMS, StreamKind, open_stream
from incremental.tables import accuracy_table, confidence_table, plot, table

WIDTH = 2768
CLASSES = [f"class {i:02}" for i in range(12)]


def made_up(per_class: int, seed: int) -> Part:
    """Classes around directions of their own."""
    centres = np.random.default_rng(0).normal(size=(len(CLASSES), WIDTH)).astype(np.float32)
    noise = np.random.default_rng(seed).normal(size=(len(CLASSES) * per_class, WIDTH))
    x = np.repeat(centres, per_class, axis=0) + 2 * noise.astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    nothing = np.zeros(0)
    return Part(np.repeat(CLASSES, per_class), x, x, nothing, nothing, nothing)


@pytest.fixture
def made_up_data(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"train": made_up(10, seed=1), "test": made_up(6, seed=2)}
    monkeypatch.setattr(streams, "load", lambda name, half, work: parts[half])
    monkeypatch.setitem(STREAMS, "made-up", StreamKind("Made up", "grocery", 4, per_class=8))
    half = StreamKind("Half of it", "grocery", 3, taught=0.5)
    monkeypatch.setitem(STREAMS, "half", half)


def test_every_class_comes_once_with_as_many_pictures_as_asked_for(made_up_data: None) -> None:
    stream = open_stream("made-up", 3, Path())
    labels = [sorted(set(session.labels)) for session in stream.sessions]
    assert [len(own) for own in labels] == [3, 3, 3, 3]
    assert sorted(label for own in labels for label in own) == CLASSES
    for session in stream.sessions:
        assert len(session.rows) == len(set(session.rows)) == 3 * 8
        assert (stream.train.labels[session.rows] == session.labels).all()
        assert (stream.test.labels[session.test_rows] == session.test_labels).all()
    assert not len(stream.strangers)
    again, other = open_stream("made-up", 3, Path()), open_stream("made-up", 4, Path())
    assert (again.sessions[0].rows == stream.sessions[0].rows).all()
    assert set(other.sessions[0].labels) != set(stream.sessions[0].labels)


def test_what_is_never_taught_is_strange(made_up_data: None) -> None:
    stream = open_stream("half", 0, Path())
    taught = {label for session in stream.sessions for label in session.labels}
    assert len(taught) == 6
    assert set(stream.test.labels[stream.strangers]) == set(CLASSES) - taught


def test_each_superclass_has_five_classes_of_its_own() -> None:
    lines = streams.SUPERCLASSES.strip().splitlines()
    members = [member for line in lines for member in line.split(": ")[1].split()]
    assert (len(lines), len(members), len(set(members))) == (20, 100, 100)


def test_average() -> None:
    matrix = [[90.0], [70.0, 80.0], [80.0, 60.0, 50.0]]
    assert average_accuracy(matrix) == pytest.approx((90 + 75 + 190 / 3) / 3)


@pytest.mark.parametrize("make", [ClassMeans, StreamingLda, lambda: RandomProjections(0)])
def test_frozen_rivals_learn_in_any_number_of_sessions(
    make: type[Method], made_up_data: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frozen, "_PROJECTIONS", 300)
    result = run(make(), open_stream("made-up", 0, Path()))
    assert [len(row) for row in result["matrix"]] == [1, 2, 3, 4]  # type: ignore[attr-defined]
    assert result["last_accuracy"] > 90  # type: ignore[operator]
    assert result["state_bytes"] > 0  # type: ignore[operator]


def test_prd_edge_tells_how_sure_it_is_and_tables_are_made(
    made_up_data: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    from incremental.jobs import RivalJob
    from incremental.loop import finish

    jobs = [RivalJob("half", "prd-edge, imprinted", seed, tmp_path) for seed in (0, 1)]
    for job in jobs:
        finish(job)
    written = jobs[0].file.stat().st_mtime_ns
    finish(jobs[0])
    assert jobs[0].file.stat().st_mtime_ns == written, "a finished run is not run again"
    what = ("half",), ("prd-edge, imprinted", "fine-tuning"), (0, 1), tmp_path
    assert "| prd-edge, imprinted | " in table("half", *what[1:])
    assert table("half", *what[1:]).endswith("| 2 |")
    rows = {"imprinted": "prd-edge, imprinted", "not run": "fine-tuning"}
    titled = accuracy_table(("half",), rows, *what[2:]).splitlines()
    assert titled[2].startswith("| imprinted | ")
    assert "±" in titled[2]
    assert titled[3] == "| not run |  |"
    row = confidence_table(*what).splitlines()[-1]
    assert row.startswith("| half, prd-edge, imprinted | 0.")
    assert row.count("|") == 7
    assert plot("half", *what[1:]).stat().st_size > 1000

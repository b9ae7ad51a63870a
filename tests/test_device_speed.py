"""What the figures are made of. That they are right can only be seen on a clock."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from prd_edge import device_speed
from prd_edge.device_speed import Model, Workload, measure
from prd_edge.errors import PrdEdgeError
from prd_edge.predict_process import PredictProcess


def test_figures_are_medians_in_their_units(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(PredictProcess, "peak_memory_mb", lambda *_: 150.0)
    started: list[Path] = []
    monkeypatch.setattr(PredictProcess, "run", lambda _, picture: started.append(picture))
    done = []

    def seconds(repeats: int, action: Callable[[], object]) -> list[float]:
        done.append(action())
        return [9.0, 1.0, 2.0][:repeats]

    monkeypatch.setattr(device_speed, "_seconds", seconds)
    speed = measure(workload=Workload(classes=2, images_per_class=3, image_size=32))
    session, _, *alone, together = done
    assert session.added == {"battery": 3, "bolt": 3}
    assert [picture.name for picture in started] == ["battery-000.jpg"]
    assert [answer.source for answer in alone] == [answer.source for answer in together]
    assert len(alone) == 6
    assert speed.model == Model("efficientnet_lite0", 32, is_trained=False, classes=2)
    assert (speed.cold_start_seconds, speed.learn_session_seconds) == (2.0, 2.0)
    assert (speed.image_ms, speed.image_ms_95th) == (2000.0, 9000.0)
    assert speed.images_per_second == 6 / 2.0
    assert speed.predict_memory_mb == 150.0
    assert list(tmp_path.iterdir()) == []


def test_a_predict_process_has_memory_of_its_own(taught_once: Path, session: Path) -> None:
    ours = bytearray(400_000_000)  # this process being large is not its fault
    ours[::4096] = b"1" * len(ours[::4096])
    assert 20 < PredictProcess(taught_once, threads=1).peak_memory_mb(session) < 400


def test_a_predict_process_that_fails_says_why(tmp_path: Path) -> None:
    process = PredictProcess(tmp_path / "none")
    for ask in (process.run, process.peak_memory_mb):
        with pytest.raises(PrdEdgeError, match=r"there is no store at .*none.*prd-edge doctor"):
            ask(tmp_path)


def test_files_of_the_current_folder_are_no_modules(
    taught_once: Path, session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('not the json you want')")
    monkeypatch.chdir(tmp_path)
    PredictProcess(taught_once).run(session / "red/20.png")

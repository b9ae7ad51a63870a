"""`prd-edge export`: what a person sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import needs_web_runtime, write_session

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    return write_session(tmp_path / "pictures", start=50, images=14)


def test_a_file_its_certificate_and_a_later_check(
    taught: Path, tmp_path: Path, pictures: Path, prd_edge: Run
) -> None:
    model = tmp_path / "model.onnx"
    code, out, err = prd_edge("export", "--store", taught, "-o", model, "--images", pictures)
    assert (code, err) == (0, "")
    assert f"file                {model}, " in out
    assert "same answer         100.0 %" in out
    assert "checked on          42 pictures" in out

    # One session later the file is still held against the version it came from.
    code, *_ = prd_edge("classes", "rename", "--store", taught, "red", "rouge")
    assert code == 0
    code, out, _ = prd_edge("export", "--store", taught, "--check", model, "--images", pictures)
    assert code == 0
    assert "version             000003" in out


def test_eight_bits_are_checked_by_their_own_bar(
    taught: Path, tmp_path: Path, pictures: Path, prd_edge: Run
) -> None:
    model = tmp_path / "small.onnx"
    arguments = ("export", "--store", taught, "--format", "onnx-int8", "-o", model)
    code, out, _ = prd_edge(*arguments, "--calibrate", pictures, "--json")
    assert code == 0
    said = json.loads(out)
    assert said["bytes"] == model.stat().st_size
    assert 0 < said["size_ratio"] < 0.5
    assert said["speed_ratio"] > 0
    code, out, _ = prd_edge("export", "--store", taught, "--check", model, "--images", pictures)
    assert code == 0
    assert "of single precision" in out


def test_a_page_and_how_to_look_at_it(taught: Path, tmp_path: Path, prd_edge: Run) -> None:
    needs_web_runtime()
    target = tmp_path / "page"
    code, _, err = prd_edge("export", "--store", taught, "--format", "web", "-o", target)
    assert code == 0
    assert f"python -m http.server --directory {target}" in err
    code, out, err = prd_edge("export", "--store", taught, "--check", target)
    assert (code, err) == (0, "")
    assert "same answer         100.0 %" in out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 2, "give either --output, to write a file, or --check"),
        (["-o", "a.onnx", "--check", "a.onnx"], 2, "give either --output"),
        (["-o", "a.onnx", "--format", "zip"], 2, "no format named 'zip'; choose one of onnx, "),
        (["-o", "a.txt"], 2, "a.txt should end in .onnx; choose another name"),
        (["-o", "no/a.onnx"], 2, "no folder no; make it first"),
        (["-o", ".", "--format", "web"], 2, "name a folder to be made"),
        (["-o", "a.onnx", "--images", "no"], 3, "no folder no; give one with pictures in it"),
        (["-o", "a.onnx", "--images", "empty"], 3, "empty holds no pictures that can be read"),
        (["-o", "a.onnx", "--format", "onnx-int8"], 3, "at least 20 pictures, and there are 0"),
        (["-o", "a.onnx", "--format", ""], 2, "no format named ''"),
        (["-o", "a.onnx", "--version", ""], 2, "no version"),
        (["-o", f"{'a' * 300}.onnx"], 4, "the name is too long"),
        (["--check", "no.onnx", "--calibrate", "empty"], 2, "with --check give --images"),
        (["-o", "a.onnx", "--version", "7"], 2, "no version"),
        (["-o", "a.onnx", "--evaluation", "no.json"], 2, "cannot read no.json: No such file"),
        (["-o", "/proc/a.onnx"], 4, "cannot write /proc/a.onnx"),
        (["--check", "no.onnx"], 2, "cannot read no.onnx"),
    ],
)
def test_bad_calls_get_one_line_and_leave_nothing(
    taught: Path, tmp_path: Path, prd_edge: Run, monkeypatch: pytest.MonkeyPatch,
    arguments: list[str], code: int, says: str,
) -> None:  # fmt: skip
    work = tmp_path / "work"
    (work / "empty").mkdir(parents=True)
    monkeypatch.chdir(work)
    result, out, err = prd_edge("export", "--store", taught, *arguments)
    assert (result, out) == (code, "")
    assert says in err
    assert err.count("\n") == 1
    assert [path.name for path in work.rglob("*")] == ["empty"]


def test_a_certificate_that_is_none(taught: Path, tmp_path: Path, prd_edge: Run) -> None:
    model = tmp_path / "model.onnx"
    assert prd_edge("export", "--store", taught, "-o", model)[0] == 0
    beside = tmp_path / "model.onnx.certificate.json"
    for text in ("", "[]", '{"format": 3}', "\x00", '{"version": 5}', "[" * 9000):
        beside.write_text(text)
        code, _, err = prd_edge("export", "--store", taught, "--check", model)
        assert (code, err.count("\n")) == (5, 1), text
        assert "one of them was changed" in err
    beside.unlink()
    assert prd_edge("export", "--store", taught, "--check", model)[0] == 0


def test_a_version_that_is_gone(taught: Path, tmp_path: Path, prd_edge: Run) -> None:
    model = tmp_path / "model.onnx"
    assert prd_edge("export", "--store", taught, "-o", model, "--version", "2")[0] == 0
    for name in ("rouge", "red", "rouge"):
        old = {"rouge": "red", "red": "rouge"}[name]
        assert prd_edge("classes", "rename", "--store", taught, old, name)[0] == 0
    assert prd_edge("gc", "--store", taught, "--keep", "1")[0] == 0
    code, _, err = prd_edge("export", "--store", taught, "--check", model)
    assert (code, err.count("\n")) == (2, 1)
    assert "was exported from version 000002, which" in err

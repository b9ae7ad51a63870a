"""Nothing reports on this device, and nothing marks it: onnxruntime would do both by itself."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# onnxruntime keeps still where it takes itself to be tested; the user's device is no such place.
SILENCING = ("CI", "ORT_", "TF_BUILD", "GITHUB_", "JENKINS_", "PYTEST_")
THE_ONE_PLACE = ROOT / "prd_edge/silent_onnxruntime.py"


def left_behind(home: Path, *arguments: str) -> set[str]:
    """What a process leaves in an empty home folder."""
    home.mkdir()
    kept = {name: v for name, v in os.environ.items() if not name.startswith(SILENCING)}
    places = {"HOME": str(home), "TMPDIR": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=home, env={**kept, **places}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}


def test_commands_leave_no_mark_on_the_device(taught: Path, session: Path, tmp_path: Path) -> None:
    store = ("--store", str(taught))
    for number, command in enumerate(
        (
            ("predict", str(session / "red"), *store),
            ("learn-session", str(session), *store, "--mode", "imprint"),
            ("doctor", *store),
        )
    ):
        assert left_behind(tmp_path / str(number), "-m", "prd_edge", *command) == set()


@pytest.mark.parametrize(
    "module", ["prd_edge.device", "prd_edge.learn.parity", "prd_edge.exporters.int8"]
)
def test_neither_does_another_way_to_onnxruntime(module: str, tmp_path: Path) -> None:
    program = f"import {module}, onnxruntime.quantization"
    assert left_behind(tmp_path / "home", "-c", program) == set()


def test_there_is_one_place_that_imports_it() -> None:
    """Elsewhere it could be imported before it is told to keep still. (Its quantisation is taken
    inside a function of a module that imports this place first.)"""
    for path in (*ROOT.glob("prd_edge/**/*.py"), *ROOT.glob("exporters/**/*.py")):
        if path == THE_ONE_PLACE:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert "onnxruntime" not in names, path

"""The Tab key, as a shell asks for it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prd_edge import Runtime

from .conftest import share_store

COMMAND = Path(sys.executable).with_name("prd-edge")


@pytest.fixture(scope="module")
def asked(untouched: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where there is a store with classes red, green and one that needs quotes. For reading."""
    folder = tmp_path_factory.mktemp("asked")
    Runtime.open(share_store(untouched, folder / "prd_store")).rename("blue", "deep blue")
    return folder


def offers(folder: Path, *words: str, shell: str = "zsh", **variables: str) -> list[str]:
    """What is offered for the last of `words`."""
    environment = {
        **os.environ,
        "_PRD_EDGE_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(("prd-edge", *words)),
        "COMP_CWORD": str(len(words)),
        **variables,
    }
    done = subprocess.run(
        [COMMAND], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    kinds, names, _ = (done.stdout.strip().splitlines()[start::3] for start in range(3))
    return [name if kind == "plain" else kind for kind, name in zip(kinds, names, strict=True)]


def test_commands(tmp_path: Path) -> None:
    assert offers(tmp_path, "pre") == ["predict"]
    assert offers(tmp_path, "classes", "re") == ["remove", "rename"]
    assert "--among" in offers(tmp_path, "predict", "--a")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("classes", "remove", ""), ["deep blue", "green", "red"]),
        (("classes", "remove", "r"), ["red"]),
        (("classes", "rename", "g"), ["green"]),
        (("classes", "rename", "green", ""), []),
        (("feedback", "photo.jpg", "--is", "d"), ["deep blue"]),
        (("feedback", "photo.jpg", "--not", "re"), ["red"]),
        (("rollback", ""), ["4", "3", "2", "1"]),
        (("diff", "2", ""), ["4", "3", "2", "1"]),
        (("evaluate", "folder", "--version", "3"), ["3"]),
        (("export", "--version", ""), ["4", "3", "2", "1"]),
        (("export", "--format", "onnx"), ["onnx", "onnx-int8"]),
        (("predict", "pho"), ["file"]),
        (("learn-session", ""), ["file"]),
        (("info", "--store", ""), ["file"]),
    ],
)
def test_names_that_the_store_knows(asked: Path, words: tuple[str, ...], names: list[str]) -> None:
    assert offers(asked, *words) == names


def test_the_store_that_is_named_is_asked(asked: Path, tmp_path: Path) -> None:
    store, remove = str(asked / "prd_store"), ("classes", "remove")
    assert offers(tmp_path, *remove, "--store", store, "r") == ["red"]
    assert offers(tmp_path, *remove, "r", PRD_EDGE_STORE=store) == ["red"]


def test_without_a_store_nothing_is_offered_and_nothing_said(tmp_path: Path) -> None:
    assert offers(tmp_path, "classes", "remove", "") == []
    assert offers(tmp_path, "rollback", "") == []
    assert list(tmp_path.iterdir()) == []


def test_bash_itself(asked: Path) -> None:
    """The line of the documents, evaluated by a real shell; names with spaces come in quotes."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    guide = (Path(__file__).parents[2] / "docs/getting-started.md").read_text()
    (line,) = re.findall(r"`(eval .*?)` in your `.bashrc`", guide)
    script = f"""
        {line}
        complete -p prd-edge
        COMP_WORDS=(prd-edge classes remove "") COMP_CWORD=3
        _prd_edge_completion prd-edge
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    environment = {**os.environ, "PATH": f"{COMMAND.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [bash, "-c", script], cwd=asked, env=environment, capture_output=True, text=True, check=True
    )
    registered, *offered = done.stdout.splitlines()
    assert "_prd_edge_completion prd-edge" in registered
    assert offered == ["'deep blue'", "green", "red"]

"""The documents speak of commands and files that exist."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import click
import pytest

from prd_edge import Runtime
from prd_edge.cli.main import COMMANDS
from prd_edge.cli.main import prd_edge as group
from prd_edge.errors import PrdEdgeError

from .conftest import TINY
from .documented import blocks, write_pictures

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_and_options_in_documents_exist(document: Path) -> None:
    for line in re.findall(r"(?:^\$ |`)(prd-edge [^`#\n|]*)", document.read_text(), re.MULTILINE):
        name, *rest = line.split()[1:]
        if name in ("--help", "--version"):
            continue
        assert name in COMMANDS, line
        command = group.get_command(click.Context(group), name)
        assert command is not None
        options = {option for parameter in command.params for option in parameter.opts}
        for word in rest:
            if word.startswith("--"):
                assert word in options, line


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_named_in_documents_exist(document: Path) -> None:
    text = document.read_text()
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (document.parent / target).exists(), target
    for script in re.findall(r"(?:scripts|benchmarks)/[a-z0-9_]+(?:\.py)?", text):
        assert (ROOT / script).exists(), script


def test_every_command_is_in_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    for name in COMMANDS:
        assert name in changelog


def test_documented_exit_codes_are_those_of_the_errors() -> None:
    guide = (ROOT / "docs/getting-started.md").read_text()
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", guide, re.MULTILINE)}

    def codes(error: type[PrdEdgeError]) -> set[int]:
        return {error.exit_code}.union(*map(codes, error.__subclasses__()))

    ended_from_outside = {128 + signal.SIGPIPE, 128 + signal.SIGTERM}
    assert codes(PrdEdgeError) | {0} | ended_from_outside == documented


EXAMPLES = [
    (document, example)
    for document in ("README.md", "docs/getting-started.md", "docs/device.md")
    for example in blocks(document, "python")
]


@pytest.mark.parametrize(("document", "example"), EXAMPLES)
def test_python_examples_run(
    document: str, example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pictures(tmp_path)
    runtime = Runtime.open("prd_store", config=TINY)
    runtime.learn_session("monday")
    names: dict[str, Any] = {}
    exec(example.replace("/var/lib/prd-edge/", ""), names)
    if document == "docs/device.md":
        assert names["name"](Path("photo.jpg").read_bytes()) == "mug"
    else:
        assert names["answer"].label in ("mug", "fork")
        assert runtime.history()[-1].metrics["images_used"]


def test_the_encoder_example_can_be_trained_and_exported() -> None:
    from prd_edge.learn.encoders import make_graph

    (example,) = blocks("docs/writing-an-encoder.md", "python")
    names: dict[str, Any] = {}
    exec(example, names)
    encoder = names["TwoStages"]().eval()
    assert encoder.part_widths() == (16, 16, 32)
    assert make_graph(encoder, 64)  # proven equal to the module


def test_the_reference_is_that_of_the_program() -> None:
    command = [sys.executable, ROOT / "scripts/reference.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_site_builds_strictly_and_fetches_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = [*(tmp_path / "site").rglob("*.html")]
    assert len(pages) > 10
    for page in pages:
        loaded = re.findall(r"<(?:link|script|img|iframe)\b[^>]*", page.read_text())
        assert loaded
        assert [tag for tag in loaded if re.search(r"(?:src|href)=\S?(?:https?:)?//", tag)] == []


@pytest.mark.parametrize("picture", [*ROOT.glob("docs/images/*.svg")], ids=lambda path: path.name)
def test_pictures_need_nothing_from_elsewhere(picture: Path) -> None:
    drawing = picture.read_text()
    assert "@font-face" not in drawing
    assert re.findall(r"url\((?!#)", drawing) == []
    assert re.findall(r"(?:href|src)=\S?http", drawing) == []


def test_the_recorded_terminal_shows_commands_that_exist() -> None:
    drawing = unescape((ROOT / "docs/images/terminal.svg").read_text()).replace("\xa0", " ")
    recorded = re.findall(r">prd-edge ([a-z-]+)", drawing)
    assert len(recorded) >= 4
    assert set(recorded) <= set(COMMANDS)

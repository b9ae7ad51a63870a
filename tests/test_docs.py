"""The documents speak of commands and files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from prd_edge import Runtime
from prd_edge.cli.main import COMMANDS
from prd_edge.cli.main import prd_edge as group
from prd_edge.errors import PrdEdgeError

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]


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


def test_exit_codes_in_the_readme_are_those_of_the_errors() -> None:
    readme = (ROOT / "README.md").read_text()
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", readme, re.MULTILINE)}

    def codes(error: type[PrdEdgeError]) -> set[int]:
        return {error.exit_code}.union(*map(codes, error.__subclasses__()))

    assert codes(PrdEdgeError) | {0} == documented


def test_the_python_example_uses_what_there_is() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    compile(example, "README.md", "exec")
    for method in re.findall(r"rt\.(\w+)\(", example):
        assert hasattr(Runtime, method), method

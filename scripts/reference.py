"""The reference, written from the program: commands from click, names from their docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TypeGuard

import click

import prd_edge
from prd_edge.cli.main import prd_edge as program
from prd_edge.errors import PrdEdgeError

REFERENCE = Path(__file__).parents[1] / "docs/reference"
WIDTH = 100
# What the public names give back, and an app therefore meets without importing it.
GIVEN_BACK = {
    "predictor": ("Ranked",),
    "progress": ("Estimate", "Losses"),
    "report": ("TrainingFigures",),
    "session": ("Skipped",),
    "drift": ("Drift",),
    "feedback": ("Feedback",),
    "evaluate": ("Evaluation", "Mistake"),
    "manifest": ("Manifest", "FileRecord"),
    "encoders": ("EncoderSpec",),
}


def command_line() -> str:
    """Every command with its usage, its words and its options, as `--help` has them."""
    return _page(
        "Commands",
        "What `--help` says of each, on one page. "
        "Exit codes: [getting started](../getting-started.md#exit-codes).",
        *_command(program, None),
    )


def _command(command: click.Command, parent: click.Context | None) -> Iterator[str]:
    name = command.name if parent else "prd-edge"
    context = click.Context(command, info_name=name, parent=parent, terminal_width=WIDTH)
    if parent:
        yield f"## {context.command_path}"
        yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
        yield inspect.cleandoc(command.help or "")
        yield _options(command, context)
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None
            yield from _command(found, context)


def _options(command: click.Command, context: click.Context) -> str:
    records = [parameter.get_help_record(context) for parameter in command.params]
    rows = [(_cell(f"`{names}`"), _cell(words)) for names, words in filter(None, records)]
    rows = [row for row in rows if row[0].startswith("`-")]
    return _table(("option", ""), rows) if rows else ""


def python_names() -> str:
    """The public names, what they give back, and the errors."""
    public = [name for name in prd_edge.__all__ if inspect.isclass(getattr(prd_edge, name))]
    return _page(
        "Python",
        "What `from prd_edge import …` gives. All of it is typed.",
        *(part for name in public for part in _class(getattr(prd_edge, name))),
        "## What they give back",
        "Met as results, not to be made by hand.",
        *(
            part
            for module, names in GIVEN_BACK.items()
            for name in names
            for part in _class(getattr(import_module(f"prd_edge.{module}"), name), "###")
        ),
        "## Errors",
        "All are in `prd_edge.errors`, and are `PrdEdgeError`s.",
        _table(("error", "exit code", ""), list(_errors(PrdEdgeError))),
    )


def _class(cls: type, heading: str = "##") -> Iterator[str]:
    yield f"{heading} {cls.__name__}"
    yield _prose(cls)
    source = inspect.getsource(cls)
    (tree,) = ast.parse(source).body
    assert isinstance(tree, ast.ClassDef)
    methods = [node for node in tree.body if _is_documented(node)]
    properties = [node for node in methods if _is_property(node)]
    rows = [*_fields(tree, source.splitlines()), *map(_property, properties)]
    if rows:
        yield _table(("field", "type", ""), rows)
    for node in methods:
        if node not in properties:
            yield from _method(cls, node, f"{heading}#")


def _is_documented(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    is_public = isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    return is_public and ast.get_docstring(node) is not None


def _is_property(node: ast.FunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def _property(node: ast.FunctionDef) -> tuple[str, str, str]:
    kind = ast.unparse(node.returns or ast.Constant(None))
    return f"`{node.name}`", _cell(f"`{kind}`"), _cell(ast.get_docstring(node) or "")


def _fields(tree: ast.ClassDef, lines: list[str]) -> Iterator[tuple[str, str, str]]:
    """Fields with the comment that stands behind them."""
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            _, _, comment = lines[node.lineno - 1].partition("  # ")
            default = f" = {ast.unparse(node.value)}" if node.value else ""
            kind = f"`{ast.unparse(node.annotation)}{default}`"
            yield f"`{node.target.id}`", _cell(kind), _cell(comment)


def _method(cls: type, node: ast.FunctionDef, heading: str) -> Iterator[str]:
    yield f"{heading} {cls.__name__}.{node.name}"
    result = ast.unparse(node.returns or ast.Constant(None))
    yield f"```python\n{node.name}({_parameters(node.args)}) -> {result}\n```"
    yield _prose(inspect.getattr_static(cls, node.name))


def _parameters(arguments: ast.arguments) -> str:
    """Without `self`; one a line where they are many."""
    arguments.args = arguments.args[1:]
    written = re.sub(r"(?<=[\w\]])=", " = ", ast.unparse(arguments))
    if len(written) < WIDTH * 3 // 4:
        return written
    parts = re.split(r", (?![^\[]*\])", written)
    return "".join(f"\n    {part}," for part in parts) + "\n"


def _prose(thing: object) -> str:
    """A docstring, its examples in a block of their own."""
    thing = getattr(thing, "__func__", thing)
    words = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    if re.match(r"\w+\(.*\)$", words):  # made up for a class without one
        return ""
    words = re.sub(r"\s*# doctest:.*", "", words)
    return re.sub(r"((?:^>>> .*\n?|(?<=\n)'.*\n?)+)", r"```python\n\1\n```", words, flags=re.M)


def _errors(error: type[PrdEdgeError], depth: int = 0) -> Iterator[tuple[str, str, str]]:
    yield "&emsp;" * depth + f"`{error.__name__}`", str(error.exit_code), _cell(error.__doc__ or "")
    for child in error.__subclasses__():
        if child.__module__ == PrdEdgeError.__module__:
            yield from _errors(child, depth + 1)


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _page(title: str, *parts: str) -> str:
    note = "<!-- Written by scripts/reference; change the program, not this file. -->"
    return "\n\n".join(filter(None, (f"# {title}", note, *parts))) + "\n"


def main(arguments: list[str]) -> int:
    pages = {REFERENCE / "cli.md": command_line(), REFERENCE / "api.md": python_names()}
    if arguments == ["--check"]:
        stale = [path.name for path, text in pages.items() if not _is_same(path, text)]
        if stale:
            print(f"stale: {', '.join(stale)}; run scripts/reference", file=sys.stderr)
        return 1 if stale else 0
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
    return 0


def _is_same(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

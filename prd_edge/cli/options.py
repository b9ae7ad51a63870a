"""Options that several commands share, and how they print."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from prd_edge.classes import can_be_shown
from prd_edge.figures import megabytes, percent, utc

__all__ = [
    "PathType",
    "evaluation_option",
    "json_option",
    "json_text",
    "megabytes",
    "once_done",
    "percent",
    "print_json",
    "print_pairs",
    "print_table",
    "printable",
    "say",
    "store_option",
    "telling_what_goes",
    "threads_option",
    "utc",
]


class PathType(click.ParamType[Path]):
    """A path, and never the current folder by way of an unset variable."""

    name = "path"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        if value == "":
            self.fail("the name is empty", param, ctx)
        if "\0" in str(value):
            self.fail("a name cannot have a null byte in it", param, ctx)
        return Path(str(value))

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


store_option = click.option(
    "--store",
    type=PathType(),
    envvar="PRD_EDGE_STORE",
    default=Path("prd_store"),
    show_default=True,
    help="Where the store is; the variable PRD_EDGE_STORE is used too.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
threads_option = click.option(
    "--threads", type=click.IntRange(min=1), help="Processor threads to use [default: all]."
)
evaluation_option = click.option(
    "--evaluation",
    type=PathType(),
    metavar="FILE",
    help="What 'prd-edge evaluate --json' wrote, for the model card.",
)


def say(line: str) -> None:
    """One line to standard error, in which no file name can play tricks on the terminal."""
    with suppress(OSError):  # nobody may be reading, which is no reason to stop
        click.echo(printable(line), err=True)


@contextmanager
def telling_what_goes(store: Path) -> Iterator[None]:
    """Around a change: only so many versions are kept, and the oldest may have to go for it."""
    from prd_edge.store import Store

    before = Store(store).version_names()
    yield
    if gone := sorted(set(before) - set(Store(store).version_names())):
        say(f"old versions removed: {', '.join(gone)}")


@contextmanager
def once_done() -> Iterator[None]:
    """Around what tells of a change: it is made, and must not be tried again if nobody hears."""
    try:
        yield
    except OSError as error:
        say(f"done, but the report could not be written: {error.strerror}")
        with suppress(OSError):  # what is still to be flushed would fail once more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def printable(text: str) -> str:
    """Control codes are shown, not obeyed."""
    if text.isprintable():
        return text
    return "".join(c if can_be_shown(c) else c.encode("unicode_escape").decode() for c in text)


def print_json(document: object) -> None:
    click.echo(json_text(document, indent=2))


def json_text(document: object, indent: int | None = None) -> str:
    """As people write it where the output can carry that; what cannot be shown is escaped."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    text = json.dumps(document, ensure_ascii=not utf8, indent=indent)
    return "".join(c if can_be_shown(c) or c == "\n" else json.dumps(c)[1:-1] for c in text)


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Plain aligned columns: the same on a terminal, in a file and in an issue."""
    table = [[printable(str(cell)) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    for row in table:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo(line.rstrip())


def print_pairs(lines: Sequence[tuple[str, str]]) -> None:
    """A name and what there is to say of it, one a line."""
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        click.echo(printable(f"{name.ljust(width)}  {value}"))

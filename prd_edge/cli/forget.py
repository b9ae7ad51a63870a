from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prd_edge.cli.options import json_option, once_done, print_json, printable, say, store_option

if TYPE_CHECKING:
    from prd_edge.forgetting import Forgotten


@click.command()
@click.argument("label", metavar="CLASS")
@store_option
@json_option
@click.option(
    "--yes", is_flag=True, help="Do not ask for confirmation. Without a terminal it never asks."
)
def forget(label: str, store: Path, as_json: bool, yes: bool) -> None:
    """Take CLASS out of every kept version, for good; rollback does not bring it back.

    Its prototype, its numbers and every name that it has had are removed. What cannot be taken out
    is said. To remove a class and keep the way back, use 'prd-edge classes remove'.
    """
    from prd_edge.runtime import Runtime

    if not yes and sys.stdin.isatty():
        question = f"Forget {label!r} in every kept version? It cannot be undone"
        if not click.confirm(printable(question), err=True):
            say("nothing was forgotten")
            return
    result = Runtime.open(store).forget(label)
    with once_done():
        _print_result(result, label, as_json)


def _print_result(result: Forgotten, label: str, as_json: bool) -> None:
    if as_json:
        print_json({"schema": 1, **result._asdict()})
        return
    also = [name for name in result.names if name != label]
    named = f", also named {', '.join(also)}" if also else ""
    click.echo(printable(f"forgot {label}{named}: {result.images} images stood behind it"))
    click.echo(f"live now     {result.version}")
    click.echo(f"taken out of {', '.join(result.rewritten) or 'no older version'}")
    if result.removed:
        click.echo(f"removed      {', '.join(result.removed)}, damaged and so not to be cleared")
    for remains in result.remains:
        say(f"still there: {remains}")

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from prd_edge.cli.completion import class_names
from prd_edge.cli.options import (
    PathType,
    json_option,
    once_done,
    print_json,
    printable,
    store_option,
    telling_what_goes,
)

if TYPE_CHECKING:
    from prd_edge.feedback import Feedback


@click.command()
@click.argument("image", type=PathType())
@click.option(
    "--is",
    "label",
    metavar="CLASS",
    help="The picture shows this class.",
    shell_complete=class_names,
)
@click.option(
    "--not",
    "not_label",
    metavar="CLASS",
    help="The picture does not show this class.",
    shell_complete=class_names,
)
@store_option
@json_option
def feedback(
    image: Path, label: str | None, not_label: str | None, store: Path, as_json: bool
) -> None:
    """Say of one picture what it is, or what it is not.

    Nothing is trained and nothing of the picture is kept: a class's leaning and radius, one number
    each, change by a bounded step. Several pictures of one mistake are for learn-session.
    """
    from prd_edge.runtime import Runtime

    if (label is None) == (not_label is None):
        raise click.UsageError("give either --is CLASS or --not CLASS")
    with telling_what_goes(store):
        result = Runtime.open(store).feedback(image, label=label, not_label=not_label)
    with once_done():
        _print_result(result, image, as_json)


def _print_result(result: Feedback, image: Path, as_json: bool) -> None:
    if as_json:
        print_json({"schema": 1, **result._asdict()})
        return
    before, after = result.before or "unknown", result.after or "unknown"
    changed = f"{before} before, {after} now" if before != after else f"still {after}"
    if result.version is None:
        changed = f"{after}, nothing had to change"
    click.echo(printable(f"{image}: {changed}"))
    if result.version is not None:
        click.echo(f"new version  {result.version}; 'prd-edge rollback' undoes it")
    if not result.is_settled:
        click.echo(
            "one picture moves an answer only a little; say it again, or teach more pictures "
            "with 'prd-edge learn-session'"
        )

from __future__ import annotations

from pathlib import Path

import click

from prd_edge.cli.completion import class_names
from prd_edge.cli.options import (
    json_option,
    once_done,
    print_json,
    print_table,
    say,
    store_option,
    telling_what_goes,
)


@click.group()
def classes() -> None:
    """List, rename or remove classes."""


@classes.command("list")
@store_option
@json_option
def list_(store: Path, as_json: bool) -> None:
    """List the known classes and the images behind each."""
    from prd_edge.store import Store

    known = Store(store).live().manifest.classes
    if as_json:
        print_json({"schema": 1, "classes": dict(known)})
    elif known:
        print_table(("class", "images"), list(known.items()))
    else:
        say("no classes yet; teach some with 'prd-edge learn-session FOLDER'")


@classes.command()
@click.argument("old", shell_complete=class_names)
@click.argument("new")
@store_option
def rename(old: str, new: str, store: Path) -> None:
    """Rename the class OLD to NEW."""
    from prd_edge.runtime import Runtime

    with telling_what_goes(store):
        version = Runtime.open(store).rename(old, new)
    with once_done():
        click.echo(f"renamed {old} to {new}, version {version}")


@classes.command()
@click.argument("label", shell_complete=class_names)
@store_option
def remove(label: str, store: Path) -> None:
    """Remove the class LABEL. Older kept versions still know it."""
    from prd_edge.runtime import Runtime

    with telling_what_goes(store):
        version = Runtime.open(store).remove(label)
    with once_done():
        click.echo(f"removed {label}, version {version}; 'prd-edge rollback' brings it back")

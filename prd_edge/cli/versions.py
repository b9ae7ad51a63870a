from __future__ import annotations

from pathlib import Path

import click

from prd_edge.cli.completion import version_names
from prd_edge.cli.options import json_option, once_done, print_json, say, store_option
from prd_edge.figures import counted


@click.command()
@click.argument("version", required=False, shell_complete=version_names)
@store_option
def rollback(version: str | None, store: Path) -> None:
    """Make an older VERSION live again [default: the one before the live one].

    Nothing is removed: rolling forward again is possible while the version is kept.
    """
    from prd_edge.runtime import Runtime

    manifest = Runtime.open(store).rollback(version)
    with once_done():
        known = counted(len(manifest.classes), "class", "classes")
        click.echo(f"version {manifest.version} is live: {known}")


@click.command()
@store_option
@json_option
@click.option(
    "--repair",
    is_flag=True,
    help="Restore damaged files whose contents can be had again; change nothing else.",
)
@click.option("--privacy", is_flag=True, help="List all that is kept, and what stands behind it.")
def verify(store: Path, as_json: bool, repair: bool, privacy: bool) -> int:
    """Check every byte of every kept version against its manifest.

    With --privacy the answer is an inventory: every tensor, its shape, what it is derived from and
    how many images stand behind it. Anything that is not known fails.
    """
    from prd_edge.store import Store

    if privacy:
        if repair:
            raise click.UsageError("give either --repair or --privacy")
        from prd_edge.cli.privacy import print_inventory

        return print_inventory(Store(store), as_json)

    opened = Store(store)
    if not opened.exists():
        opened.live()  # says that there is none
    if repair:
        from prd_edge.repair import repair as mend

        for path in mend(opened):
            say(f"mended {path}")
    problems = {name: found for name, found in opened.problems().items() if found}
    versions = opened.version_names()
    if as_json:
        print_json({"schema": 1, "versions": versions, "problems": problems})
    else:
        for found in problems.values():
            for line in found:
                say(f"prd-edge: {line}")
        good = len([name for name in versions if name not in problems])
        click.echo(f"{good} of {len(versions)} versions are intact")
    return 4 if problems else 0


@click.command()
@store_option
@click.option("--keep", type=click.IntRange(min=1), help="Versions to keep [default: the store's].")
def gc(store: Path, keep: int | None) -> None:
    """Remove old versions. The live one and the one before it always stay."""
    from prd_edge.commit import writing
    from prd_edge.store import Store

    opened = Store(store)
    live = opened.live()
    with writing(opened) as writer:
        removed = writer.gc(keep or live.manifest.config.keep_versions)
    with once_done():
        click.echo(f"removed {', '.join(removed)}" if removed else "nothing to remove")

from __future__ import annotations

from pathlib import Path

import click

from prd_edge.cli.options import (
    json_option,
    percent,
    print_json,
    print_table,
    say,
    store_option,
    utc,
)


@click.command()
@store_option
@json_option
def history(store: Path, as_json: bool) -> None:
    """Show the kept versions, oldest first; the live one is marked with *."""
    from prd_edge.store import Store

    opened = Store(store)
    live = opened.live().name
    manifests = [version.manifest for version in opened.readable_versions()]
    if as_json:
        print_json(
            {
                "schema": 1,
                "live": live,
                "versions": [
                    {
                        "version": m.version,
                        "parent": m.parent,
                        "created": m.created,
                        "action": m.action,
                        "classes": dict(m.classes),
                        "metrics": dict(m.metrics),
                        "bytes": m.size(),
                    }
                    for m in manifests
                ],
            }
        )
        return
    print_table(
        ("", "version", "parent", "created (UTC)", "action", "classes", "images", "hold-out"),
        [
            (
                "*" if m.version == live else "",
                m.version,
                m.parent or "–",
                utc(m.created),
                m.action,
                len(m.classes),
                sum(m.classes.values()),
                percent(m.metrics.get("holdout_accuracy")),
            )
            for m in manifests
        ],
    )


@click.command()
@click.argument("version", required=False)
@store_option
def rollback(version: str | None, store: Path) -> None:
    """Make an older VERSION live again [default: the one before the live one].

    Nothing is removed: rolling forward again is possible while the version is kept.
    """
    from prd_edge.runtime import Runtime

    manifest = Runtime.open(store).rollback(version)
    click.echo(f"version {manifest.version} is live: {len(manifest.classes)} classes")


@click.command()
@click.argument("a")
@click.argument("b")
@store_option
@json_option
def diff(a: str, b: str, store: Path, as_json: bool) -> None:
    """Show what changed from version A to version B."""
    from prd_edge.difference import difference
    from prd_edge.store import Store

    opened = Store(store)
    changes = difference(opened.version(a), opened.version(b))
    if as_json:
        print_json({"schema": 1, **changes})
        return
    if not any(changes[kind] for kind in ("added", "removed", "updated", "files")):
        click.echo("no difference")
    for label, images in changes["added"].items():
        click.echo(f"+ {label} ({images} images)")
    for label, images in changes["removed"].items():
        click.echo(f"- {label} ({images} images)")
    for label, change in changes["updated"].items():
        click.echo(f"~ {label} ({change['images']:+d} images, drift {change['drift']:.4f})")
    if changes["files"]:
        click.echo(f"files that differ: {', '.join(changes['files'])}")


@click.command()
@store_option
@json_option
@click.option("--repair", is_flag=True, help="Mend what can be had again; nothing else is touched.")
def verify(store: Path, as_json: bool, repair: bool) -> int:
    """Check every byte of every kept version against its manifest."""
    from prd_edge.store import Store

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
    click.echo(f"removed {', '.join(removed)}" if removed else "nothing to remove")

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prd_edge.cli.completion import version_names
from prd_edge.cli.options import (
    json_option,
    megabytes,
    percent,
    print_json,
    print_table,
    store_option,
    utc,
)
from prd_edge.figures import percent_change, seconds

if TYPE_CHECKING:
    from prd_edge.manifest import Manifest

_WIDEST_ACTION = 20
_MINUTES = len("2026-01-02 03:04")


@click.command()
@store_option
@json_option
def history(store: Path, as_json: bool) -> None:
    """Show the kept versions and what each session did, oldest first.

    The live version is marked with *. Of the classes, + were added and ~ updated; drift is how far
    the prototype of a known class has moved at most.
    """
    from prd_edge.store import Store

    opened = Store(store)
    live = opened.live().name
    manifests = [version.manifest for version in opened.readable_versions()]
    if as_json:
        versions = [_document(manifest) for manifest in manifests]
        print_json({"schema": 1, "live": live, "versions": versions})
        return
    print_table(
        ("", "version", "created (UTC)", "what", "classes", "images", "hold-out", "drift", "time",
         "size"),
        [
            ("*" if own.version == live else "", _name(own, above), *_row(own))
            for own, above in zip(manifests, [None, *manifests], strict=False)
        ],
    )  # fmt: skip


def _document(manifest: Manifest) -> dict[str, Any]:
    from prd_edge.session_record import SessionRecord

    session = SessionRecord.of(manifest)
    return {
        "version": manifest.version,
        "parent": manifest.parent,
        "created": manifest.created,
        "action": manifest.action,
        "classes": dict(manifest.classes),
        "metrics": dict(manifest.metrics),
        "bytes": manifest.size(),
        "learned_by": session.learned_by if session else None,
        "largest_drift": session.largest_drift if session else None,
    }


def _name(manifest: Manifest, above: Manifest | None) -> str:
    """After a rollback, a version does not come from the one above it."""
    if above is None or manifest.parent == above.version:
        return manifest.version
    return f"{manifest.version} ← {manifest.parent or '–'}"


def _row(manifest: Manifest) -> Sequence[object]:
    from prd_edge.session_record import SessionRecord, what_made

    session = SessionRecord.of(manifest)
    size = megabytes(manifest.size())
    made = (utc(manifest.created)[:_MINUTES], _shortened(what_made(manifest)))
    if session is None:
        return (*made, "–", "–", "–", "–", "–", size)
    return (
        *made,
        f"+{session.added} ~{session.updated}",
        session.images,
        percent_change(session.holdout_accuracy_before, session.holdout_accuracy),
        "–" if session.largest_drift is None else f"{session.largest_drift:.4f}",
        seconds(session.seconds),
        size,
    )


def _shortened(action: str) -> str:
    return action if len(action) <= _WIDEST_ACTION else action[: _WIDEST_ACTION - 1] + "…"


@click.command()
@click.argument("a", shell_complete=version_names)
@click.argument("b", shell_complete=version_names)
@store_option
@json_option
def diff(a: str, b: str, store: Path, as_json: bool) -> None:
    """Show what changed from version A to version B.

    Classes: + added, - removed, ~ updated, = as before but with another nearest class.
    """
    from prd_edge.difference import difference
    from prd_edge.store import Store

    opened = Store(store)
    before, after = opened.version(a), opened.version(b)
    changes = difference(before, after)
    if as_json:
        print_json({"schema": 1, **changes})
        return
    if not any(changes[kind] for kind in ("added", "removed", "updated", "files")):
        click.echo("no difference")
        return
    _print_figures(changes)
    if after.manifest.parent == before.name:
        click.echo(f"{after.name} was made from {before.name}: {_made(after.manifest)}")
    click.echo()
    _print_classes(changes)
    if changes["files"]:
        click.echo(f"files that differ: {', '.join(changes['files'])}")


def _print_figures(changes: dict[str, Any]) -> None:
    sides = changes["before"], changes["after"]
    print_table(
        ("", changes["from"], changes["to"]),
        [
            ("classes", *(side["classes"] for side in sides)),
            ("images", *(side["images"] for side in sides)),
            ("hold-out", *(percent(side["holdout_accuracy"]) for side in sides)),
            ("size", *(megabytes(side["bytes"]) for side in sides)),
        ],
    )


def _made(manifest: Manifest) -> str:
    from prd_edge.session_record import SessionRecord

    session = SessionRecord.of(manifest)
    if session is None:
        return manifest.action
    change = percent_change(session.holdout_accuracy_before, session.holdout_accuracy)
    return (
        f"{session.learned_by}, {session.images} images in {seconds(session.seconds)}, "
        f"hold-out {change}"
    )


def _print_classes(changes: dict[str, Any]) -> None:
    def nearest(label: str) -> str:
        own = changes["neighbours"][label]
        return f"nearest {own['before'] or 'none'} → {own['after'] or 'none'}"

    for label, images in changes["added"].items():
        click.echo(f"+ {label} ({images} images)")
    for label, images in changes["removed"].items():
        click.echo(f"- {label} ({images} images)")
    for label, change in changes["updated"].items():
        also = f", {nearest(label)}" if label in changes["neighbours"] else ""
        click.echo(f"~ {label} ({change['images']:+d} images, drift {change['drift']:.4f}{also})")
    for label in changes["neighbours"]:
        if label not in changes["updated"]:
            click.echo(f"= {label} ({nearest(label)})")

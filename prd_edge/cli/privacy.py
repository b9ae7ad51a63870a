"""How `verify --privacy` shows the inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prd_edge.cli.options import print_json, print_table, say

if TYPE_CHECKING:
    from prd_edge.inventory import Kept
    from prd_edge.store import Store


def print_inventory(store: Store, as_json: bool) -> int:
    from prd_edge.inventory import take_inventory

    live = store.live()
    found = take_inventory(store)
    if as_json:
        document = {
            "schema": 1,
            "live": live.name,
            "kept": [own._asdict() for own in found.kept],
            "few_images": found.few,
            "unknown": found.unknown,
        }
        print_json(document)
        if found.unknown:
            say(f"prd-edge: {len(found.unknown)} things are not known to the inventory")
        return 4 if found.unknown else 0
    of_live = [own for own in found.kept if own.version in (None, live.name)]
    print_table(
        ("file", "holds", "shape", "derived from", "images behind it"),
        [(own.file, own.tensor, _shape(own), own.derived_from, _images(own)) for own in of_live],
    )
    others = [name for name in store.version_names() if name != live.name]
    if others:
        click.echo(f"\nkept as well, with the same kinds of things: {', '.join(others)}")
    for line in found.few:
        say(f"few images stand behind {line}; it says much about each of them")
    for line in found.unknown:
        say(f"prd-edge: not known to the inventory: {line}")
    if found.unknown:
        click.echo(f"\n{len(found.unknown)} things are not known")
    else:
        single = " but where few images are named above" if found.few else ""
        click.echo(
            f"\neverything is known: no picture, and no embedding of a single one{single}\n"
            "what the rest tells of the pictures is measured in docs/privacy.md"
        )
    return 4 if found.unknown else 0


def _shape(own: Kept) -> str:
    return " × ".join(f"{size:,}" for size in own.shape) or "–"


def _images(own: Kept) -> str:
    if not own.images:
        return "–"
    low, high = min(own.images), max(own.images)
    if len(own.images) == 1 or not own.shape:
        return str(low)
    return f"{low} each" if low == high else f"{low} to {high} each"

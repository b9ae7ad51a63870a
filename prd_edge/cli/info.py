from __future__ import annotations

from pathlib import Path

import click

from prd_edge.cli.options import (
    evaluation_option,
    json_option,
    megabytes,
    print_json,
    print_pairs,
    store_option,
    utc,
)


@click.command()
@store_option
@json_option
@click.option("--card", is_flag=True, help="Print the model card, in Markdown.")
@evaluation_option
def info(store: Path, as_json: bool, card: bool, evaluation: Path | None) -> None:
    """Show what the store knows, what it is made of, and how large it is."""
    from prd_edge.store import Store

    if card and as_json:
        raise click.UsageError("give either --card or --json")
    if evaluation and not card:
        raise click.UsageError("--evaluation is for the model card; give --card too")
    opened = Store(store)
    live = opened.live()
    if card:
        from prd_edge.model_card import model_card

        click.echo(model_card(live, evaluation), nl=False)
        return
    manifest = live.manifest
    on_disk = opened.bytes_on_disk()
    document = {
        "schema": 1,
        "store": str(store),
        "version": live.name,
        "versions": len(opened.version_names()),
        "created": manifest.created,
        "encoder": manifest.encoder.name,
        "image_size": manifest.encoder.image_size,
        "dimensions": manifest.encoder.dimensions,
        "licence": manifest.encoder.licence,
        "classes": len(manifest.classes),
        "images_behind_them": sum(manifest.classes.values()),
        "bytes_of_this_version": manifest.size(),
        "bytes_on_disk": on_disk,
    }
    if as_json:
        print_json(document)
        return
    lines = [
        ("store", f"{store}, version {live.name}, {document['versions']} kept"),
        ("changed", f"{utc(manifest.created)} UTC"),
        (
            "encoder",
            f"{manifest.encoder.name} at {manifest.encoder.image_size} px, "
            f"{manifest.encoder.dimensions} features, weights {manifest.encoder.licence}",
        ),
        ("classes", f"{len(manifest.classes)}, from {document['images_behind_them']} images"),
        ("on disk", megabytes(on_disk)),
        (
            "kept of images",
            "none itself; of each class a sum, a count, a radius, a leaning, and a share in one "
            "covariance",
        ),
    ]
    print_pairs(lines)

from __future__ import annotations

from pathlib import Path

import click

from prd_edge.cli.options import (
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
def info(store: Path, as_json: bool) -> None:
    """Show what the store knows, what it is made of, and how large it is."""
    from prd_edge.store import Store

    opened = Store(store)
    live = opened.live()
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
            "kept of an image",
            "nothing; of each class a sum, a count, two limits and a share in one covariance",
        ),
    ]
    print_pairs(lines)

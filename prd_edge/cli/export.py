from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from prd_edge.cli.options import (
    PathType,
    json_option,
    percent,
    print_json,
    print_pairs,
    store_option,
)


@click.command()
@store_option
@click.option("--format", "format_name", default="onnx", show_default=True, help="See below.")
@click.option("-o", "--output", type=PathType(), help="The file to write.")
@click.option("--version", help="A kept version [default: the live one].")
@click.option(
    "--calibrate", type=PathType(), help="A folder of pictures that the format is fitted on."
)
@click.option("--images", type=PathType(), help="A folder of pictures to check the file with.")
@click.option("--check", type=PathType(), help="Check a file that was exported; write nothing.")
@json_option
def export(
    store: Path,
    format_name: str,
    output: Path | None,
    version: str | None,
    calibrate: Path | None,
    images: Path | None,
    check: Path | None,
    as_json: bool,
) -> None:
    """Write the model as one file that gives the same answers as this store.

    Format onnx is one self-contained file for any onnxruntime, preprocessing included; onnx-int8
    the same in eight bits, fitted on the pictures of --calibrate. Every file is asked about
    pictures beside the store, and written only if both agree.
    """
    from prd_edge.export import exporter_named
    from prd_edge.store import Store

    if (output is None) == (check is None):
        raise click.UsageError("give either --output, to write a file, or --check")
    exporter = exporter_named(format_name)
    opened = Store(store)
    chosen = opened.version(version) if version else opened.live()
    target = check or output
    assert target is not None
    if check:
        found = exporter.check(chosen, check, images=images)
    else:
        found = exporter.export(chosen, target, calibrate=calibrate, images=images)
    size = target.stat().st_size
    if as_json:
        print_json({"schema": 1, "file": str(target), "bytes": size, **asdict(found)})
        return
    print_pairs(
        [
            ("file", f"{target}, {size / 1e6:.1f} MB"),
            ("version", found.version),
            ("checked on", f"{found.images} pictures"),
            ("same answer", percent(found.top1_agreement)),
            ("same on unknown", percent(found.unknown_agreement)),
            ("largest difference", f"{found.largest_difference:.1e} of a confidence"),
        ]
    )

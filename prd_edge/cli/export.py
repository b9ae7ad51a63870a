from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from prd_edge.cli.completion import export_formats, version_names
from prd_edge.cli.options import (
    PathType,
    evaluation_option,
    json_option,
    megabytes,
    once_done,
    percent,
    print_json,
    print_pairs,
    say,
    store_option,
)

if TYPE_CHECKING:
    from prd_edge.store import Store, Version


@click.command()
@store_option
@click.option(
    "--format",
    "format_name",
    help="onnx, onnx-int8, web, or that of another package [default: onnx].",
    shell_complete=export_formats,
)
@click.option("-o", "--output", type=PathType(), help="The file or folder to write.")
@click.option(
    "--version", help="A kept version [default: the live one].", shell_complete=version_names
)
@click.option(
    "--calibrate", type=PathType(), help="A folder of pictures that the format is fitted on."
)
@click.option("--images", type=PathType(), help="A folder of pictures to check the file with.")
@evaluation_option
@click.option("--check", type=PathType(), help="Check a file that was exported; write nothing.")
@json_option
def export(
    store: Path,
    format_name: str | None,
    output: Path | None,
    version: str | None,
    calibrate: Path | None,
    images: Path | None,
    evaluation: Path | None,
    check: Path | None,
    as_json: bool,
) -> None:
    """Write the model as one file that gives the same answers as this store.

    Format onnx is one self-contained file for any onnxruntime, preprocessing included; onnx-int8
    the same in eight bits, fitted on the pictures of --calibrate; web a folder with a page that
    answers in a browser. Before it is written, its answers to some pictures are compared with
    those of the store; a certificate and a model card come with it. --check compares once more,
    with the version that it came from.
    """
    from prd_edge.export import certificate_of, exporter_named
    from prd_edge.store import Store

    if (output is None) == (check is None):
        raise click.UsageError("give either --output, to write a file, or --check")
    opened = Store(store)
    if check is None:
        assert output is not None
        chosen = opened.live() if version is None else opened.version(version)
        exporter = exporter_named("onnx" if format_name is None else format_name)
        found = exporter.export(
            chosen, output, calibrate=calibrate, images=images, evaluation=evaluation
        )
    else:
        if calibrate is not None:
            raise click.UsageError("--calibrate fits a new file; with --check give --images")
        if evaluation is not None:
            raise click.UsageError("--evaluation goes into a new card; --check writes none")
        said = certificate_of(check)
        if format_name is None:
            format_name = said.format if said else "onnx"
        chosen = _version_of(opened, version, said.version if said else None, check)
        found = exporter_named(format_name).check(chosen, check, images=images)
    target = check or output
    assert target is not None
    with once_done():
        _print_certificate(found, target, as_json=as_json, is_new=check is None)


def _print_certificate(found: Any, target: Path, *, as_json: bool, is_new: bool) -> None:
    size = size_of(target)
    if as_json:
        print_json({"schema": 1, "file": str(target), "bytes": size, **found.as_dict()})
        return
    lines = [
        ("file", f"{target}, {megabytes(size)}"),
        ("version", found.version),
        ("checked on", f"{found.images} pictures"),
        ("same answer", percent(found.top1_agreement)),
        ("same on unknown", percent(found.unknown_agreement)),
        ("largest difference", f"{found.largest_difference:.1e} of a confidence"),
    ]
    if found.size_ratio is not None:
        lines += [
            ("size", f"{found.size_ratio:.2f} of single precision"),
            ("speed", f"{found.speed_ratio:.2f} times single precision, on one thread here"),
        ]
    print_pairs(lines)
    if target.is_dir() and is_new:
        say(f"look at it: python -m http.server --directory {quote(str(target))}")


def _version_of(store: Store, named: str | None, certified: str | None, check: Path) -> Version:
    """The version that is named, or that the file came from."""
    if named is not None or certified is None:
        return store.live() if named is None else store.version(named)
    if certified not in store.version_names():
        raise click.UsageError(
            f"{check} was exported from version {certified}, which {store.path} no longer keeps; "
            "name another with --version to compare with"
        )
    return store.version(certified)


def size_of(target: Path) -> int:
    if target.is_dir():
        return sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    return target.stat().st_size

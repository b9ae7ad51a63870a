from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from prd_edge.cli.options import (
    json_option,
    print_json,
    printable,
    say,
    store_option,
    threads_option,
)

if TYPE_CHECKING:
    from prd_edge.device import Device
    from prd_edge.device_speed import DeviceSpeed, Workload


@click.command()
@store_option
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How often each is timed; the median counts.",
)
@threads_option
@json_option
@click.pass_context
def benchmark(
    context: click.Context, store: Path, repeats: int, threads: int | None, as_json: bool
) -> None:
    """Measure how fast this device is, and print a table that can be pasted into an issue.

    Predicting is timed on the store, which is only read. Where there is none yet, and for learning,
    a temporary one is made. Pictures are drawn; nothing is downloaded and nothing is left behind.
    Takes a minute or two; other work at the same time spoils the figures.
    """
    from prd_edge.device import this_device
    from prd_edge.device_speed import USUAL, measure

    is_asked_for = context.get_parameter_source("store") is ParameterSource.COMMANDLINE
    given = store if is_asked_for or _knows_classes(store) else None
    device = this_device()  # before our own work is part of its load
    speed = measure(given, repeats=repeats, threads=threads, workload=USUAL, on_stage=say)
    if as_json:
        print_json(
            {
                "schema": 1,
                "device": asdict(device),
                "threads": threads or device.cores,
                "repeats": repeats,
                "workload": asdict(USUAL),
                "temporary_store": given is None,
                "speed": asdict(speed),
            }
        )
        return
    header = (f"prd-edge {device.prd_edge}", "")
    named = _device_rows(device, threads or device.cores)
    _print_markdown([header, *named, *_speed_rows(speed, USUAL, is_own=given is None)])


def _knows_classes(store: Path) -> bool:
    from prd_edge.store import Store

    opened = Store(store)
    return opened.exists() and bool(opened.live().manifest.classes)


def _device_rows(device: Device, threads: int) -> list[tuple[str, str]]:
    told = {True: "yes", False: "no", None: "not known"}
    return [
        ("processor", f"{device.processor}, {device.machine}"),
        ("8-bit dot product", told[device.has_8bit_dot_product]),
        ("cores", f"{device.cores}, {threads} used; load {device.load:.1f} at the start"),
        ("memory", f"{device.memory_mb / 1024:.1f} GB"),
        ("system", device.system),
        ("software", f"Python {device.python}, onnxruntime {device.onnxruntime}"),
    ]


def _speed_rows(speed: DeviceSpeed, workload: Workload, *, is_own: bool) -> list[tuple[str, str]]:
    model = speed.model
    trained = ", trained" if model.is_trained else ""
    whose = ", temporary store" if is_own else ""
    predicts = f"{model.encoder} at {model.image_size} px{trained}, {model.classes} classes{whose}"
    one = f"{speed.image_ms:.1f} ms; 95 % within {speed.image_ms_95th:.1f} ms"
    session = f"imprint {workload.classes} × {workload.images_per_class} images"
    return [
        ("model", predicts),
        ("cold start, one image", f"{speed.cold_start_seconds:.2f} s"),
        ("one image", one),
        ("many images", f"{speed.images_per_second:.1f} images/s"),
        (session, f"{speed.learn_session_seconds:.2f} s, temporary store"),
        ("memory to predict", f"{speed.predict_memory_mb:.0f} MB at most"),
    ]


def _print_markdown(rows: Sequence[tuple[str, str]]) -> None:
    """A table for an issue, padded so that it is one on a terminal too."""
    cells = [[printable(cell).replace("|", "\\|") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = ["-" * width for width in widths]
    for row in (cells[0], rule, *cells[1:]):
        padded = " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo(f"| {padded} |")

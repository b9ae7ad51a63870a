from __future__ import annotations

from pathlib import Path

import click

from prd_edge.cli.options import (
    PathType,
    json_option,
    percent,
    print_json,
    print_table,
    say,
    store_option,
    threads_option,
)

_CONFUSIONS_SHOWN = 5


@click.command()
@click.argument("data", type=PathType())
@store_option
@click.option("--version", help="A kept version [default: the live one].")
@click.option("--always-answer", is_flag=True, help="Name a class even if a picture is like none.")
@threads_option
@json_option
def evaluate(
    data: Path,
    store: Path,
    version: str | None,
    always_answer: bool,
    threads: int | None,
    as_json: bool,
) -> None:
    """Measure accuracy on DATA, a folder with one sub-folder a class."""
    from prd_edge.evaluate import evaluate as measure
    from prd_edge.model import load_predictor
    from prd_edge.store import Store

    opened = Store(store)
    chosen = opened.version(version) if version else opened.live()
    result = measure(load_predictor(chosen, threads), data, always_answer=always_answer)
    if as_json:
        print_json(result.as_dict())
        return
    for skipped in result.skipped:
        say(f"skipped {skipped.name}: {skipped.reason}")
    recall = result.recall()
    known = chosen.manifest.classes
    print_table(
        ("class", "images", "right"),
        [
            (label if label in known else f"{label} (not taught)", n, percent(recall[label]))
            for label, n in result.support().items()
        ],
    )
    click.echo(f"\naccuracy           {percent(result.accuracy)} of {result.images} images")
    click.echo(f"balanced accuracy  {percent(result.balanced_accuracy)}")
    if result.unknown:
        click.echo(f"called unknown     {result.unknown} images")
    mistakes = result.confusions()[:_CONFUSIONS_SHOWN]
    if mistakes:
        listed = ", ".join(f"{t} taken for {a or 'unknown'} ({n})" for t, a, n in mistakes)
        click.echo(f"most frequent      {listed}")

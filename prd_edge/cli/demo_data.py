from __future__ import annotations

from pathlib import Path

import click

from prd_edge.cli.options import PathType, once_done


@click.command()
@click.argument("folder", type=PathType())
@click.option("--seed", type=click.IntRange(0, 2**32), default=0, show_default=True)
@click.option(
    "--train",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Images a class and session.",
)
@click.option(
    "--test",
    type=click.IntRange(1),
    default=15,
    show_default=True,
    help="Held-out images a class.",
)
def demo_data(folder: Path, seed: int, train: int, test: int) -> None:
    """Write a small image set into FOLDER: two sessions to learn and a test part."""
    from prd_edge.demo_data import write_demo_data

    written = write_demo_data(folder, seed=seed, train_per_class=train, test_per_class=test)
    with once_done():
        click.echo(f"wrote {written.images} images")
        for path in (written.session_1, written.session_2, written.test):
            click.echo(f"  {path}  {', '.join(sorted(child.name for child in path.iterdir()))}")

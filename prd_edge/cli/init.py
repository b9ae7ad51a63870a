from __future__ import annotations

from pathlib import Path

import click

from prd_edge.cli.options import PathType, once_done, store_option
from prd_edge.encoders import DEFAULT_ENCODER, ENCODERS


@click.command()
@store_option
@click.option(
    "--encoder",
    default=DEFAULT_ENCODER,
    show_default=True,
    help=f"One of {', '.join(ENCODERS)}; all but the default need torch.",
)
@click.option("--image-size", type=int, help="Pixels a side [default: the encoder's own].")
@click.option(
    "--weights",
    type=PathType(),
    help="A local .safetensors or .pth file with the encoder's weights.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32),
    default=0,
    show_default=True,
    help="For encoders that start untrained.",
)
@click.option(
    "--keep-versions",
    default=5,
    show_default=True,
    help="Versions that learning leaves in the store.",
)
def init(
    store: Path,
    encoder: str,
    image_size: int | None,
    weights: Path | None,
    seed: int,
    keep_versions: int,
) -> None:
    """Make a store with an encoder and no classes yet.

    `learn-session` does this by itself on first use; call it to choose another encoder.
    """
    from prd_edge.config import StoreConfig
    from prd_edge.encoders import image_size_for
    from prd_edge.runtime import Runtime

    size = image_size if image_size is not None else image_size_for(encoder)
    config = StoreConfig(encoder, size, keep_versions)
    manifest = Runtime.open(store, config=config).init(weights_file=weights, seed=seed)
    spec = manifest.encoder
    with once_done():
        click.echo(
            f"made {store}: encoder {spec.name} at {spec.image_size} px, "
            f"{spec.dimensions} features, version {manifest.version}"
        )

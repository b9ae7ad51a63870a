"""One version after another: what every change of a store commits, and what it cleans up."""

from __future__ import annotations

from collections.abc import Mapping

from prd_edge.commit import StoreWriter
from prd_edge.encoders import EncoderSpec
from prd_edge.errors import StoreError
from prd_edge.model import UNCHANGED_ENCODER, Knowledge
from prd_edge.store import Version


def commit_next(
    writer: StoreWriter,
    parent: Version,
    knowledge: Knowledge,
    action: str,
    *,
    encoder: Mapping[str, bytes | None] = UNCHANGED_ENCODER,
    spec: EncoderSpec | None = None,
    metrics: dict[str, object] | None = None,
) -> Version:
    return writer.commit(
        {**encoder, **knowledge.contents()},
        parent=parent,
        action=action,
        config=parent.manifest.config,
        encoder=spec or parent.manifest.encoder,
        classes=knowledge.classes(),
        metrics=metrics or {},
    )


def tidy(writer: StoreWriter, version: Version) -> tuple[str, ...]:
    """Remove old versions. If that fails the session is learned all the same: next time, then."""
    try:
        return tuple(writer.gc(version.manifest.config.keep_versions))
    except StoreError:
        return ()

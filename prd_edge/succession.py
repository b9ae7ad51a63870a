"""One version after another: what every change of a store commits, and what it cleans up."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping

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
    renamed: tuple[str, str] | None = None,
) -> Version:
    """`renamed`: the old name of a class and its new one."""
    classes = knowledge.classes()
    metrics = dict(metrics or {})
    if renamed:  # whoever asks to forget the class later means the old name too
        metrics["renamed"] = list(renamed)
    return writer.commit(
        {**encoder, **knowledge.contents()},
        parent=parent,
        action=action,
        config=parent.manifest.config,
        encoder=spec or parent.manifest.encoder,
        classes=classes,
        identities=_identities(parent, classes, renamed),
        metrics=metrics,
    )


def _identities(
    parent: Version, classes: Iterable[str], renamed: tuple[str, str] | None
) -> dict[str, str]:
    """A class keeps its own. A new one gets random digits, which tell nothing of its pictures."""
    known = dict(parent.manifest.identities)
    if renamed:
        old, new = renamed
        known[new] = known.pop(old)
    return {label: known.get(label) or secrets.token_hex(8) for label in classes}


def tidy(writer: StoreWriter, version: Version) -> tuple[str, ...]:
    """Remove old versions. If that fails the session is learned all the same: next time, then."""
    try:
        return tuple(writer.gc(version.manifest.config.keep_versions))
    except StoreError:
        return ()

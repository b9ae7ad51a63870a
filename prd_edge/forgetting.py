"""Forgetting a class: out of the live version, and out of every kept one that it can be taken of.

A class is followed through its renames, since whoever asks to forget a mug means the cup that it
was called before. The live version gets a successor without the class; then each older version
that knows or names it is rewritten in place, or removed if it is damaged and so cannot be. Cut
short, some old versions still know the class: asked again, `forget` goes on with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from prd_edge.checkpoint import CheckpointFile
from prd_edge.commit import StoreWriter, records_of, writing
from prd_edge.errors import InvalidInputError, StoreCorruptError
from prd_edge.manifest import Manifest
from prd_edge.model import Knowledge, is_trained, load_knowledge
from prd_edge.store import Store, Version
from prd_edge.succession import commit_next

_SHARE = "its share in the common covariance, which cannot be told from that of the other classes"
_WEIGHTS = "what the encoder's trained weights may have taken from its pictures"
_COPIES = "exported files, reports and backups made before"

Names = Mapping[str, set[str]]  # by version, what the class is called in it


class Forgotten(NamedTuple):
    version: str  # that is live now
    names: tuple[str, ...]  # that the class has had
    images: int  # that stood behind it, at most
    rewritten: tuple[str, ...]  # older versions it was taken out of
    removed: tuple[str, ...]  # damaged ones that knew it, or may have
    remains: tuple[str, ...]  # what could not be taken out


def forget_class(store: Store, label: str) -> Forgotten:
    store.live()  # says so if there is no store, before one is half made
    with writing(store) as writer:
        versions = list(store.readable_versions())
        own = names_of(label, [version.manifest for version in versions])
        names = set().union(*own.values())
        if not names:
            raise InvalidInputError(
                f"no kept version knows a class named {label!r}; 'prd-edge classes list' shows "
                "what is known now"
            )
        live = store.live()
        images = max(v.manifest.classes[name] for v in versions for name in own[v.name])
        was_trained = any(is_trained(version.manifest) for version in versions)
        if _cleared_manifest(live.manifest, own[live.name], names) != live.manifest:
            known = _without(load_knowledge(live), own[live.name])
            live = commit_next(writer, live, known, "forget a class")
        with suppress(OSError):  # weights of a session that was cut off
            CheckpointFile(store.checkpoint).remove()
        rewritten, removed = [], []
        readable = {version.name: version for version in versions}
        for name in store.version_names():
            if name == live.name:
                continue
            try:
                version = readable.get(name) or store.version(name)
                if _rewrite(writer, version, own[name], names):
                    rewritten.append(name)
            except StoreCorruptError:  # of no use, and what it may know cannot be taken out
                writer.remove(name)
                removed.append(name)
    return Forgotten(
        version=live.name,
        names=tuple(sorted(names)),
        images=images,
        rewritten=tuple(rewritten),
        removed=tuple(removed),
        remains=(_SHARE, *((_WEIGHTS,) if was_trained else ()), _COPIES),
    )


def names_of(label: str, manifests: list[Manifest]) -> Names:
    """What the class of this name is called in each version, where it is known there."""
    names: dict[str, set[str]] = {own.version: {label} & set(own.classes) for own in manifests}
    kept = {own.version: own for own in manifests}
    edges = [(kept[own.parent], own) for own in manifests if own.parent in kept]
    grew = True
    while grew:
        before = sum(map(len, names.values()))
        for parent, child in edges:
            for old in parent.classes:
                new = _renamed(child).get(old, old)
                if new in child.classes and (old in names[parent.version]) != (
                    new in names[child.version]
                ):
                    names[parent.version].add(old)
                    names[child.version].add(new)
        grew = sum(map(len, names.values())) > before
    return names


def _renamed(manifest: Manifest) -> dict[str, str]:
    match manifest.metrics.get("renamed"):
        case [str(old), str(new)]:
            return {old: new}
    return {}


def _without(known: Knowledge, labels: set[str]) -> Knowledge:
    bank = known.bank
    for label in labels:
        bank = bank.remove(label)
    return known.with_bank(bank)


def _rewrite(writer: StoreWriter, version: Version, own: set[str], names: set[str]) -> bool:
    """Take the class out of an older version; False where there was nothing to take out."""
    cleared = _cleared_manifest(version.manifest, own, names)
    if cleared == version.manifest:
        return False
    contents: dict[str, bytes | None] = dict.fromkeys(cleared.files)
    if own:
        contents.update(_without(load_knowledge(version), own).contents())
    records = records_of(contents, version)
    writer.rewrite(version, replace(cleared, files=records), contents)
    return True


def _cleared_manifest(manifest: Manifest, own: set[str], names: set[str]) -> Manifest:
    """Without the class and its names; another class that bears one of them keeps it."""
    others = set(manifest.classes) - own
    return replace(
        manifest,
        action=_cleared_action(manifest.action, names - others),
        classes={label: n for label, n in manifest.classes.items() if label in others},
        metrics=_cleared(manifest.metrics, names - others),
    )


def _cleared(value: Any, names: set[str]) -> Any:
    """Without the entries of these classes, nor any mention of them."""
    if isinstance(value, Mapping):
        return {key: _cleared(own, names) for key, own in value.items() if key not in names}
    if isinstance(value, list):
        return [_cleared(own, names) for own in value]
    return None if isinstance(value, str) and value in names else value


def _cleared_action(action: str, names: set[str]) -> str:
    """`rename 'cup' to 'mug'` becomes `rename`."""
    is_named = any(repr(name) in action for name in names)
    return action.split(maxsplit=1)[0].rstrip(":") if is_named else action

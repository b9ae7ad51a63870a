"""Forgetting a class: out of the live version, and out of every kept one that it can be taken of.

A class is followed through its renames, since whoever asks to forget a mug means the cup that it
was called before. The live version gets a successor without the class; then each older version
that knows or names it is rewritten in place, or removed if it is damaged and so cannot be. Cut
short, some old versions still know the class: asked again, `forget` goes on with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from prd_edge.checkpoint import CheckpointFile
from prd_edge.commit import StoreWriter, records_of, writing
from prd_edge.errors import InvalidInputError, StoreCorruptError
from prd_edge.manifest import Manifest
from prd_edge.model import Knowledge, is_trained, load_knowledge
from prd_edge.store import Store, Version
from prd_edge.succession import commit_next

_SHARE = (
    "its share in the common covariance; while a version from before it was learned is kept, the "
    "difference between the two is that share"
)
_UNTRACED = "versions {}, if it had another name there: what they came from is not kept"
_CHECKPOINT = "weights of a session that was cut off, which could not be removed"
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
        manifests = [version.manifest for version in versions]
        live = store.live()
        own = names_of(label, manifests, live.manifest)
        names = set().union(*own.values())
        names |= {
            old for m in manifests for old, new in _renamed(m).items() if new in own[m.version]
        }
        images = max(m.classes[name] for m in manifests for name in own[m.version])
        remains = [_SHARE, *_remains(manifests, own)]
        try:
            CheckpointFile(store.checkpoint).remove()
        except OSError:
            remains.append(_CHECKPOINT)
        if _cleared_manifest(live.manifest, own[live.name], names) != live.manifest:
            known = _without(load_knowledge(live), own[live.name])
            live = commit_next(writer, live, known, "forget a class")
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
        remains=(*remains, _COPIES),
    )


def _remains(manifests: list[Manifest], own: Names) -> Iterator[str]:
    if any(is_trained(manifest) for manifest in manifests):
        yield _WEIGHTS
    traced = {version for version, names in own.items() if names}
    edges = _edges(manifests)
    for _ in manifests:  # as far as the line of versions goes, at most
        traced |= {
            v for a, b in edges for v in (a.version, b.version) if traced & {a.version, b.version}
        }
    untraced = [own.version for own in manifests if own.version not in traced and own.classes]
    if untraced:
        yield _UNTRACED.format(", ".join(untraced))


def names_of(label: str, manifests: list[Manifest], live: Manifest) -> Names:
    """What the class of this name is called in each version, where it is known there. Another class
    that is known now, and bore the name before, is not meant."""
    others = _followed({live.version: set(live.classes) - {label}}, manifests)
    alike = {own.version: {label} & set(own.classes) for own in manifests}
    names = _followed({v: own - others[v] for v, own in alike.items()}, manifests)
    if any(names.values()):
        return names
    for other in live.classes:
        if any(label in own for own in _followed({live.version: {other}}, manifests).values()):
            raise InvalidInputError(f"{label!r} is called {other!r} now; forget that")
    raise InvalidInputError(
        f"no kept version knows a class named {label!r}; 'prd-edge classes list' shows what is "
        "known now"
    )


def _followed(seeds: Names, manifests: list[Manifest]) -> Names:
    """These classes, from version to version."""
    names = {own.version: set(seeds.get(own.version, ())) for own in manifests}
    grew = True
    while grew:
        before = sum(map(len, names.values()))
        for parent, child in _edges(manifests):
            for old in parent.classes:
                new = _renamed(child).get(old, old)
                is_either = old in names[parent.version] or new in names[child.version]
                if new in child.classes and is_either:
                    names[parent.version].add(old)
                    names[child.version].add(new)
        grew = sum(map(len, names.values())) > before
    return names


def _edges(manifests: list[Manifest]) -> list[tuple[Manifest, Manifest]]:
    """Kept versions, each with the one that it came from."""
    kept = {own.version: own for own in manifests}
    return [(kept[own.parent], own) for own in manifests if own.parent in kept]


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


def _cleared(metrics: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """Without these classes where labels stand; a class may be called like a figure."""

    def without(value: Any) -> Any:
        return None if isinstance(value, str) and value in names else value

    cleared = dict(metrics)
    for key in ("added", "updated", "drift"):
        if isinstance(cleared.get(key), Mapping):
            cleared[key] = {own: v for own, v in cleared[key].items() if own not in names}
    for label, moved in cleared.get("drift", {}).items():
        if isinstance(moved, Mapping):
            cleared["drift"][label] = {key: without(value) for key, value in moved.items()}
    if isinstance(cleared.get("renamed"), list):
        cleared["renamed"] = [without(name) for name in cleared["renamed"]]
    return cleared


def _cleared_action(action: str, names: set[str]) -> str:
    """`rename 'cup' to 'mug'` becomes `rename`."""
    is_named = any(repr(name) in action for name in names)
    return action.split(maxsplit=1)[0].rstrip(":") if is_named else action

"""Forgetting a class: out of the live version, and out of every kept one that it can be taken of.

A class is known by its identity, which it keeps under every name. Whoever asks to forget a mug
means every class that a kept version calls so, under all names that it has had, but for one that
is called otherwise now. The live version gets a successor without them; then each older version
that knows or names them is rewritten in place, or removed if it is damaged and so cannot be.

Cut short, some old versions still know a class: asked again, `forget` goes on with them. So the
versions that call it by the name that was asked for come last, and those that know no more than
a name of it come first: as long as anything is left, what it was is found again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
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
    "its share in the common covariance, with the number of images that it is of; while a version "
    "from before the class was learned is kept, the difference between the two is that share"
)
_FIGURES = "the figures of whole sessions that it was learned in: images, accuracy"
_CHECKPOINT = "weights of a session that was cut off, which could not be removed"
_WEIGHTS = "what the encoder's trained weights may have taken from its pictures"
_COPIES = "exported files, reports and backups made before"
_TOLD = {  # where the class is not found, of the checkpoint
    "none": "",
    "removed": "; the weights of a session that was cut off may have known it, and were removed",
    "kept": "; the weights of a session that was cut off may know it, and could not be removed",
}


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
        checkpoint = _remove_checkpoint(store)  # it may be of this very class, and names none
        live = store.live()
        readable = {version.name: version for version in store.readable_versions()}
        manifests = [version.manifest for version in readable.values()]
        try:
            doomed = _meant(label, manifests, live.manifest)
        except InvalidInputError as error:
            raise InvalidInputError(f"{error}{_TOLD[checkpoint]}") from None
        names = {label} | _names_of(doomed, manifests)
        images = [m.classes[own] for m in manifests for own in _own(m, doomed)]
        remains = list(_remains(manifests))
        if checkpoint == "kept":
            remains.append(_CHECKPOINT)
        if _cleared_manifest(live.manifest, doomed, names) != live.manifest:
            known = _without(load_knowledge(live), _own(live.manifest, doomed))
            live = commit_next(writer, live, known, "forget a class")

        def least_telling_first(name: str) -> tuple[bool, bool, str]:
            own = _own(readable[name].manifest, doomed) if name in readable else set()
            return label in own, bool(own), name

        rewritten, removed = [], []
        for name in sorted(store.version_names(), key=least_telling_first):
            if name == live.name:
                continue
            try:
                version = readable.get(name) or store.version(name)
                if _rewrite(writer, version, doomed, names):
                    rewritten.append(name)
            except StoreCorruptError:  # of no use, and what it may know cannot be taken out
                writer.remove(name)
                removed.append(name)
    return Forgotten(
        version=live.name,
        names=tuple(sorted(names)),
        images=max(images, default=0),
        rewritten=tuple(sorted(rewritten)),
        removed=tuple(sorted(removed)),
        remains=(*remains, _COPIES),
    )


def _remains(manifests: list[Manifest]) -> Iterator[str]:
    yield _SHARE
    yield _FIGURES
    if any(is_trained(manifest) for manifest in manifests):
        yield _WEIGHTS


def _remove_checkpoint(store: Store) -> str:
    had_one = store.checkpoint.exists()
    try:
        CheckpointFile(store.checkpoint).remove()
    except OSError:
        return "kept"
    return "removed" if had_one else "none"


def _meant(label: str, manifests: list[Manifest], live: Manifest) -> set[str]:
    """The identities of the classes of this name. One that is known by another name now is not
    meant; none at all are, where a version still names a class that no version knows."""
    called_so = {m.identities[label] for m in manifests if label in m.identities}
    others = {own: name for name, own in live.identities.items() if name != label}
    if doomed := called_so - set(others):
        return doomed
    for identity, name in others.items():
        if label in _names_of({identity}, manifests):
            raise InvalidInputError(f"{label!r} is called {name!r} now; forget that")
    if all(_cleared_manifest(m, set(), {label}) == m for m in manifests):
        raise InvalidInputError(
            f"no kept version knows a class named {label!r}; 'prd-edge classes list' shows what is "
            "known now"
        )
    return set()


def _own(manifest: Manifest, identities: Collection[str]) -> set[str]:
    """What these classes are called in a version."""
    return {label for label, own in manifest.identities.items() if own in identities}


def _names_of(identities: Collection[str], manifests: list[Manifest]) -> set[str]:
    """All names of these classes, of versions that have gone as well."""
    names = {label for manifest in manifests for label in _own(manifest, identities)}
    return names.union(*(_former(m, _own(m, identities)) for m in manifests))


def _former(manifest: Manifest, labels: set[str]) -> set[str]:
    """The name before, if the version renamed one of these classes."""
    match manifest.metrics.get("renamed"):
        case [str(old), str(new)] if new in labels:
            return {old}
    return set()


def _without(known: Knowledge, labels: set[str]) -> Knowledge:
    bank = known.bank
    for label in labels:
        bank = bank.remove(label)
    return known.with_bank(bank)


def _rewrite(writer: StoreWriter, version: Version, doomed: set[str], names: set[str]) -> bool:
    """Take the classes out of an older version; False where there was nothing to take out."""
    cleared = _cleared_manifest(version.manifest, doomed, names)
    if cleared == version.manifest:
        return False
    contents: dict[str, bytes | None] = dict.fromkeys(cleared.files)
    if own := _own(version.manifest, doomed):
        contents.update(_without(load_knowledge(version), own).contents())
    records = records_of(contents, version)
    writer.rewrite(version, replace(cleared, files=records), contents)
    return True


def _cleared_manifest(manifest: Manifest, doomed: set[str], names: set[str]) -> Manifest:
    """Without these classes and their names; another class that bears one of them, or bore it
    until this version, keeps it."""
    others = set(manifest.classes) - _own(manifest, doomed)
    gone = names - others - _former(manifest, others)
    return replace(
        manifest,
        action=_cleared_action(manifest.action, gone),
        classes={label: n for label, n in manifest.classes.items() if label in others},
        identities={label: own for label, own in manifest.identities.items() if label in others},
        metrics=_cleared(manifest.metrics, gone),
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

"""Changes that teach nothing new: to the classes, and by what a person says of a picture."""

from __future__ import annotations

from collections.abc import Callable

from prd_edge.bank import PrototypeBank
from prd_edge.commit import writing
from prd_edge.feedback import Feedback, corrected
from prd_edge.images import decode_named
from prd_edge.model import Knowledge, load_embedder, load_knowledge
from prd_edge.store import Store, Version
from prd_edge.succession import commit_next, tidy


def rename_class(store: Store, old: str, new: str) -> Version:
    action = f"rename {old!r} to {new!r}"
    return _edit(store, action, lambda bank: bank.rename(old, new), renamed=(old, new))


def remove_class(store: Store, label: str) -> Version:
    return _edit(store, f"remove {label!r}", lambda bank: bank.remove(label))


def _edit(
    store: Store,
    action: str,
    change: Callable[[PrototypeBank], PrototypeBank],
    renamed: tuple[str, str] | None = None,
) -> Version:
    store.live()  # says so if there is no store, before one is half made
    with writing(store) as writer:
        parent = store.live()
        known = load_knowledge(parent)
        changed = known.with_bank(change(known.bank))
        version = commit_next(writer, parent, changed, action, renamed=renamed)
        tidy(writer, version)
    return version


def give_feedback(store: Store, source: object, label: str, *, is_it: bool) -> Feedback:
    """Take a word about one picture; a version is committed only if something had to change."""
    store.live()  # says so if there is no store, before one is half made
    image = decode_named(source)
    with writing(store) as writer:
        parent = store.live()
        known = load_knowledge(parent)
        embedding = load_embedder(parent).embed_alone(image)
        bank = corrected(known.bank, known.readout, embedding, label, is_it=is_it)
        readout = known.readout.following(known.bank, bank)
        before, after = (r.verdict(embedding).label for r in (known.readout, readout))
        version = None
        if not known.bank.has_same_numbers(bank):
            action = f"feedback: {'is' if is_it else 'not'} {label!r}"
            version = commit_next(writer, parent, Knowledge(bank, readout), action)
            tidy(writer, version)
    return Feedback(before, after, (after == label) == is_it, version.name if version else None)

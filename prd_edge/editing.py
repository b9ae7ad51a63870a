"""Changes that teach nothing new: to the classes, and by what a person says of a picture."""

from __future__ import annotations

from collections.abc import Callable

from prd_edge.bank import PrototypeBank
from prd_edge.commit import writing
from prd_edge.feedback import Feedback, corrected
from prd_edge.images import decode_named
from prd_edge.model import Knowledge, load_embedder, load_knowledge
from prd_edge.readout import Readout
from prd_edge.store import Store, Version
from prd_edge.succession import commit_next, tidy


def edit_classes(
    store: Store, action: str, change: Callable[[PrototypeBank], PrototypeBank]
) -> Version:
    """Commit a changed bank; the temperature keeps its meaning."""
    store.live()  # says so if there is no store, before one is half made
    with writing(store) as writer:
        parent = store.live()
        known = load_knowledge(parent)
        bank = change(known.bank)
        readout = Readout.of(bank).at(known.readout.temperature)
        version = commit_next(writer, parent, Knowledge(bank, readout), action)
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

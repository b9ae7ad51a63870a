"""The model card of a version: what it knows, how well, what is kept and where its limits are.

Markdown, from manifests alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from prd_edge.encoders import UNTRAINED, EncoderSpec
from prd_edge.evaluated import Evaluated
from prd_edge.figures import megabytes, percent, percent_change, utc
from prd_edge.manifest import Manifest
from prd_edge.markdown import escaped, table
from prd_edge.report import FEW_IMAGES
from prd_edge.session_record import SessionRecord, what_made
from prd_edge.store import Version

_FEW_NAMED = 20  # the list of classes has the rest

_PURPOSE = """\
It says which of the classes below is on a picture, or that none is. It learned them with prd-edge
on a device, session after session."""

_HOLDOUT = """\
Hold-out accuracy, before and after a session, is on a part of the session's own images, among all
classes known then; the nearest class counts, even where the answer would be unknown. The images
were held out while it was measured, and learned afterwards. This is not accuracy on a test set:
images of one session resemble each other. "Confidence off by" is the calibration error on the same
images."""

_NOT_EVALUATED = """\
No evaluation on other images was given. To add one:

```console
$ prd-edge evaluate FOLDER --json > evaluation.json
$ prd-edge info --card --evaluation evaluation.json
```"""

_OF_THE_STORE = """\
All figures are of the version in its store; how far an exported file agrees with that stands in the
file's certificate."""

_STORED = """\
## What is stored, and what is not

Stored: the encoder's weights, and those from before it was last trained; of each class its name,
the number of its images, the sum of their embeddings, its radius and its leaning; one covariance
that all classes share; what follows from these to answer with; the figures of the sessions. An
exported file has of this the encoder, the names, and what is needed to answer.

Not stored: images, thumbnails, names of files, embeddings of single images. But the prototype of a
class with one image is that image's embedding, and so is the difference between two kept versions
of a class that one image was added to. A class that was removed stays in older versions as long as
these are kept."""

_RESEMBLANCE = """\
A picture of something else that resembles a known class may be taken for it: not every strange
  picture is called unknown."""
_CALIBRATION = """\
Confidence is calibrated on the sessions' own hold-outs; on pictures of another kind, from another
  camera or place, it may be off by more."""
_IMAGENET = """\
The encoder was pretrained on ImageNet, unless the store was made with other weights: what is unlike
  those photographs is told apart less well, and their bias is its own."""
_FROM_NOTHING = "The encoder began untrained: it has seen nothing but the sessions."
_ONE_CLASS = "Only one class is known: all that is not unknown is called that."
_UNTESTED = "It was not tested for safety-critical use, nor for telling people apart."


def model_card(version: Version, evaluation: Path | None = None) -> str:
    """`evaluation`: what `prd-edge evaluate --json` has written of this version."""
    evaluated = Evaluated.read(evaluation, version.name) if evaluation else None
    return card_of([own.manifest for own in version.lineage()], evaluated)


def card_of(lineage: Sequence[Manifest], evaluated: Evaluated | None = None) -> str:
    """Of the last of these; the others are those it came from, oldest first."""
    manifest = lineage[-1]
    sections = (
        f"# Model card: version {manifest.version}\n\n{_PURPOSE}",
        _summary(manifest),
        f"## Sessions\n\n{_sessions(lineage)}\n\n{_HOLDOUT}",
        f"## Measured accuracy\n\n{_accuracy(evaluated)}\n\n{_OF_THE_STORE}",
        _STORED,
        "## Known limits\n\n" + "\n".join(f"- {limit}" for limit in _limits(manifest)),
        f"## Classes\n\n{_classes(manifest.classes)}",
    )
    return "\n\n".join(sections) + "\n"


def _summary(manifest: Manifest) -> str:
    encoder, counts = manifest.encoder, manifest.classes.values()
    size = f"{encoder.image_size} px, {encoder.dimensions} features"
    each = f", {min(counts)} to {max(counts)} a class" if counts else ""
    made = f"{utc(manifest.created)} UTC by {escaped(manifest.software)}"
    rows = [
        ("version", f"{manifest.version}, made {made}"),
        ("classes", f"{len(counts)}, from {sum(counts)} images{each}"),
        ("encoder", f"{escaped(encoder.name)}, {size}, {_training(encoder)}"),
        ("licence of its weights", escaped(encoder.licence)),
        ("size in the store", megabytes(manifest.size())),
    ]
    return table(("", ""), rows)


def _training(encoder: EncoderSpec) -> str:
    if encoder.name == UNTRAINED:
        return "untrained to begin with"
    if encoder.adapted_from is None:
        return "as it was before the sessions"
    return f"its stages from {escaped(encoder.adapted_from)} on trained further"


def _sessions(lineage: Sequence[Manifest]) -> str:
    header = (
        "version", "created (UTC)", "what", "classes added", "updated", "images", "held out",
        "hold-out accuracy", "confidence off by",
    )  # fmt: skip
    found = table(header, [*map(_session, lineage)])
    if lineage[0].parent is None:
        return found
    return f"{found}\n\nWhat led to version {lineage[0].version} is no longer kept."


def _session(manifest: Manifest) -> Sequence[object]:
    made = (manifest.version, utc(manifest.created), escaped(what_made(manifest)))
    session = SessionRecord.of(manifest)
    if session is None:
        return (*made, "–", "–", "–", "–", "–", "–")
    return (
        *made,
        session.added,
        session.updated,
        session.images,
        session.holdout_images,
        percent_change(session.holdout_accuracy_before, session.holdout_accuracy),
        percent(session.calibration_error),
    )


def _accuracy(evaluated: Evaluated | None) -> str:
    if evaluated is None:
        return _NOT_EVALUATED
    unknown = "" if evaluated.unknown is None else f"; {evaluated.unknown} called unknown"
    return (
        f"On {evaluated.images} labelled images, by `prd-edge evaluate`: accuracy "
        f"{percent(evaluated.accuracy)}, balanced accuracy "
        f"{percent(evaluated.balanced_accuracy)}{unknown}."
    )


def _limits(manifest: Manifest) -> Iterator[str]:
    yield _RESEMBLANCE
    if few := [label for label, count in manifest.classes.items() if count < FEW_IMAGES]:
        yield _too_few(few)
    if len(manifest.classes) == 1:
        yield _ONE_CLASS
    yield _CALIBRATION
    yield _FROM_NOTHING if manifest.encoder.name == UNTRAINED else _IMAGENET
    yield _UNTESTED


def _too_few(labels: Sequence[str]) -> str:
    named = ", ".join(map(escaped, labels[:_FEW_NAMED]))
    more = f" and {len(labels) - _FEW_NAMED} more" if len(labels) > _FEW_NAMED else ""
    return (
        f"Weak, with fewer than {FEW_IMAGES} images: {named}{more}.\n"
        "  Their prototypes say much about each image; that of a single one is its embedding."
    )


def _classes(classes: Mapping[str, int]) -> str:
    if not classes:
        return "None yet."
    return table(("class", "images"), [(escaped(label), n) for label, n in classes.items()])

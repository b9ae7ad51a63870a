"""The words in a manifest: each is of a form that we write, so that nothing can hide in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from prd_edge.manifest import Manifest
from prd_edge.report import strange_metrics

_LONGEST_LICENCE = 60
_MOST_PARTS = 16
_LARGEST_SETTING = 10**6
_CLASS = r"""(?:'.{1,500}'|".{1,500}")"""  # in quotation marks, its unprintable characters escaped
_ACTION = re.compile(
    rf"init|learn-session|forget a class|remove|rename|feedback|remove {_CLASS}"
    rf"|rename {_CLASS} to {_CLASS}|feedback: (?:is|not) {_CLASS}"
)
_CREATED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)
_SOFTWARE = re.compile(r"prd-edge \d[0-9a-z.+]{0,30}", re.ASCII)


def strange_words(manifest: Manifest, files: set[str]) -> Iterator[str]:
    """Entries that no version of ours has. `files` are those that a version may list."""
    encoder, config = manifest.encoder, manifest.config
    is_ours = {
        "action": _ACTION.fullmatch(manifest.action),
        "created": _CREATED.fullmatch(manifest.created),
        "software": _SOFTWARE.fullmatch(manifest.software),
        "licence": len(encoder.licence) <= _LONGEST_LICENCE,
        "first stage that was trained": len(encoder.adapted_from or "") <= _LONGEST_LICENCE,
        "parts of the embedding": len(encoder.parts) <= _MOST_PARTS,
        "encoder of the settings": config.encoder == encoder.name,
        "settings": max(config.image_size, config.keep_versions) <= _LARGEST_SETTING,
        "files": set(manifest.files) <= files,
    }
    yield from (name for name, found in is_ours.items() if not found)
    for name in strange_metrics(manifest.metrics):
        yield f"metrics {name!r}"
    for name in ("added", "updated", "drift"):
        of_classes = manifest.metrics.get(name)
        if isinstance(of_classes, Mapping) and not set(of_classes) <= set(manifest.classes):
            yield f"metrics {name!r}, of classes that are not known"

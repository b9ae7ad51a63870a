"""What the Tab key offers: names that the store knows.

A shell is told of it by `eval "$(_PRD_EDGE_COMPLETE=bash_source prd-edge)"`, or zsh, or fish.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from prd_edge.errors import PrdEdgeError

if TYPE_CHECKING:
    from prd_edge.store import Store


def class_names(
    context: click.Context,
    parameter: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[CompletionItem]:
    with suppress(PrdEdgeError):  # no store: nothing to offer, and no place to say so
        return _beginning(_store(context).live().manifest.classes, incomplete)
    return []


def version_names(
    context: click.Context,
    parameter: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[CompletionItem]:
    with suppress(PrdEdgeError):
        names = [name.lstrip("0") for name in reversed(_store(context).version_names())]
        return _beginning(names, incomplete)
    return []


def export_formats(
    context: click.Context,  # noqa: ARG001
    parameter: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[CompletionItem]:
    from prd_edge.export import formats

    return _beginning(formats(), incomplete)


def file_names(
    context: click.Context,  # noqa: ARG001
    parameter: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="file")]


def _store(context: click.Context) -> Store:
    from prd_edge.store import Store

    given = context.params.get("store") or os.environ.get("PRD_EDGE_STORE") or "prd_store"
    return Store(Path(given))


def _beginning(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    # bash puts a name on the line as it is given; the other shells quote it themselves.
    is_bash = os.environ.get("_PRD_EDGE_COMPLETE", "").startswith("bash")
    found = [name for name in names if name.startswith(incomplete)]
    return [CompletionItem(quote(name) if is_bash else name) for name in found]

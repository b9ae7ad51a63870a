from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from glob import glob, has_magic
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import click

from prd_edge.cli.completion import file_names
from prd_edge.cli.options import (
    json_option,
    json_text,
    print_json,
    printable,
    say,
    store_option,
    threads_option,
)

if TYPE_CHECKING:
    from prd_edge.predictor import Prediction
    from prd_edge.runtime import Runtime

_SUFFIXES = {".jpg", ".jpeg", ".jpe", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff"}


@click.command()
@click.argument("paths", nargs=-1, required=True, shell_complete=file_names)
@store_option
@click.option(
    "--top-k",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How many of the likeliest classes to show.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Below this confidence the answer is 'unknown'.",
)
@click.option(
    "--always-answer", is_flag=True, help="Name a class even if the picture is like none."
)
@click.option("--among", help="Choose among these classes only: a,b,c.")
@json_option
@click.option("--jsonl", is_flag=True, help="Print one JSON line an image, as it is answered.")
@click.option("--quiet", is_flag=True, help="Print the labels only.")
@threads_option
def predict(
    paths: tuple[str, ...],
    store: Path,
    top_k: int,
    threshold: float,
    always_answer: bool,
    among: str | None,
    as_json: bool,
    jsonl: bool,
    quiet: bool,
    threads: int | None,
) -> int:
    """Say what is on the pictures at PATHS: files, folders, globs, or - to read paths from
    standard input, one a line.

    Answers come in the order of the pictures. Exits with 3 if a picture could not be read; the
    others are answered all the same.
    """
    from prd_edge.runtime import Runtime

    if sum((as_json, jsonl, quiet)) > 1:
        raise click.UsageError("--json, --jsonl and --quiet exclude each other; choose one")
    runtime = Runtime.open(store, threads=threads)
    if "" in paths:
        raise click.UsageError("the name of a picture is empty")
    chosen = among.split(",") if among is not None else None
    asked = _Question(top_k, threshold, chosen, always_answer)
    alone = len(paths) == 1 and _is_one_picture(paths[0])
    # Looking ahead would keep back the answer to a program that waits for it line by line.
    one_by_one = alone or ("-" in paths and not _is_file(sys.stdin))
    pictures = _expand(paths)
    answers = (
        (_predict_alone(runtime, picture, asked) for picture in pictures)
        if one_by_one
        else runtime.predict_many(pictures, **asked._asdict())
    )
    count = failed = 0
    documents = []
    for answer in answers:
        count += 1
        failed += answer.error is not None
        if as_json:
            documents.append(answer.as_dict())
        else:
            _print(answer, jsonl=jsonl, quiet=quiet)
    if as_json:
        print_json(documents[0] if alone else documents)
    if not count:
        places = ", ".join("standard input" if path == "-" else path for path in paths)
        say(f"prd-edge: no pictures in {places}")
        return 3
    return 3 if failed else 0


class _Question(NamedTuple):
    top_k: int
    threshold: float
    among: list[str] | None
    always_answer: bool


def _predict_alone(runtime: Runtime, path: str, asked: _Question) -> Prediction:
    from prd_edge.errors import ImageError
    from prd_edge.predictor import Prediction

    try:
        return runtime.predict(path, **asked._asdict())
    except ImageError as error:
        return Prediction.unreadable(path, runtime.version, str(error.__cause__))


def _print(answer: Prediction, *, jsonl: bool, quiet: bool) -> None:
    if jsonl:
        click.echo(json_text(answer.as_dict()))
        return
    if answer.error is not None:
        say(f"prd-edge: {answer.source}: {answer.error}")
        if quiet:
            click.echo()  # one line a picture, whatever happens
        return
    label = answer.label or "unknown"
    if quiet:
        click.echo(label)
        return
    others = answer.top_k if answer.unknown else answer.top_k[1:]
    rest = ", ".join(f"{r.label} {100 * r.confidence:.1f} %" for r in others)
    # The confidence is that of the best guess, not of its being unknown.
    sure = "" if answer.unknown else f"  {100 * answer.confidence:.1f} %"
    line = f"{answer.source}: {label}{sure}"
    nearest = "nearest: " if answer.unknown else ""
    click.echo(printable(f"{line}  ({nearest}{rest})" if rest else line))


def _is_one_picture(path: str) -> bool:
    return path != "-" and not os.path.isdir(path) and not _is_pattern(path)


def _is_file(stream: IO[str] | None) -> bool:
    try:
        return stream is not None and stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def _is_pattern(path: str) -> bool:
    return has_magic(path) and not os.path.exists(path)


def _expand(paths: tuple[str, ...]) -> Iterator[str]:
    """The pictures behind the arguments, one by one: a folder may hold millions."""
    for path in paths:
        if path == "-":
            lines = sys.stdin or ()  # None where it is closed
            yield from (line.rstrip("\r\n") for line in lines if line.strip())
        elif _is_pattern(path):
            found = sorted(glob(path, recursive=True))
            if "**" in path:  # names folders and what is in them
                yield from (name for name in found if not os.path.isdir(name))
                continue
            if not found and len(paths) > 1:
                yield path  # is named as missing, and the others are answered
            for name in found:
                yield from _pictures_at(name)
        else:
            yield from _pictures_at(path)


def _pictures_at(path: str) -> Iterator[str]:
    if os.path.isdir(path):  # unlike Path's, never raises
        yield from _pictures_below(path)
    else:
        yield path


def _pictures_below(folder: str) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        yield folder  # is named as unreadable, and the others are answered
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _pictures_below(entry.path)
        elif os.path.splitext(entry.name)[1].lower() in _SUFFIXES:
            yield entry.path

"""Any list of arguments, for every command: a known exit code and one line, and a command that
fails leaves the store as it was."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from contextlib import chdir
from functools import cache
from pathlib import Path
from random import Random
from unittest.mock import patch

import click
import pytest

from prd_edge.cli.main import COMMANDS, prd_edge

from . import tiny
from .command import fingerprint, run
from .rounds import rounds

# What takes minutes, by design, whatever is given.
LONG = ("benchmark", "demo-data")
RARE = ("export", "init", "doctor")  # a second each
NUMBERS = ("0", "1", "-1", "2", "3", "0.5", "1e3", "nan", "inf", "-inf", "1" * 400, "9" * 19, "1_0")
TEXTS = (
    *("", " ", "x", "red", "blue", "cup", "-", "--", "-x", "--x", "--x=y", "=", "*", "[", "**/*"),
    *("é", "e\u0301", "\udcff\udcfe", "\0", "\n", "\x1b[2J", "\u202e", "💥", "x" * 300),
    *("a/" * 3000, "x" * 100_000, "000001", "3", "000003", "999999", "½", "true", "None", "{}"),
)
PATHS = (
    *("data", "data/red", "data/red/0.png", "missing", "missing/x", "text", "out.onnx", "out.html"),
    *("text/x", "pipe", ".", "evaluation.json", "data/*/*.png", "loop", "x.onnx", "out"),
)


@cache
def commands() -> dict[tuple[str, ...], click.Command]:
    """Every command by its words, those of a group apart."""
    context = click.Context(prd_edge)
    found: dict[tuple[str, ...], click.Command] = {}
    for name in COMMANDS:
        command = prd_edge.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found |= {(name, inner): own for inner, own in command.commands.items()}
        else:
            found[name,] = command
    return found


def campaign(random: Random, folder: Path) -> Counter[str]:
    done: Counter[str] = Counter()
    yard = make_yard(folder / "yard")
    before = fingerprint(yard)
    with chdir(yard), patch.dict(os.environ, PRD_EDGE_MODE="imprint", PRD_EDGE_STORE="store"):
        for _ in range(20):
            arguments = argument_list(random)
            outcome = run(*arguments, stdin=random.choice(("", "data/red/0.png\n", "\0\n\udcff\n")))
            done["command lines fuzzed"] += 1
            done[f"command lines that end with {outcome.code}"] += 1
            after = fingerprint(yard)
            if outcome.code != 0:
                assert after == before, arguments
            before = after
    shutil.rmtree(folder / "yard")
    return done


def make_yard(yard: Path) -> Path:
    """A folder to stand in, with a store to lose."""
    tiny.write_session(yard / "data", "red", "blue")
    tiny.make_store(yard / "store")
    (yard / "text").write_text("a text")
    (yard / "evaluation.json").write_text('{"version": "000003", "images": 5, "accuracy": 0.5}')
    os.mkfifo(yard / "pipe")
    (yard / "loop").symlink_to("loop")
    return yard


def argument_list(random: Random) -> list[str]:
    if random.random() < 0.05:
        quick = [name for name in COMMANDS if name not in LONG]
        return random.choices((*TEXTS, *quick), k=random.randint(0, 5))
    chosen = [words for words in commands() if words[0] not in LONG]
    words = random.choice(chosen)
    while words[0] in RARE and random.random() < 0.9:
        words = random.choice(chosen)
    parameters = commands()[words].params
    arguments: list[str] = []
    for own in parameters:
        if isinstance(own, click.Argument):
            if random.random() < 0.95:
                arguments.append(value(random, own))
        elif random.random() < 0.25:
            for _ in range(random.choice((1, 1, 1, 2))):
                arguments += option(random, own)
    if random.random() < 0.1:
        arguments.insert(random.randint(0, len(arguments)), random.choice(TEXTS))
    if random.random() < 0.3:
        random.shuffle(arguments)
    return [*words, *arguments]


def option(random: Random, own: click.Parameter) -> list[str]:
    name = random.choice(own.opts)
    if getattr(own, "is_flag", False):
        return [name]
    given = value(random, own)
    return [f"{name}={given}"] if random.random() < 0.3 else [name, given]


def value(random: Random, own: click.Parameter) -> str:
    """Mostly of the right kind, and otherwise anything."""
    if own.name == "store":
        return random.choice(("store", "store", "store", "missing", "text", "data", ""))
    if own.name == "mode":
        return random.choice(("imprint", "x", ""))  # training takes minutes
    kinds = (NUMBERS, TEXTS, PATHS)
    if own.type.name in ("integer", "integer range", "float", "float range"):
        return random.choice(NUMBERS if random.random() < 0.8 else random.choice(kinds))
    if own.type.name == "path" or own.name == "paths":
        return random.choice(PATHS if random.random() < 0.8 else TEXTS)
    return random.choice(random.choice(kinds))


@pytest.mark.parametrize("seed", range(5))
def test_command_lines(tmp_path: Path, seed: int) -> None:
    done = rounds(campaign, seed, tmp_path, count=5)
    assert done["command lines fuzzed"] == 100
    assert done["command lines that end with 0"] > 5
    assert done["command lines that end with 2"] > 5


def test_every_command_is_asked() -> None:
    random = Random(0)
    asked = {tuple(argument_list(random)[:1]) for _ in range(2000)}
    assert {(name,) for name in COMMANDS if name not in LONG} <= asked


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "--check", "x" * 300),
        ("export", "--check", "x" * 300, "--format", "web"),
        ("export", "-o", "x.onnx", "--images", "x" * 300),
        ("info", "--store", "\0"),
        ("evaluate", "data\0"),
        ("export", "-o", "x" * 300 + ".onnx"),
        ("demo-data", "x" * 300),
        ("demo-data", "text"),
        ("demo-data", "\0"),
        ("demo-data", "new", "--train", "-1"),
        ("demo-data", "new", "--seed", "-1"),
        ("benchmark", "--store", "data", "--repeats", "0"),
        ("benchmark", "--store", "missing"),
    ],
)
def test_what_was_found(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    yard = make_yard(tmp_path / "yard")
    before = fingerprint(yard)
    with chdir(yard), patch.dict(os.environ, PRD_EDGE_STORE="store"):
        assert run(*arguments).code in (2, 3, 4)
    assert fingerprint(yard) == before

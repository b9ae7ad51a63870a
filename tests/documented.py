"""The blocks of code in the documents, and the pictures that their commands speak of."""

from __future__ import annotations

import re
from pathlib import Path

from PIL import Image

from .conftest import COLOURS, picture

ROOT = Path(__file__).parents[1]
SESSIONS = {"monday": ("mug", "bowl"), "friday": ("fork",), "new_data": ("mug", "fork")}
COLOUR_OF = dict(zip(("mug", "bowl", "fork"), COLOURS.values(), strict=True))


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def commands(document: str) -> list[str]:
    """Every line that a reader would type, in order, without its comment."""
    lines = [line for block in blocks(document, "console") for line in block.splitlines()]
    return [re.split(r"\s{2,}#", line[2:])[0].strip() for line in lines if line.startswith("$ ")]


def write_pictures(folder: Path) -> None:
    """Sessions with one sub-folder a class, labelled pictures, and some without a label."""
    for session, labels in SESSIONS.items():
        _write_session(folder / session, labels, start=len(session) * 10)
    _write_session(folder / "labelled", tuple(COLOUR_OF), start=500, images=2)
    for place in ("folder", "shots", "inbox"):
        (folder / place).mkdir()
        _write(folder / place / "one.png", "mug", 600)
        _write(folder / place / "two.png", "bowl", 601)
    _write(folder / "photo.jpg", "mug", 602)


def _write_session(folder: Path, labels: tuple[str, ...], start: int, images: int = 6) -> None:
    for label in labels:
        (folder / label).mkdir(parents=True)
        for number in range(start, start + images):
            _write(folder / label / f"{number}.png", label, number)


def _write(path: Path, label: str, seed: int) -> None:
    Image.fromarray(picture(COLOUR_OF[label], seed)).save(path)

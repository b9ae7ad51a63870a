"""A recorded terminal: commands on pictures of the demo data, and what they really print."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

PICTURE = Path(__file__).parents[1] / "docs/images/terminal.svg"
COMMANDS = (
    "learn-session monday",
    "predict key.jpg mug.jpg",
    "learn-session friday",
    "predict key.jpg mug.jpg spoon.jpg",
    "rollback",
)
WIDTH = 92
FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
THEME = TerminalTheme(
    (18, 28, 30),
    (214, 222, 220),
    [(18, 28, 30), (235, 111, 111), (120, 200, 150), (220, 190, 110)] + [(120, 180, 200)] * 4,
)


def main() -> int:
    console = Console(record=True, width=WIDTH, file=StringIO(), highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        _take_pictures(Path(folder))
        for command in COMMANDS:
            console.print(Text("$ ", "green") + Text(f"prd-edge {command}", "bold"))
            console.print(Text(_run(command, cwd=folder).rstrip()), "", sep="\n")
    drawing = console.export_svg(title="prd-edge", theme=THEME)
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(_without_web_fonts(drawing), encoding="utf-8")
    return 0


def _take_pictures(folder: Path) -> None:
    """Monday: keys and mugs. Friday: spoons. And the first test picture of each."""
    data = folder / "data"
    _run(f"demo-data {data}")
    for day, source, labels in (("monday", 1, ("key", "mug")), ("friday", 2, ("spoon",))):
        for label in labels:
            shutil.copytree(data / f"session-{source}" / label, folder / day / label)
            shutil.copy(data / f"test/{label}/{label}-000.jpg", folder / f"{label}.jpg")


def _run(command: str, cwd: str | None = None) -> str:
    """What a person would see, in one stream."""
    environment = {**os.environ, "PRD_EDGE_STORE": "prd_store"}
    done = subprocess.run(
        [sys.executable, "-m", "prd_edge", *command.split()],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout


def _without_web_fonts(drawing: str) -> str:
    """rich's drawing fetches a font; ours is read offline, and takes what the reader has."""
    drawing = re.sub(r"@font-face \{.*?\}\s*", "", drawing, flags=re.DOTALL)
    return re.sub(r"font-family: (Fira Code, monospace|arial)", f"font-family: {FONTS}", drawing)


if __name__ == "__main__":
    sys.exit(main())

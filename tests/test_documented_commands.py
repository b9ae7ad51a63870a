"""Every command that a document shows is run, in order, on pictures like those it speaks of."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import needs_web_runtime
from .documented import commands, write_pictures

GUIDES = ("README.md", "docs/getting-started.md", "docs/device.md")
# They change the machine, need the network, or never end: the rest must be run.
NOT_RUN = (
    "/opt/prd-edge/bin/pip ",
    "pip ",
    "python -m http.server",
    "python3 -m venv",
    "scripts/",
    "systemctl ",
    "useradd ",
)
PROGRAM = re.compile(r"(?:/opt/prd-edge/bin/)?prd-edge ")
TINY_STORE = ("init", "--image-size", "32")
FEW = ("--train", "5", "--test", "1")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def quick_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    from prd_edge import device_speed

    monkeypatch.setattr(device_speed, "USUAL", device_speed.Workload(2, 2, 32))


@pytest.mark.usefixtures("quick_benchmark")
@pytest.mark.parametrize("guide", GUIDES)
def test_every_command_works(
    guide: str, prd_edge: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PRD_EDGE_STORE", raising=False)
    write_pictures(tmp_path)
    assert prd_edge(*TINY_STORE)[0] == 0  # quicker than the one that learn-session would make
    if guide == "docs/device.md":  # is read with a store that has learned
        assert prd_edge("learn-session", "monday")[0] == 0
    shown = commands(guide)
    assert any(PROGRAM.match(line) for line in shown)
    for line in shown:
        if PROGRAM.match(line):
            _run_here(line, prd_edge)
        elif not line.startswith(NOT_RUN):
            subprocess.run(["bash", "-c", line], check=True)


def _run_here(line: str, prd_edge: Run) -> None:
    words = shlex.split(PROGRAM.sub("", line, count=1))
    if words[0] == "demo-data":
        words += FEW
    if "web" in words:
        needs_web_runtime()
    code, _, err = prd_edge(*words)
    assert code == 0, f"{line}: {err}"


def test_a_newcomer_reads_what_the_readme_promises(
    prd_edge: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two classes, a third, the first two still there, undone."""
    monkeypatch.chdir(tmp_path)
    write_pictures(tmp_path)
    prd_edge(*TINY_STORE)
    prd_edge("learn-session", "monday")
    assert prd_edge("predict", "photo.jpg", "--quiet")[1] == "mug\n"
    prd_edge("learn-session", "friday")
    assert prd_edge("predict", "photo.jpg", "--quiet")[1] == "mug\n"
    fork = next(Path("labelled/fork").iterdir())
    assert prd_edge("predict", fork, "--quiet")[1] == "fork\n"
    _, said, _ = prd_edge("rollback")
    assert "2 classes" in said
    assert "fork" not in prd_edge("classes", "list")[1]

"""The lean half never loads torch, and starting up loads little at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPORT = """
import sys
from prd_edge.cli.main import _run
code = _run(sys.argv[1:])
loaded = {name.partition(".")[0] for name in sys.modules}
print("LOADED", code, *sorted(loaded), file=sys.stderr)
"""


def loaded_by(*arguments: object, first: str = "") -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", first + REPORT, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    line = done.stderr.splitlines()[-1]
    marker, code, *modules = line.split()
    assert (marker, code) == ("LOADED", "0"), done.stderr
    return set(modules)


@pytest.mark.parametrize(
    "command",
    [
        ["init", "--store", "{new}", "--image-size", "32"],
        ["learn-session", "{session}", "--store", "{store}", "--mode", "imprint"],
        ["learn-session", "{session}", "--store", "{new}", "--mode", "imprint"],
        ["predict", "{session}/red", "--store", "{store}"],
        ["evaluate", "{session}", "--store", "{store}"],
        ["feedback", "{session}/red/20.png", "--is", "blue", "--store", "{store}"],
        ["classes", "list", "--store", "{store}"],
        ["classes", "rename", "red", "rouge", "--store", "{store}"],
        ["classes", "remove", "red", "--store", "{store}"],
        ["info", "--store", "{store}"],
        ["info", "--card", "--store", "{store}"],
        ["history", "--store", "{store}"],
        ["rollback", "--store", "{store}"],
        ["diff", "2", "3", "--store", "{store}"],
        ["verify", "--store", "{store}"],
        ["gc", "--store", "{store}"],
        ["doctor", "--store", "{store}"],
        ["demo-data", "{new}", "--train", "1", "--test", "1"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_no_lean_command_loads_torch(
    command: list[str], taught: Path, session: Path, tmp_path: Path
) -> None:
    places = {"new": tmp_path / "new", "store": taught, "session": session}
    loaded = loaded_by(*(part.format(**places) for part in command))
    assert not loaded & {"torch", "torchvision"}


def test_benchmark_does_not_either(taught: Path) -> None:
    small = "from prd_edge import device_speed as speed; speed.USUAL = speed.Workload(2, 2, 32)"
    loaded = loaded_by("benchmark", "--repeats", "1", "--store", taught, first=small)
    assert "onnxruntime" in loaded
    assert not loaded & {"torch", "torchvision"}


def test_predict_loads_only_what_it_needs(taught: Path, session: Path) -> None:
    loaded = loaded_by("predict", session / "red/20.png", "--store", taught)
    third_party = loaded & {"onnx", "rich", "matplotlib", "google", "scipy"}
    assert not third_party


def test_help_loads_no_numbers() -> None:
    assert not loaded_by("--help") & {"numpy", "onnxruntime", "PIL", "rich", "safetensors"}


def test_importing_the_package_imports_nothing_else() -> None:
    program = (
        "import sys; before = set(sys.modules); import prd_edge;"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= {"prd_edge", *sys.stdlib_module_names}

"""torchvision loads in a fresh process, whatever was tried there before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def _run(program: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=folder,  # first on the path of `python -c`
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "before",
    ["", "try:\n    import torchvision\nexcept RuntimeError:\n    pass"],
    ids=["fresh", "after a failed import"],
)
def test_networks_can_be_made(before: str, tmp_path: Path) -> None:
    program = f"""{before}
import torch
from prd_edge.learn.torchvision_import import import_torchvision
with torch.device("meta"):
    torchvision = import_torchvision()
assert import_torchvision() is torchvision
import torchvision.models
print(type(torchvision.models.mobilenet_v3_small()).__name__)
"""
    assert _run(program, tmp_path) == "MobileNetV3"


def test_a_torchvision_that_loads_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "torchvision.py").write_text("loaded = 'by itself'\n")
    program = """
import torch
from prd_edge.learn.torchvision_import import import_torchvision
print(import_torchvision().loaded, hasattr(torch.ops.torchvision, "nms"))
"""
    assert _run(program, tmp_path) == "by itself False"


def test_absent_or_hopeless_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "torchvision.py").write_text("raise RuntimeError('wrong compiler')\n")
    program = """
import sys
from prd_edge.errors import MissingDependencyError
from prd_edge.learn.torchvision_import import import_torchvision
def message():
    try:
        import_torchvision()
    except MissingDependencyError as error:
        return str(error)
broken = message()
assert "wrong compiler" in broken and "\\n" not in broken, broken
assert "torchvision" not in sys.modules
sys.modules["torchvision"] = None
assert "pip install 'prd-edge[learn]'" in message()
"""
    _run(program, tmp_path)

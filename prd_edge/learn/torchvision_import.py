"""torchvision, also where its compiled operators do not fit the installed torch.

The torchvision on PyPI is compiled against CUDA torch. Beside a CPU-only torch its extension does
not load, and the import then fails on two detection operators, `nms` and `qnms`, for which
Python code is registered unconditionally. Encoders use neither: declaring their signatures is
enough for the import to succeed.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import torch

from prd_edge.errors import MissingDependencyError

_UNCOMPILED_OPERATORS = ("nms", "qnms")
_SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def import_torchvision() -> Any:
    """The torchvision module, loaded as it is if that works."""
    try:
        return _import()
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"this encoder needs {error.name}; run: pip install 'prd-edge[learn]'"
        ) from error
    except (RuntimeError, AttributeError):
        # Missing operators, or the remains of such a failure in somebody else's earlier import.
        _forget_torchvision()
    _declare_operators()
    try:
        return _import()
    except Exception as error:
        _forget_torchvision()
        raise MissingDependencyError(
            f"torchvision does not load beside torch {torch.__version__}: {error}; "
            "install the two in versions that belong together"
        ) from error


def _import() -> Any:
    with torch.device("cpu"):  # constants made during the import must not follow a caller's device
        return importlib.import_module("torchvision")


def _forget_torchvision() -> None:
    """Drop the submodules that a failed import leaves behind: they lack their parent."""
    for name in list(sys.modules):
        if name.partition(".")[0] == "torchvision":
            del sys.modules[name]


def _declare_operators() -> None:
    for operator in _UNCOMPILED_OPERATORS:
        if not hasattr(torch.ops.torchvision, operator):
            torch.library.define(f"torchvision::{operator}", _SIGNATURE)

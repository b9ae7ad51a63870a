"""prd-edge: a device learns new visual classes on its own, without keeping one past image.

The names below are loaded when they are first used: importing the package imports nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prd_edge.version import __version__

if TYPE_CHECKING:
    from prd_edge.config import StoreConfig
    from prd_edge.errors import PrdEdgeError
    from prd_edge.predictor import Prediction
    from prd_edge.progress import Progress
    from prd_edge.report import SessionReport
    from prd_edge.runtime import Runtime

__all__ = [
    "PrdEdgeError",
    "Prediction",
    "Progress",
    "Runtime",
    "SessionReport",
    "StoreConfig",
    "__version__",
]

_HOMES = {
    "PrdEdgeError": "errors",
    "Prediction": "predictor",
    "Progress": "progress",
    "Runtime": "runtime",
    "SessionReport": "report",
    "StoreConfig": "config",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'prd_edge' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"prd_edge.{_HOMES[name]}"), name)

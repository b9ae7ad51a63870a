"""onnxruntime, kept from reporting. All of the package takes it from here.

Left to itself it writes an identifier of the device into the home folder when it is imported, and
reports what it runs to its maker. That has to be switched off before; who wants it sets
ORT_DISABLE_TELEMETRY=0.
"""

from __future__ import annotations

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

__all__ = ["onnxruntime"]

"""onnxruntime, opened the one safe way: from bytes, which cannot reach files beside the model."""

from __future__ import annotations

import os
from typing import Any

from prd_edge.errors import StoreCorruptError
from prd_edge.silent_onnxruntime import onnxruntime

_ERRORS_ONLY = 3


def available_threads() -> int:
    """Cores this process may use, which in a container or a pinned service is not all of them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_graph(graph: bytes, name: str, *, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises its own kinds, all for the same reason
        raise StoreCorruptError(f"{name} cannot be loaded by onnxruntime: {error}") from error

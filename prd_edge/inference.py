"""onnxruntime, opened the one safe way: from bytes that hold all there is.

A graph may keep its weights in other files, and name any. Even of one that is given as bytes,
onnxruntime reads those below the working directory: such a graph is refused.
"""

from __future__ import annotations

import os
from typing import Any

from prd_edge.errors import StoreCorruptError
from prd_edge.silent_onnxruntime import onnxruntime

_ERRORS_ONLY = 3
_FLATBUFFER = b"ORTM"
_LOCATION_KEY = b"\n\x08location"


def available_threads() -> int:
    """Cores this process may use, which in a container or a pinned service is not all of them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_graph(graph: bytes, name: str, *, threads: int) -> Any:
    if _names_files(graph):
        raise StoreCorruptError(f"{name} keeps a part of itself in other files; it is not opened")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises its own kinds, all for the same reason
        raise StoreCorruptError(f"{name} cannot be loaded by onnxruntime: {error}") from error


def _names_files(graph: bytes) -> bool:
    """Whether a tensor lies elsewhere: one that does says where, under the key `location`."""
    if graph[4:8] == _FLATBUFFER:  # onnxruntime's own format, which we do not write
        return True
    if b"location" not in graph:  # as good as always, and onnx is slow to import
        return False
    import onnx
    from google.protobuf.message import DecodeError

    try:  # written anew, since the same can be said in many bytes
        return _LOCATION_KEY in onnx.load_from_string(graph).SerializeToString()
    except DecodeError:  # onnxruntime says so
        return False


def run_graph(session: Any, name: str, output: str, image: Any) -> Any:
    """One output of a graph that takes an image."""
    return run_outputs(session, name, [output], image)[0]


def run_outputs(session: Any, name: str, outputs: list[str], image: Any) -> list[Any]:
    """Several of its outputs."""
    try:
        found: list[Any] = session.run(outputs, {"image": image})
        return found
    except Exception as error:
        if "allocate" in str(error) or "bad_alloc" in str(error):
            raise MemoryError from error
        raise StoreCorruptError(f"{name} cannot be run by onnxruntime: {error}") from error

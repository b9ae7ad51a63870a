"""Images to embeddings, through the preprocessing and encoder graphs of a store."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from prd_edge.inference import available_threads, open_graph
from prd_edge.preprocess import Preprocessor

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Embedder:
    """Thread-safe. One image alone uses all threads; many images use one thread each,
    side by side, which is faster than sharing every layer among the threads."""

    def __init__(
        self, preprocess_graph: bytes, encoder_graph: bytes, *, threads: int | None = None
    ) -> None:
        self.threads = threads or available_threads()
        self.preprocess = Preprocessor(preprocess_graph)
        self._encoder_graph = encoder_graph

    @cached_property
    def _for_latency(self) -> Any:
        return open_graph(self._encoder_graph, "encoder.onnx", threads=self.threads)

    @cached_property
    def _for_throughput(self) -> Any:
        return open_graph(self._encoder_graph, "encoder.onnx", threads=1)

    def embed_alone(self, image: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(H, W, 3) to (D,), as soon as possible."""
        return self._run(self._for_latency, image)

    def embed_among_many(self, image: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(H, W, 3) to (D,), on the calling thread alone. Call `prepare_for_many` first."""
        return self._run(self._for_throughput, image)

    def prepare_for_many(self) -> None:
        """Load before the threads start, so that they do not load it twice."""
        _ = self._for_throughput

    def _run(self, session: Any, image: NDArray[np.uint8]) -> NDArray[np.float32]:
        (embedding,) = session.run(["embedding"], {"image": self.preprocess(image)})
        result: NDArray[np.float32] = embedding[0]
        return result

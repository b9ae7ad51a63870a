"""Images to embeddings, through the preprocessing and encoder graphs of a store."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from prd_edge.inference import available_threads, open_graph
from prd_edge.parallel import Meanwhile
from prd_edge.preprocess import Preprocessor

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Embedder:
    """Thread-safe. One image alone uses all threads; many images use one thread each,
    side by side, which is faster than sharing every layer among the threads."""

    def __init__(
        self,
        preprocess_graph: bytes,
        encoder_graph: Callable[[], bytes],
        *,
        threads: int | None = None,
    ) -> None:
        self.threads = min(threads or available_threads(), available_threads())
        self.preprocess = Preprocessor(preprocess_graph)
        self._encoder_graph = encoder_graph

    @cached_property
    def _for_latency(self) -> Meanwhile[Any]:
        return self._loading(self.threads)

    @cached_property
    def _for_throughput(self) -> Meanwhile[Any]:
        return self._loading(threads=1)

    def _loading(self, threads: int) -> Meanwhile[Any]:
        return Meanwhile(lambda: open_graph(self._encoder_graph(), "encoder.onnx", threads=threads))

    def prepare_for_one(self) -> None:
        """Begin to load what `embed_alone` needs; the caller may decode meanwhile."""
        _ = self._for_latency

    def prepare_for_many(self) -> None:
        """Begin to load what `embed_among_many` needs, once, before its threads start."""
        _ = self._for_throughput

    def embed_alone(self, image: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(H, W, 3) to (D,), as soon as possible."""
        return self._embed(self._for_latency, image)

    def embed_among_many(self, image: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(H, W, 3) to (D,), on the calling thread alone."""
        return self._embed(self._for_throughput, image)

    def _embed(self, encoder: Meanwhile[Any], image: NDArray[np.uint8]) -> NDArray[np.float32]:
        square = self.preprocess(image)  # (1, S, S, 3)
        (embedding,) = encoder.result().run(["embedding"], {"image": square})
        result: NDArray[np.float32] = embedding[0]
        return result

"""Images to embeddings, through the preprocessing and encoder graphs of a store: the mean of what
the encoder says of an image's looks."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from prd_edge.errors import StoreCorruptError
from prd_edge.inference import available_threads, open_graph, run_graph
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
        dimensions: int | None = None,
    ) -> None:
        """`dimensions`: those an embedding must have, where they are known."""
        self._dimensions = dimensions
        self.threads = min(threads or available_threads(), available_threads())
        self.preprocess = Preprocessor(preprocess_graph)
        self._encoder_graph = encoder_graph
        self._encoders: dict[int, Meanwhile[Any]] = {}
        self._lock = Lock()

    def _encoder(self, threads: int) -> Meanwhile[Any]:
        """The encoder on so many threads: loading, or loaded. A failure is not kept: memory may
        have been short for a moment."""
        with self._lock:
            loading = self._encoders.get(threads)
            if loading is None or loading.failed:
                loading = Meanwhile(
                    lambda: open_graph(self._encoder_graph(), "encoder.onnx", threads=threads)
                )
                self._encoders[threads] = loading
            return loading

    def prepare_for_one(self) -> None:
        """Begin to load what `embed_alone` needs; the caller may decode meanwhile."""
        self._encoder(self.threads)

    def prepare_for_many(self) -> None:
        """Begin to load what `embed_among_many` needs, once, before its threads start."""
        self._encoder(threads=1)

    def embed_alone(self, image: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(H, W, 3) to (D,), as soon as possible."""
        return self._run(self._encoder(self.threads), self.preprocess(image))

    def embed_among_many(self, image: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(H, W, 3) to (D,), on the calling thread alone."""
        return self.embed_looks(self.preprocess(image))

    def embed_looks(self, looks: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Those of one image (L, S, S, 3), preprocessed, to (D,), on the calling thread alone."""
        return self._run(self._encoder(threads=1), looks)

    def _run(self, encoder: Meanwhile[Any], looks: NDArray[np.uint8]) -> NDArray[np.float32]:
        embeddings = run_graph(encoder.result(), "encoder.onnx", "embedding", looks)  # (L, D)
        is_right = embeddings.ndim == 2 and embeddings.dtype == np.float32
        if not is_right or embeddings.shape[1] != (self._dimensions or embeddings.shape[1]):
            raise StoreCorruptError(
                f"encoder.onnx gives {embeddings.dtype} {embeddings.shape}, not embeddings of "
                f"{self._dimensions} dimensions"
            )
        if not np.isfinite(embeddings).all():
            raise StoreCorruptError("the encoder gave values that are not numbers")
        result: NDArray[np.float32] = embeddings.mean(axis=0)
        return result

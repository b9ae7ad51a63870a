"""Does the graph say what the torch module says? Asked of every graph before it is used."""

from __future__ import annotations

import numpy as np
import torch
from PIL import Image
from torch import nn

from prd_edge.errors import GuardRefusedError
from prd_edge.inference import open_graph, run_graph

PARITY_TOLERANCE = 1e-4
_NAME = "the graph of the encoder"
_AT_A_TIME = 4  # a whole network on many large images takes up much memory


def check_parity(
    module: nn.Module, graph: bytes, images: np.ndarray, tolerance: float = PARITY_TOLERANCE
) -> float:
    """Largest difference between torch and onnxruntime on uint8 images (N, S, S, 3).

    `module` is in evaluation mode. Raises GuardRefusedError above the tolerance.
    """
    parts = range(0, len(images), _AT_A_TIME)
    with torch.inference_mode():
        few = [module(torch.tensor(images[i : i + _AT_A_TIME])).numpy() for i in parts]
    expected = np.concatenate(few)  # (N, D)
    # One thread: a few images are not worth taking the cores from others.
    session = open_graph(graph, _NAME, threads=1)
    few = [run_graph(session, _NAME, "embedding", images[i : i + _AT_A_TIME]) for i in parts]
    actual = np.concatenate(few)
    difference = float(np.abs(actual - expected).max())
    if not difference <= tolerance:  # also true of NaN
        raise GuardRefusedError(
            f"the ONNX graph differs from the torch encoder by {difference:.2g} on {len(images)} "
            f"images, allowed is {tolerance:.2g}"
        )
    return difference


def parity_images(image_size: int, count: int = 4) -> np.ndarray:
    """Sample images squeezed to a square, uint8 (count, S, S, 3)."""
    from prd_edge.demo_data import sample_images

    size = (image_size, image_size)
    return np.stack(
        [np.asarray(Image.fromarray(image).resize(size)) for image in sample_images(count)]
    )

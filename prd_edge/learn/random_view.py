"""Random views of one picture, for encoders whose trunk is run once and kept.

A view is a square cut out of the decoded picture and then put through the store's own
preprocessing: what the encoder learns from is scaled exactly as what it will be asked about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prd_edge.learn.augment import GRAYSCALE_CHANCE, JITTER, LUMA
from prd_edge.preprocess import Preprocessor

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SMALLEST_CUT = 0.5  # of the short side


def random_view(
    image: NDArray[np.uint8], preprocess: Preprocessor, random: np.random.Generator
) -> NDArray[np.uint8]:
    """(H, W, 3) to (1, S, S, 3): a random square, mirrored or not, in changed colours."""
    height, width = image.shape[:2]
    side = max(1, round(random.uniform(_SMALLEST_CUT, 1.0) * min(height, width)))
    top, left = random.integers(0, height - side + 1), random.integers(0, width - side + 1)
    cut = image[top : top + side, left : left + side]
    if random.random() < 0.5:
        cut = cut[:, ::-1]
    return _recoloured(preprocess(np.ascontiguousarray(cut))[:1], random)  # the whole of the cut


def _recoloured(view: NDArray[np.uint8], random: np.random.Generator) -> NDArray[np.uint8]:
    brightness, contrast, saturation = random.uniform(1 - JITTER, 1 + JITTER, 3)
    if random.random() < GRAYSCALE_CHANCE:
        saturation = 0.0
    # All three are linear in the pixels: x ↦ brightness · (s · c · x + (1 − s) · c · gray) + rest
    luma = np.array(LUMA, np.float32)
    x = view.astype(np.float32)
    gray = x @ luma  # (1, S, S)
    mean = float(gray.mean()) * brightness
    scale = np.float32(brightness * contrast)
    rest = np.float32((1 - contrast) * mean)
    mixed = np.float32(saturation) * x + np.float32(1 - saturation) * gray[..., None]
    result: NDArray[np.uint8] = np.clip(np.rint(scale * mixed + rest), 0, 255).astype(np.uint8)
    return result

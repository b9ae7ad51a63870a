"""Random views of whole batches: crop, flip, colour jitter, grayscale (the paper's appendix).

Everything is drawn from one generator and done on the batch at once; there is no loop over images.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Generator, Tensor

JITTER = 0.4
GRAYSCALE_CHANCE = 0.2
LUMA = (0.299, 0.587, 0.114)


def random_views(images: Tensor, generator: Generator) -> Tensor:
    """uint8 images (N, S, S, 3) to uint8 views of the same shape."""
    x = images.permute(0, 3, 1, 2).float()  # (N, 3, S, S)
    x = _shift_and_flip(x, generator)
    x = _jitter(x, generator)
    return x.round_().clamp_(0, 255).to(torch.uint8).permute(0, 2, 3, 1)


def _uniform(n: int, low: float, high: float, generator: Generator) -> Tensor:
    return torch.empty(n, 1, 1, 1).uniform_(low, high, generator=generator)


def _shift_and_flip(x: Tensor, generator: Generator) -> Tensor:
    """Crops of an image padded by an eighth on each side, half of them mirrored."""
    n, _, size, _ = x.shape
    pad = size // 8
    padded = F.pad(x, (pad,) * 4)  # (N, 3, S + 2p, S + 2p)
    top, left = (torch.randint(0, 2 * pad + 1, (n, 1), generator=generator) for _ in range(2))
    along = torch.arange(size)
    rows, columns = top + along, left + along  # (N, S)
    mirrored = torch.rand(n, 1, generator=generator) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    of_image = torch.arange(n)[:, None, None, None]
    of_channel = torch.arange(3)[None, :, None, None]
    return padded[of_image, of_channel, rows[:, None, :, None], columns[:, None, None, :]]


def _jitter(x: Tensor, generator: Generator) -> Tensor:
    n = len(x)
    brightness, contrast, saturation = (
        _uniform(n, 1 - JITTER, 1 + JITTER, generator) for _ in range(3)
    )
    luma = x.new_tensor(LUMA).view(1, 3, 1, 1)
    x = x * brightness
    mean = (x * luma).sum(dim=1, keepdim=True).mean(dim=(2, 3), keepdim=True)
    x = mean + contrast * (x - mean)
    gray = (x * luma).sum(dim=1, keepdim=True)  # (N, 1, S, S)
    saturation = torch.where(_uniform(n, 0, 1, generator) < GRAYSCALE_CHANCE, 0.0, saturation)
    return gray + saturation * (x - gray)

"""Small pictures, and a network that starts from nothing: what the paper trains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from prd_edge.learn.augment import random_views
from prd_edge.learn.encoders.resnet18_scratch import untrained
from prd_edge.learn.learner import Views
from prd_edge.learn.recipes import PAPER, Recipe
from prd_edge.learn.session_views import Squares, two_of

_AT_A_TIME = 500
_MOST_VIEWS = 8  # of each picture, where they are remembered
_MOST_BYTES = 10**9  # that they may take up


class Pictures(NamedTuple):
    labels: np.ndarray  # (N,)
    squares: np.ndarray  # uint8 (N, S, S, 3)
    domains: np.ndarray | None = None  # (N,), in the order in which they come; None: there is one


@dataclass(frozen=True)
class Scale:
    """How much of the paper's protocol is run. The defaults are the paper's."""

    name: str = "full"
    base_width: int = 64  # of ResNet-18
    pixels: int | None = None  # the pictures are averaged down to; None: as they are
    per_class: int | None = None  # pictures to learn from; None: all
    epochs: int = 100
    batch_size: int = 128
    learning_rate: float = 0.01
    projection: tuple[int, int] = (512, 128)
    # Convolutions in half precision, where the processor has instructions for it.
    bfloat16: bool = True


FULL = Scale()
# Few epochs move a network only at a higher rate and in small batches; a head far wider than the
# features would learn in their place.
REDUCED = Scale("reduced", 8, 16, None, 8, 32, 0.05, (64, 64), bfloat16=False)
SCALES = {scale.name: scale for scale in (REDUCED, FULL)}


class RememberedViews:
    """A few random views of each picture, and what the snapshot says of them: made once a session,
    so that neither is done again in every epoch."""

    def __init__(
        self,
        squares: Tensor,
        classes: Tensor,
        views: int,
        snapshot: nn.Module | None,
        generator: Generator,
    ) -> None:
        made = [
            random_views(some, generator)
            for _ in range(views)
            for some in squares.split(_AT_A_TIME)
        ]
        self._count = views
        self._views = torch.cat(made)  # (V N, S, S, 3)
        self._classes = classes  # (N,)
        self._said = None if snapshot is None else _asked(snapshot, self._views)  # (V N, D)

    def __len__(self) -> int:
        return len(self._classes)

    def views(self, samples: Tensor, generator: Generator) -> Views:
        first, second = two_of(self._count, len(samples), generator)
        both = torch.cat([samples, samples])
        places = torch.cat([first, second]) * len(self) + both
        said = None if self._said is None else self._said[places]
        return Views(self._views[places], self._classes[both], said)


class InHalfPrecision(nn.Module):
    """The same network, its convolutions in bfloat16; weights and features stay as they are."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, inputs: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            features: Tensor = self.network(inputs)
        return features.float()


def has_bfloat16() -> bool:
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


@torch.inference_mode()
def _asked(network: nn.Module, squares: Tensor) -> Tensor:
    return torch.cat([network(some) for some in squares.split(_AT_A_TIME)])


@dataclass(frozen=True)
class PixelGround:
    """ResNet-18 in the memory layout that convolutions on a CPU like best."""

    scale: Scale
    seed: int = 0

    @property
    def width(self) -> int:
        return 8 * self.scale.base_width

    @property
    def contrasted(self) -> int:
        return self.width

    def network(self, seed: int) -> nn.Module:
        network: nn.Module = untrained(seed, self.scale.base_width)
        network = network.to(memory_format=torch.channels_last).eval()  # type: ignore[call-overload]
        return InHalfPrecision(network) if self.scale.bfloat16 and has_bfloat16() else network

    def session(
        self,
        part: Pictures,
        rows: np.ndarray,
        classes: np.ndarray,
        snapshot: nn.Module | None = None,
    ) -> Squares | RememberedViews:
        squares = torch.from_numpy(part.squares[rows])
        labels = torch.from_numpy(classes)
        views = min(_MOST_VIEWS, 2 * self.scale.epochs)  # no more than will be looked at
        if views * squares.nbytes > _MOST_BYTES:
            return Squares(squares[:, None], labels)
        generator = torch.Generator().manual_seed(1000 * self.seed + int(classes.max()))
        return RememberedViews(squares, labels, views, snapshot, generator)

    def features(self, network: nn.Module, part: Pictures, rows: np.ndarray) -> Tensor:
        return _asked(network, torch.from_numpy(part.squares[rows]))

    def recipe(self, pictures: int, known: int) -> Recipe:
        scale = self.scale
        return replace(
            PAPER,
            epochs=scale.epochs,
            batch_size=scale.batch_size,
            learning_rate=scale.learning_rate,
            projection=scale.projection,
        )

    def images(self, pictures: int, known: int) -> int:
        return self.scale.epochs * pictures


def averaged_down(pictures: Pictures, pixels: int | None) -> Pictures:
    """Each pixel the mean of those it stands for."""
    if pixels is None or pixels >= pictures.squares.shape[1]:
        return pictures
    found = []
    for some in torch.from_numpy(pictures.squares).split(_AT_A_TIME):
        small = F.adaptive_avg_pool2d(some.permute(0, 3, 1, 2).float(), pixels)
        found.append(small.round().to(torch.uint8).permute(0, 2, 3, 1).contiguous())
    return pictures._replace(squares=torch.cat(found).numpy())

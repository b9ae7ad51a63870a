"""The form of every torch encoder: pixels in, named stages in order, some of them embedded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from prd_edge.encoders.efficientnet_lite0 import SPREAD_EPS
from prd_edge.errors import InvalidInputError

IMAGENET_MEAN = (123.675, 116.28, 103.53)
IMAGENET_STD = (58.395, 57.12, 57.375)


class PixelScale(nn.Module):
    """(x − mean) / scale: uint8 images (N, S, S, 3) to float32 (N, 3, S, S).

    The constants are plain numbers: they are no weights, and no part of a state dict.
    """

    def __init__(self, mean: tuple[float, ...], scale: tuple[float, ...]) -> None:
        super().__init__()
        self.mean = mean
        self.scale = scale

    def forward(self, images: Tensor) -> Tensor:
        x = images.to(torch.float32)  # (N, S, S, 3)
        x = (x - x.new_tensor(self.mean)) / x.new_tensor(self.scale)
        return x.permute(0, 3, 1, 2)  # (N, 3, S, S), in channels-last memory: fast on CPUs


class UnitPool(nn.Module):
    """Mean over the image, then unit length: (N, C, H, W) to (N, C)."""

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(x.mean(dim=(2, 3)), dim=1)


class UnitSpread(nn.Module):
    """Standard deviation over the image, then unit length: (N, C, H, W) to (N, C)."""

    def forward(self, x: Tensor) -> Tensor:
        off = x - x.mean(dim=(2, 3), keepdim=True)
        # The root has no gradient at zero, where a channel is the same everywhere.
        return F.normalize(torch.sqrt((off * off).mean(dim=(2, 3)) + SPREAD_EPS), dim=1)


class StagePools(nn.Module):
    """The parts (N, C_s) that a stage's output (N, C_s, H, W) adds to the embedding: mean and
    spread; of the last one, whose channels are made for it, the mean alone."""

    def __init__(self, stages: tuple[str, ...]) -> None:
        super().__init__()
        self.stages = stages
        self.mean = UnitPool()
        self.spread = UnitSpread()

    def forward(self, stage: str, x: Tensor) -> list[Tensor]:
        if stage not in self.stages:
            return []
        return [self.mean(x)] if stage == self.stages[-1] else [self.mean(x), self.spread(x)]


class StagedEncoder(nn.Module):
    """An ordered chain of stages; the embedding joins the pooled outputs of some of them:

        x_s = stage_s(x_{s−1}),   embedding = [unit(mean(x_s)), unit(spread(x_s)) for s embedded]

    It can be cut before any stage. What the frozen trunk gives, features and the parts pooled on
    the way, is all that the trainable tail needs:

        x, early = encoder.run(encoder.normalise(images), stop="block11")
        _, late = encoder.run(x, start="block11")
        torch.cat([*early, *late], dim=1)  # = encoder(images)
    """

    def __init__(
        self,
        normalise: PixelScale,
        stages: Mapping[str, tuple[str, ...]],
        embedded_stages: tuple[str, ...],
        train_from: str,
    ) -> None:
        """`stages` gives, by name, the paths of the submodules that a stage runs one after another.
        Paths, not modules, so that parameters keep the names they have in published weights.
        `train_from` is the first stage that a session trains unless told otherwise.
        """
        super().__init__()
        self.normalise = normalise
        self.pools = StagePools(embedded_stages)
        self.stages = dict(stages)
        self.embedded_stages = embedded_stages
        self.train_from = train_from

    def forward(self, images: Tensor) -> Tensor:
        """uint8 images (N, S, S, 3) to embeddings (N, D)."""
        _, parts = self.run(self.normalise(images))
        return torch.cat(parts, dim=1)

    def run(
        self, x: Tensor, *, start: str | None = None, stop: str | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Features (N, C, H, W) after the stages from `start` up to, not including, `stop`; and
        the parts (N, C_s) of the embedding pooled on the way."""
        parts = []
        for name, modules in self.between(start, stop):
            for module in modules:
                x = module(x)
            parts += self.pools(name, x)
        return x, parts

    def between(
        self, start: str | None = None, stop: str | None = None
    ) -> Iterator[tuple[str, list[nn.Module]]]:
        """The stages from `start` up to, not including, `stop`, each with its modules."""
        names = list(self.stages)
        for name in (start, stop):
            if name is not None and name not in names:
                raise InvalidInputError(
                    f"no stage named {name!r}; choose one of {', '.join(names)}"
                )
        first = 0 if start is None else names.index(start)
        last = len(names) if stop is None else names.index(stop)
        for name in names[first:last]:
            yield name, [self.get_submodule(path) for path in self.stages[name]]

    def cut(self, images: Tensor, start: str) -> tuple[Tensor, Tensor]:
        """The features (N, C, h, w) that enter stage `start`, and the embedding (N, D)."""
        features, early = self.run(self.normalise(images), stop=start)
        _, late = self.run(features, start=start)
        return features, torch.cat([*early, *late], dim=1)

    def part_widths(self) -> tuple[int, ...]:
        """Widths of the embedding's parts. Call it in evaluation mode."""
        return self._widths(stop=None)

    def width_before(self, stage: str) -> int:
        """Of the parts pooled before it. Call it in evaluation mode."""
        return sum(self._widths(stop=stage))

    @torch.inference_mode()
    def _widths(self, stop: str | None) -> tuple[int, ...]:
        images = torch.zeros(1, 32, 32, 3, dtype=torch.uint8)
        _, parts = self.run(self.normalise(images), stop=stop)
        return tuple(part.shape[1] for part in parts)

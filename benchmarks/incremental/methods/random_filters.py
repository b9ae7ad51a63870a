"""Nothing trained: random filters on whitened patches (Coates & Ng 2011), and streaming LDA."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from incremental.methods.frozen import StreamingLda
from incremental.streams import Session, Stream

_FILTERS = 300
_PATCHES = 20_000
_CONTRAST, _WHITENING = 10.0, 0.1
_DEAD_ZONE = 0.25
_BYTES = 200_000_000  # that a batch may take up


class RandomFilters(StreamingLda):
    """φ(x) = [mean over each quarter of max(0, z − ¼), max(0, −z − ¼)],  z = W Z (patch − m).

    Patches have mean 0 and deviation about 1; Z whitens them as the first session's want it, and
    the filters W are some of its patches. Nothing changes afterwards, so nothing is forgotten.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(width=_FILTERS * 2 * 4)
        self.generator = torch.Generator().manual_seed(seed)
        self.side = 0
        self.filters = torch.zeros(0)
        self.middle = torch.zeros(0)

    def learn(self, stream: Stream, session: Session) -> None:
        if not self.side:
            self.side = max(3, round(stream.size * 6 / 32))
            self._fit(stream.train.squares[session.rows])
        super().learn(stream, session)

    def _fit(self, squares: np.ndarray) -> None:
        last = squares.shape[1] - self.side + 1
        shape = (_PATCHES,)
        pictures, tops, lefts = (
            torch.randint(most, shape, generator=self.generator).tolist()
            for most in (len(squares), last, last)
        )
        cut = np.stack(
            [
                squares[picture, top : top + self.side, left : left + self.side]
                for picture, top, left in zip(pictures, tops, lefts, strict=True)
            ]
        )
        patches = self._patches(cut)[:, :, 0]  # (M, P)
        self.middle = patches.mean(dim=0)
        values, vectors = torch.linalg.eigh(torch.cov(patches.T))
        whitening = vectors * (values + _WHITENING).rsqrt() @ vectors.T
        directions = F.normalize((patches[:_FILTERS] - self.middle) @ whitening, dim=1)
        self.filters = directions @ whitening  # (K, P)

    def _patches(self, squares: np.ndarray) -> Tensor:
        """(N, S, S, 3) to (N, P, places), each patch in contrast to its own mean."""
        x = torch.from_numpy(squares).permute(0, 3, 1, 2).float()
        patches = F.unfold(x, self.side)
        patches -= patches.mean(dim=1, keepdim=True)
        return patches / (patches.var(dim=1, keepdim=True) + _CONTRAST).sqrt()

    @torch.inference_mode()
    def features(self, part: Any, rows: np.ndarray) -> np.ndarray:
        found = []
        places = (part.squares.shape[1] - self.side + 1) ** 2
        at_a_time = max(1, _BYTES // (4 * places * (3 * self.side**2 + 4 * _FILTERS)))
        for some in np.array_split(rows, -(-len(rows) // at_a_time)):
            z = self.filters @ (self._patches(part.squares[some]) - self.middle[:, None])
            side = round(z.shape[2] ** 0.5)
            both = torch.cat([z, -z], dim=1).unflatten(2, (side, side))  # (n, 2 K, s, s)
            pooled = F.adaptive_avg_pool2d((both - _DEAD_ZONE).relu_(), 2)
            found.append(pooled.flatten(1).double().numpy())
        return np.concatenate(found)

"""Prototypes as the losses made them, in the place of class means: the paper's way.

Where nothing is trained they are means. All rows are equally long, so that in the plain metric the
nearest prototype is the one of the largest cosine.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from prd_edge.bank import PrototypeBank
from prd_edge.harvest import Harvest
from prd_edge.imprint import Imprinted, Judgement, judged
from prd_edge.readout import Readout, Temperature


class GradientPrototypes(NamedTuple):
    rows: Mapping[str, np.ndarray]  # by label, (D_t,)
    trained: slice  # their place in the embedding
    widths: tuple[int, ...]  # of all its parts, each of unit length

    def imprinted(
        self, bank: PrototypeBank, found: Harvest, held: np.ndarray, temperature: Temperature
    ) -> Imprinted:
        """The bank with the images found, judged by those of them that were held out (N,)."""
        labels = np.array(found.labels, dtype=object)
        taught = bank.add(found.embeddings[~held], list(labels[~held]))
        judgement = Judgement(temperature)
        if held.any():
            trial = Readout.of(self._in_place_of_means(taught))
            judgement = judged(
                trial, temperature, found.embeddings[held], labels[held], found.labels
            )
        complete = taught.add(found.embeddings[held], list(labels[held]))
        complete = self._in_place_of_means(complete).with_radii(judgement.radii)
        return Imprinted(complete, Readout.of(complete).at(judgement.temperature), judgement)

    def _in_place_of_means(self, means: PrototypeBank) -> PrototypeBank:
        prototypes = means.prototypes()
        starts = accumulate((0, *self.widths[:-1]))
        trained_parts = sum(start >= self.trained.start for start in starts)
        trained = np.stack([self.rows[label] for label in means.labels])
        prototypes[:, self.trained] = _of_length(trained, np.sqrt(trained_parts))
        return means.with_prototypes(_of_length(prototypes, np.sqrt(len(self.widths))))


def _of_length(rows: np.ndarray, length: float) -> np.ndarray:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    result: np.ndarray = rows * (length / np.where(norms > 0, norms, 1.0))
    return result

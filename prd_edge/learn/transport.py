"""Moving what is known of old classes along with the encoder, without their images.

Training changed the embedding from x to y in the trained dimensions. Both are known for the
session's own images, X (N, D) and Y (N, D_t), so the change can be fitted as a linear map of x,

    M = argmin ‖X M − (Y − X_t)‖² + ρ ‖M‖²,

a ridge around the identity: what the session says nothing about stays where it was. Old means
follow it, and so does the spread of the old images around them, to which the part of the change
that the map does not explain is added as noise.
"""

from __future__ import annotations

import numpy as np

from prd_edge.bank import PrototypeBank

RIDGE = 1.0


def transported(
    bank: PrototypeBank, before: np.ndarray, after: np.ndarray, trained: slice
) -> PrototypeBank:
    """The bank as the trained encoder would have filled it, as far as can be told.

    `before` (N, D): whole embeddings by the snapshot; `after` (N, D_t): the trained dimensions.
    """
    x = before.astype(np.float64)
    change = after - x[:, trained]  # (N, D_t)
    linear = _ridge(x, change)  # (D, D_t)
    unexplained = change - x @ linear
    noise = unexplained.T @ unexplained / len(x)  # (D_t, D_t)
    return bank.moved(linear, noise, trained)


def _ridge(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(N, D) and (N, E) to (D, E), through the smaller of the two Gram matrices."""
    if len(x) <= x.shape[1]:
        gram = x @ x.T
        gram[np.diag_indices(len(gram))] += RIDGE
        return x.T @ np.linalg.solve(gram, y)
    gram = x.T @ x
    gram[np.diag_indices(len(gram))] += RIDGE
    return np.linalg.solve(gram, x.T @ y)

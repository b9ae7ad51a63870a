"""Solve Σ X = B for a symmetric positive Σ in half the work of a general solver.

numpy has the factorisation, Σ = L Lᵀ, but no triangular solve; block by block it is all products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 64


def solve_positive(sigma: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """(D, D) and (D, C) to (D, C)."""
    lower = np.linalg.cholesky(sigma)
    size = len(lower)
    x = b.copy()
    for start in range(0, size, _BLOCK):  # L y = b, from the top
        rows = slice(start, start + _BLOCK)
        x[rows] = np.linalg.solve(lower[rows, rows], x[rows] - lower[rows, :start] @ x[:start])
    for start in reversed(range(0, size, _BLOCK)):  # Lᵀ x = y, from the bottom
        rows, below = slice(start, start + _BLOCK), slice(start + _BLOCK, size)
        rest = lower[below, rows].T @ x[below]
        x[rows] = np.linalg.solve(lower[rows, rows].T, x[rows] - rest)
    return x

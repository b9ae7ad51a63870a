from __future__ import annotations

import numpy as np
import pytest

from prd_edge.cholesky import solve_positive


@pytest.mark.parametrize("size", [1, 63, 64, 65, 200, 321])
@pytest.mark.parametrize("columns", [0, 1, 7])
def test_it_solves_what_the_general_solver_does(size: int, columns: int) -> None:
    generator = np.random.default_rng(size)
    factor = generator.normal(size=(size, size + 20))
    sigma = factor @ factor.T / size + 0.01 * np.eye(size)
    b = generator.normal(size=(size, columns))
    before = b.copy()
    np.testing.assert_allclose(
        solve_positive(sigma, b), np.linalg.solve(sigma, b), rtol=1e-7, atol=1e-9
    )
    np.testing.assert_array_equal(b, before)


def test_what_is_not_positive_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        solve_positive(-np.eye(3), np.ones((3, 1)))

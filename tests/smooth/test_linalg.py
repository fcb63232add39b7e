"""The linear algebra that solvers share."""

import numpy as np
import pytest

from softmargin.solvers import linalg as shared

RNG = np.random.default_rng(0)


@pytest.fixture(params=[4000, 20], ids=["whole", "blocks"])
def sizes(request, monkeypatch):
    """Factors made at once and in blocks."""
    monkeypatch.setattr(shared, "_WHOLE", request.param)
    monkeypatch.setattr(shared, "_BLOCK", 16)


def _definite(n, dtype=np.float64):
    Z = RNG.normal(size=(n, n))
    return (Z @ Z.T + n * np.eye(n)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_factor_solves_inverts_and_keeps_what_stood_above_it(sizes, dtype):
    A, digits = _definite(50, dtype), 1e-10 if dtype == np.float64 else 1e-3
    factor = shared.shifted_cholesky(A.copy())
    np.testing.assert_allclose(A @ factor(A[:, 0]), A[:, 0], atol=digits)
    np.testing.assert_array_equal(np.triu(factor.lower, 1), np.triu(A, 1))
    np.testing.assert_allclose(factor.triangle(), np.linalg.cholesky(A), atol=digits)
    np.testing.assert_allclose(A @ factor.inverse(), np.eye(50), atol=digits)


def test_a_matrix_without_full_rank_gets_the_smallest_shift(sizes):
    Z = RNG.normal(size=(60, 5))
    A = Z @ Z.T
    L = shared.shifted_cholesky(A.copy()).triangle()
    np.testing.assert_allclose(L @ L.T, A, atol=1e-9 * A.max())


@pytest.mark.parametrize("broken", [-1.0, np.nan, np.inf])
def test_a_matrix_that_is_not_definite_is_refused_with_a_remedy(sizes, broken):
    A = np.eye(40)
    A[30, 30] = broken
    with pytest.raises(ValueError, match="lower C"):
        shared.shifted_cholesky(A)
    assert shared.definite_cholesky(-np.eye(3)) is None


def test_bordered_system_equals_the_whole_matrix():
    A, u = _definite(8), RNG.normal(size=8)
    whole = np.block([[A, u[:, None]], [u[None, :], np.array([[20.0]])]])
    right = RNG.normal(size=9)
    system = shared.Bordered(shared.shifted_cholesky(A.copy()), u, 20.0)
    np.testing.assert_allclose(system(right), np.linalg.solve(whole, right))


def test_backtracking_takes_the_first_length_that_brings_its_share_and_says_where_it_is():
    found = shared.backtrack(lambda t: ((t - 0.2) ** 2, f"at {t}"), 0.04, -0.4)
    assert found == (0.25, pytest.approx(0.0025), "at 0.25")
    assert shared.backtrack(lambda t: (1.0 + t, None), 1.0, -1.0) is None


def test_a_border_without_a_pivot_leaves_its_unknown_alone():
    x, b = shared.bordered_solve(np.array([1.0, -2.0]), np.array([1.0, -1.0]), np.ones(2), 0.0, 3.0)
    np.testing.assert_array_equal(x, [1.0, -2.0])
    assert b == 0
    x, b = shared.bordered_solve(np.array([1.0, -2.0]), np.array([1.0, 1.0]), np.ones(2), 0.0, 3.0)
    assert x.sum() == pytest.approx(3.0)

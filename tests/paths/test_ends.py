"""At the end of the weights one class costs nothing, and nothing is left to pay."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel

from softmargin import paths


@pytest.mark.filterwarnings("ignore:the path is not exact")  # inside, where similarities are large
@pytest.mark.parametrize("pi", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(40))
def test_a_weight_path_ends_with_a_constant_that_costs_nothing(seed, pi):
    rng = np.random.default_rng(seed)
    X = 2 * rng.standard_t(1.5, size=(68, 1))
    y = np.where(rng.random(68) < 0.6, 1.0, -1.0)
    solution = paths.weight_path(X, y, C=7.0, kernel="poly", gamma=1.0, degree=2, coef0=0.0).at(pi)
    cost = 14.0 * np.where(y > 0, 1 - pi, pi)
    margins = y * (polynomial_kernel(X, degree=2, gamma=1.0, coef0=0.0) @ solution.coef + solution.intercept)
    assert float(cost @ np.maximum(1 - margins, 0)) <= 1e-13 * float(cost.sum())


@pytest.mark.parametrize("kernel", [None, "linear", "rbf", "laplacian", "poly", "precomputed", np.dot])
@pytest.mark.parametrize("maker", [paths.weight_path, paths.cost_path])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_where_no_row_supports_the_score_it_is_constant(maker, kernel, form):
    X = np.random.default_rng(0).normal(size=(30, 4))
    y, rows = X[:, 0] > 0.3, form(X @ X.T if kernel == "precomputed" else X)
    if kernel is np.dot and form is not np.asarray:
        pytest.skip("a callable takes dense rows")
    path = maker(rows, y, kernel=kernel)
    for t in (0.0, 1.0) if maker is paths.weight_path else (0.0,):
        scores = path.decision_function(rows, t)
        np.testing.assert_allclose(scores, path.at(t).intercept, atol=1e-9)
        np.testing.assert_allclose(path.decision_function(rows, [t, 0.5])[:, 0], scores, atol=1e-9)


def test_a_path_whose_objective_vanishes_at_an_end_is_certified_near_it():
    X = np.array([[9999e3], [10001e3], [10002e3]])  # similarities of 1e28: no digit of the scores is left
    with pytest.warns(ConvergenceWarning, match="not exact"):
        path = paths.balance_path(X, [0, 1, 1], C=800.0, kernel="poly", gamma=1.0, degree=2)
    assert path.gap >= path.at(2e-9).gap > 0.1

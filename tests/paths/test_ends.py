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


@pytest.mark.parametrize("make", [paths.cost_path, paths.weight_path, paths.balance_path])
@pytest.mark.parametrize("p", [1, 3])
def test_rows_that_are_all_zero_have_constant_paths_whatever_memory_holds(make, p, capfd):
    y, weight = np.arange(18) % 3 == 0, np.arange(18) % 4 + 1.0
    options = {} if make is paths.cost_path else {"C": 1.0}
    for rows in (np.zeros((18, p)), sparse.csr_array((18, p))):
        found = [make(rows, y, sample_weight=weight, **options) for _ in range(10)]
        scores = [path.decision_function(rows, path.breakpoints) for path in found]
        assert all(np.array_equal(one, scores[0]) for one in scores)
        assert np.ptp(scores[0], axis=0).max() == 0
        assert max(path.gap for path in found) <= 1e-12
    assert "On entry to" not in "".join(capfd.readouterr())

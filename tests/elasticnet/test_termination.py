"""A tolerance below what doubles can show is not reached, and the search for it ends."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from softmargin import MarginClassifier, RobustSVC


@pytest.mark.parametrize("rows", ["binary", "gaussian", "constant"])
@pytest.mark.parametrize(
    "model",
    [
        MarginClassifier(loss="logistic", l1_ratio=1.0, tol=1e-40, max_iter=10**8),
        MarginClassifier(loss="squared_hinge", l1_ratio=0.5, tol=1e-40, max_iter=10**8),
        MarginClassifier(loss="logistic", penalty="scad", l1_ratio=0.9, tol=1e-40, max_iter=10**6),
        RobustSVC(penalty="scad", l1_ratio=0.99, tol=1e-9, max_iter=10**6),
    ],
    ids=str,
)
def test_the_search_for_digits_that_do_not_come_ends(model, rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 2))
    X = {"binary": (X > 0).astype(float), "gaussian": X, "constant": np.column_stack([X[:, 0], np.ones(9)])}[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        solution = model.fit(X, np.arange(9) % 2).solution_
    assert np.isfinite(solution.gap)
    assert solution.converged == (solution.gap <= model.tol)

"""Rows far from zero, large constant columns and empty sparse rows cost machines of one corner no accuracy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from softmargin import MarginClassifier, ProbabilisticSVC, RobustSVC, TruncatedLogisticRegression, export, load, save
from softmargin.expansions import DenseFeatures, SparseFeatures
from softmargin.losses import BalancedHinge, Hinge
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve


@pytest.mark.parametrize("share", [0.5, 0.6, 0.9])
@pytest.mark.parametrize("loss", [Hinge(), BalancedHinge(0.5)], ids=["hinge", "balanced"])
def test_sparse_rows_most_of_which_are_empty_are_solved_as_dense_ones(share, loss):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(1100, 2))
    X[rng.random(1100) < share] = 0.0
    y = np.where(X[:, 0] + rng.normal(size=1100) > 0.5, 1.0, -1.0)
    many, few = (Problem(loss, made, y, np.full(1100, 0.3), ElasticNet(0.0)) for made in (
        SparseFeatures(sparse.csr_array(X)), DenseFeatures(X)))  # fmt: skip
    solutions = [solve(problem, tol=1e-3) for problem in (many, few)]
    assert all(solution.converged and solution.gap <= 1e-5 for solution in solutions)
    assert solutions[0].objective == pytest.approx(solutions[1].objective, rel=1e-5)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge", "least_squares"])
def test_a_linear_kernel_of_rows_far_from_zero_is_the_features(loss, offset):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(76, 6)) + offset) * 100
    y = (rng.normal(size=76) + X[:, 0] / 100 - offset > 0).astype(int)
    features, kernel = (MarginClassifier(loss=loss, kernel=kernel).fit(X, y) for kernel in (None, "linear"))
    assert kernel.solution_.converged
    assert kernel.solution_.objective == pytest.approx(features.solution_.objective, rel=1e-5)
    np.testing.assert_allclose(kernel.decision_function(X), features.decision_function(X), atol=1e-3)
    # in terms of the rows as they are, up to the rounding of their products
    products = X @ X[kernel.support_].T @ kernel.dual_coef_.ravel() + kernel.intercept_
    noise = 1e-14 * np.abs(kernel.dual_coef_).sum() * np.square(X).sum(axis=1).max()
    np.testing.assert_allclose(products, kernel.decision_function(X), atol=1e-3 + noise)


@pytest.mark.parametrize("place", [0, 2, 4])
@pytest.mark.parametrize("value", [1e2, 1e3, 1e4, 1e6])
@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array, sparse.csc_array], ids=["dense", "csr", "csc"])
@pytest.mark.parametrize("loss", ["hinge", "balanced_hinge"])
def test_a_large_constant_column_is_the_intercept_and_costs_no_accuracy(loss, made, value, place):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    without = MarginClassifier(loss=loss, C=100.0).fit(X, y)
    model = MarginClassifier(loss=loss, C=100.0).fit(made(np.insert(X, place, value, axis=1)), y)
    assert model.solution_.converged
    assert model.solution_.objective == pytest.approx(without.solution_.objective, rel=1e-5)


@pytest.mark.parametrize(
    "model",
    [
        TruncatedLogisticRegression(kernel="linear"),
        ProbabilisticSVC(kernel="linear", n_weights=4),
        RobustSVC(kernel="linear"),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("n", [80, 350])
def test_coefficients_of_a_linear_kernel_far_from_zero_serve_the_rows_as_they_are(model, n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) + np.array([1e4, 0.0, -50.0])
    y = (X[:, 1] + rng.normal(size=n) > 0).astype(int)
    model = clone(model).fit(X, y)
    dual, intercept = np.atleast_2d(model.dual_coef_), np.atleast_1d(model.intercept_)
    scores = X @ X[model.support_].T @ dual.T + intercept
    middle = scores.shape[1] // 2  # of class weights: the unweighted machine
    np.testing.assert_allclose(scores[:, middle], model.decision_function(X), atol=1e-4)


def test_a_moved_linear_kernel_goes_through_files_and_formulas(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3)) + 1e5
    y = (X[:, 0] + rng.normal(size=60) > 1e5).astype(int)
    model = MarginClassifier(loss="hinge", kernel="linear").fit(X, y)
    assert model.kernel_score_.kernel.origin is not None
    save(model, tmp_path / "model.softmargin")
    again = load(tmp_path / "model.softmargin")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    assert "SELECT" in export.to_sql(model, "rows").upper()

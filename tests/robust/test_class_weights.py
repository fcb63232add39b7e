"""Capped fits of many class weights at once are certified minima, as good as those of one weight at a time."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from softmargin import TruncatedLogisticRegression
from softmargin.expansions import DenseFeatures, Kernel, KernelColumns, SparseFeatures
from softmargin.losses import Logistic, TruncatedLogistic
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import majorizer, solve, solve_class_weights

TOL = 1e-4
WEIGHTS = np.array([0.1, 0.3, 0.45, 0.6, 0.8])
FACTORS = np.array([2 * WEIGHTS, 2 * (1 - WEIGHTS)])


def _problem(n=1500, p=4, offset=0.0, wrap=DenseFeatures, **more):
    rng = np.random.default_rng(n + p)
    X = rng.standard_normal((n, p))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.standard_normal(n) > 0.3, 1.0, -1.0)
    y[rng.random(n) < 0.1] *= -1
    return Problem(TruncatedLogistic(), wrap(X + offset), y, np.ones(n), ElasticNet(), **more)


def _weighted(problem, k):
    return problem.weighing(FACTORS[1, k], FACTORS[0, k])


def _sparse(X):
    return SparseFeatures(sparse.csr_matrix(X))


def _sparse_few(X):
    """Wide and nearly empty, as texts are."""
    return SparseFeatures(sparse.csr_matrix(np.where(np.abs(X) > 2.0, X, 0.0)))


def _kernel(X):
    return KernelColumns.from_rows(X, Kernel("rbf", gamma=0.2))


def _few_dimensions(X):
    """As many as a quadratic of four features has."""
    return KernelColumns.from_rows(X, Kernel("poly", gamma=0.2, degree=2, coef0=1.0))


@pytest.mark.parametrize(
    "problem",
    [
        _problem(),
        _problem(n=9000),
        _problem(n=6000, p=60),
        _problem(wrap=_sparse),
        _problem(p=1600, wrap=_sparse_few),
        _problem(offset=1e5),
        _problem(fit_intercept=False),
        _problem(wrap=_kernel),
        _problem(wrap=_kernel, fit_intercept=False),
        _problem(wrap=_few_dimensions),
    ],
    ids=[
        "whole",
        "sampled",
        "columns",
        "sparse",
        "no factor",
        "offset",
        "no intercept",
        "kernel",
        "kernel without intercept",
        "kernel of few dimensions",
    ],
)
def test_no_bound_that_touches_falls_by_more_than_the_tolerance(problem):
    for k, found in enumerate(solve_class_weights(problem, FACTORS, TOL)):
        one = _weighted(problem, k)
        assert found is not None
        assert found.converged
        assert found.gap <= TOL
        assert found.objective == pytest.approx(one.objective(found.coef, found.intercept), rel=1e-9)
        kept = one.loss.retained(one.margins(found.coef, found.intercept))
        bound = replace(one.with_loss(Logistic()), weights=one.weights * kept)
        below = solve(bound, found, tol=1e-10).objective
        # the bound certified may be another one, of rows retained a small step before
        assert bound.objective(found.coef, found.intercept) - below <= 3 * TOL * found.objective


@pytest.mark.parametrize(
    "problem", [_problem(), _problem(n=9000), _problem(wrap=_kernel)], ids=["features", "many rows", "kernel"]
)
def test_minima_are_as_low_as_those_of_one_weight_at_a_time(problem):
    inner = [1, 2, 3]  # at the outer ones a constant competes
    together = [one.objective for one in solve_class_weights(problem, FACTORS[:, inner], TOL)]
    alone = [solve(_weighted(problem, k), solver=majorizer(), tol=TOL).objective for k in inner]
    np.testing.assert_allclose(together, alone, rtol=5e-3)


@pytest.mark.parametrize("wrap", [DenseFeatures, _kernel])
def test_weights_may_come_in_any_order(wrap):
    problem, order = _problem(wrap=wrap), np.array([3, 0, 4, 1, 2])
    plain, shuffled = (solve_class_weights(problem, factors, TOL) for factors in (FACTORS, FACTORS[:, order]))
    for k, one in zip(order, shuffled, strict=True):
        np.testing.assert_array_equal(one.coef, plain[k].coef)


@pytest.mark.parametrize("wrap", [DenseFeatures, _kernel])
def test_labels_that_change_places_mirror_the_weights(wrap):
    weights = np.arange(1, 19) / 19
    factors = np.array([2 * weights, 2 * (1 - weights)])
    problem = _problem(wrap=wrap)
    plain = solve_class_weights(problem, factors, TOL)
    mirrored = solve_class_weights(replace(problem, y=-problem.y), factors[::-1], TOL)
    for one, other in zip(plain, mirrored, strict=True):
        assert other.objective == pytest.approx(one.objective, rel=1e-9)


def test_a_weight_that_gives_up_a_class_is_the_constant_classifier():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 2))
    y = np.where(rng.random(3000) < 0.2, 1.0, -1.0)
    problem = Problem(TruncatedLogistic(), DenseFeatures(X), y, np.ones(3000), ElasticNet())
    found = solve_class_weights(problem, FACTORS[:, -1:], TOL)[0]
    assert found.status == "degenerate"
    assert not np.any(found.coef)
    assert found.intercept < 0


@pytest.mark.parametrize(
    "problem",
    [_problem(n=500), _problem().with_loss(Logistic())],
    ids=["few rows", "convex"],
)
def test_other_problems_are_left_to_one_weight_at_a_time(problem):
    assert solve_class_weights(problem, FACTORS, TOL) == [None] * len(WEIGHTS)


def test_repeated_rows_equal_integer_weights():
    problem = _problem()
    X, y = problem.expansion.rows(), problem.y > 0
    times = np.random.default_rng(1).integers(1, 4, len(y))
    by_weight = TruncatedLogisticRegression().fit(X, y, sample_weight=times).predict_proba(X)
    repeated = TruncatedLogisticRegression().fit(np.repeat(X, times, axis=0), np.repeat(y, times)).predict_proba(X)
    assert np.abs(by_weight - repeated).mean() < 5e-3


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
def test_features_that_say_nothing_leave_the_probability_of_the_labels(wrap, fit_intercept):
    y = np.arange(1500) % 2 == 0
    X = wrap(np.zeros((1500, 3)))
    model = TruncatedLogisticRegression(fit_intercept=fit_intercept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the score is constant
        probability = model.fit(X, y).predict_proba(X[:1])[0, 1]
    assert not np.any(model.coef_)
    assert probability == pytest.approx(0.5, abs=0.05)

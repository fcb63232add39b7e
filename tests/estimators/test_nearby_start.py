"""Kernel fits from functions that other weights of their components made."""

import numpy as np
import pytest

from softmargin import AdditiveKernelClassifier, datasets, losses
from softmargin.expansions import AdditiveColumns
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers.components import selection
from softmargin.solvers.components.weighted_fit import WeightedFit


def fit_at(weights, loss, seed, fit_intercept=True):
    """Rows with costs over six decades, seen through four features of heavy tails."""
    rng = np.random.default_rng(seed)
    n = 200
    X = rng.standard_t(2, size=(n, 4))
    y = np.where(X[:, 0] + np.abs(X[:, 1]) + rng.normal(size=n) > 1, 1.0, -1.0)
    columns = AdditiveColumns.of_rows(X, interactions=False)
    costs = 10 ** rng.uniform(-3, 3, n)
    problem = Problem(loss, columns.weighted(weights), y, costs, ElasticNet(0.0), fit_intercept=fit_intercept)
    return WeightedFit.at(weights, problem, columns, np.arange(4), None, 1e-10)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", [losses.Logistic(), losses.SquaredHinge(), losses.HuberizedHinge()], ids=repr)
def test_a_fit_ends_at_its_minimum_whatever_the_components_weighed_before(loss, seed):
    far = [
        (1.0, 1.0, 1.0, 1.0),
        (1e2, 1e-2, 0.0, 1e2),
        (0.0, 0.0, 1e3, 0.0),
        (1e-2, 1e3, 1e1, 1e2),
        (0.0, 0.0, 0.0, 0.0),
    ]
    point = fit_at(np.array(far[0]), loss, seed)
    for weights in [*far[1:], *far]:
        point = point.reweighted(np.array(weights), 1e-10)
        afresh = fit_at(np.array(weights), loss, seed)
        assert point.solution.gap < 1e-3
        np.testing.assert_allclose(point.smoothed, afresh.smoothed, rtol=1e-5)


def test_without_an_intercept_there_is_none():
    point = fit_at(np.ones(4), losses.Logistic(), 0, fit_intercept=False).reweighted(np.full(4, 1e3), 1e-10)
    assert point.solution.intercept == 0
    assert point.solution.gap < 1e-6


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_a_start_from_a_part_of_the_rows_leads_to_the_same_minimum(loss, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_t(3, size=(1000, 3))
    y = np.sin(2 * X[:, 0]) + rng.normal(size=1000) > 0
    model = AdditiveKernelClassifier(loss=loss, tol=1e-6)
    scores = model.fit(X, y).decision_function(X)
    assert model.solution_.converged
    monkeypatch.setattr(selection, "_MANY_ROWS", 10**6)
    np.testing.assert_allclose(model.fit(X, y).decision_function(X), scores, atol=1e-3)
    assert model.solution_.converged


def test_components_of_a_table_of_words_are_fitted():
    try:
        table = datasets.load("german", encode=True, download=False)
    except datasets.DataNotFound as reason:
        pytest.skip(str(reason))
    X = np.asarray(table.X, dtype=float)  # some columns of words say nearly the same
    X, y = (X / np.maximum(X.std(axis=0), 1e-9))[:799], np.asarray(table.y)[:799]
    scores = AdditiveKernelClassifier().fit(X, y).decision_function(X)
    for at in (0, X.shape[1] // 2, X.shape[1]):
        rows = np.insert(X, at, 3.0, axis=1)
        model = AdditiveKernelClassifier().fit(rows, y)
        assert model.solution_.converged
        np.testing.assert_allclose(model.decision_function(rows), scores, atol=1e-6)

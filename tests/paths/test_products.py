"""Products along a path of many rows are those of every value by itself, and large elbows are followed exactly."""

from functools import cache

import numpy as np
import pytest

from softmargin import ProbabilisticSVC, paths
from softmargin.paths.exact.products import FEW, STRETCH, path_products

N, C = FEW + 100, 20.0


@cache
def _rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4))
    return X, np.where(X[:, 0] + rng.normal(size=N) > 0.5, 1.0, -1.0)


@cache
def _path():
    X, y = _rows()
    return paths.weight_path(X, y, C=C, kernel="rbf", gamma=0.3)


def _gap(pi, solution, K, y):
    """The relative duality gap, from the problem itself."""
    cost, h = 2 * C * np.where(y > 0, 1 - pi, pi), K @ solution.dual
    assert np.all((solution.dual * y >= 0) & (solution.dual * y <= cost * (1 + 1e-12)))
    primal = 0.5 * solution.dual @ h + cost @ np.maximum(1 - y * (h + solution.intercept), 0)
    return (primal - (solution.dual @ y - 0.5 * solution.dual @ h)) / primal


def test_a_path_with_a_large_elbow_is_optimal_at_every_value():
    (X, y), path = _rows(), _path()
    K = np.exp(-0.3 * np.square(X[:, None] - X[None]).sum(axis=2))
    values = [0.02, 0.2, 0.37, 0.5, 0.61, 0.8, 0.97, *path.breakpoints[10:-10:200]]
    free = [np.count_nonzero(_inside(path.at(pi).dual, pi, y)) for pi in values]
    assert max(free) > 64
    assert max(_gap(pi, path.at(pi), K, y) for pi in values) <= 1e-8
    assert path.gap <= 1e-8


def _inside(dual, pi, y):
    cost = 2 * C * np.where(y > 0, 1 - pi, pi)
    return (np.abs(dual) > 1e-9 * cost) & (np.abs(dual) < (1 - 1e-9) * cost)


def test_gaps_of_many_values_are_those_of_each_alone():
    path = _path()
    values = np.random.default_rng(0).permutation(np.linspace(0.001, 0.999, 3 * STRETCH))
    alone = [path.at(t).gap for t in values[:20]]
    np.testing.assert_allclose(path.gaps(values)[:20], alone, atol=1e-11)


def test_scores_of_many_values_are_those_of_each_alone():
    (X, _), path = _rows(), _path()
    values = np.random.default_rng(0).permutation(np.linspace(0.001, 0.999, 3 * STRETCH))
    alone = np.column_stack([path.decision_function(X[:30], t) for t in values])
    for scores in (path.decision_function(X[:30], values), path.scorer(values)(X[:30])):
        np.testing.assert_allclose(scores, alone, atol=1e-9)


@pytest.mark.parametrize("moving", [0.0, 0.1, 1.0])
def test_products_do_not_depend_on_how_many_multipliers_bend(moving):
    rng = np.random.default_rng(0)
    K, t = rng.normal(size=(N, 7)), np.sort(rng.random(2 * STRETCH + 5))
    u = rng.normal(size=N) + t[:, None] * rng.normal(size=N)
    u[:, rng.random(N) < moving] **= 2
    np.testing.assert_allclose(path_products(K, t, u), u @ K, atol=1e-10)


def test_probabilities_along_a_path_do_not_depend_on_how_many_rows_are_asked_at_a_time():
    X, y = _rows()
    model = ProbabilisticSVC(engine="path", C=C, kernel="rbf").fit(X, y)
    whole = model.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X[100:103]), whole[100:103], atol=1e-9)

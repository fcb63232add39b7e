"""Columns whose scales differ by many orders of magnitude leave every path complete and certified."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from softmargin import ProbabilisticSVC, paths
from softmargin.paths.exact.path import EXACT

MAKERS = {"cost": paths.cost_path, "weight": paths.weight_path, "balance": paths.balance_path}
THIRD = np.arange(20) % 3 == 0


def rows(seed, kind, ratio):
    """Few rows in two to four columns, the first of scale one."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(8, 25)), int(rng.integers(2, 5))
    X, y = rng.normal(size=(n, p)), np.arange(n) % 3 == 0
    if kind == "repeated":
        X = X[rng.integers(0, n, size=n)]
    elif kind == "contradicting":
        X[n // 2 : 2 * (n // 2)] = X[: n // 2]
    elif kind == "lattice":
        X = np.round(X)
    return X * np.r_[1.0, np.full(p - 1, ratio)], y


@pytest.mark.parametrize("kind", ["generic", "repeated", "contradicting", "lattice"])
@pytest.mark.parametrize("ratio", [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8])
@pytest.mark.parametrize("maker", MAKERS)
def test_a_path_over_columns_of_other_scales_is_complete_and_certified(maker, kind, ratio):
    for seed in range(4):
        path = MAKERS[maker](*rows(seed, kind, ratio))
        assert path.complete
        assert path.gap <= EXACT


@pytest.mark.parametrize("ratio", [1e-4, 1e-5, 1e-6])
def test_every_draw_of_two_columns_is_followed_without_a_warning(ratio):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for seed in range(40):
            X = np.random.default_rng(seed).normal(size=(20, 2)) * [1, ratio]
            assert paths.cost_path(X, THIRD).gap <= EXACT


@pytest.mark.parametrize("seed", [0, 5])
def test_probabilities_of_a_path_over_columns_of_other_scales(seed):
    X = np.random.default_rng(seed).normal(size=(20, 2)) * [0.1, 1e-6]
    share = ProbabilisticSVC(engine="path").fit(X, THIRD).predict_proba(X)
    assert np.all((share >= 0) & (share <= 1))


def test_where_a_direction_comes_in_is_no_breakpoint():
    X = np.random.default_rng(7).normal(size=(20, 2)) * [1, 1e-5]
    path = paths.cost_path(X, THIRD)
    assert np.all(np.diff(path.breakpoints) > 0)
    assert not set(path.breakpoints[1:-1]) & set(path._seams)
    np.testing.assert_array_equal(path.breakpoints[[0, -1]], path.range)


def test_a_path_without_a_start_says_why(monkeypatch):
    monkeypatch.setattr("softmargin.paths.exact.tracer.Tracer._repair", lambda *_: False)
    X = np.random.default_rng(7).normal(size=(20, 2))
    with pytest.raises(ValueError, match=r"could not be solved at .*multipliers undetermined\. Scale the features"):
        paths.weight_path(X, THIRD)
    with pytest.raises(ValueError, match=r"cost times squared row length reaches .*Lower C"):
        paths.weight_path(X, THIRD, C=1e10)

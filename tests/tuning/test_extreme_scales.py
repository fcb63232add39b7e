"""Candidates of absurd costs: what double precision cannot hold is refused by name, never by an error of arithmetic."""

import warnings

import numpy as np
import pytest

from softmargin import MarginClassifier, TunedClassifier
from softmargin.expansions import expand
from softmargin.losses import Logistic
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.tuning._left_out_scores import auto_costs


@pytest.mark.parametrize("scale", [1e-150, 1e-120])
def test_costs_whose_squares_overflow_are_refused_by_name(scale):
    X = scale * np.random.default_rng(0).normal(size=(353, 5))
    grid = {"C": "auto", "l1_ratio": [0.0, 0.5]}
    with pytest.raises(ValueError, match="standardise"):
        TunedClassifier(MarginClassifier(), cv=3, grid=grid, random_state=0).fit(X, X[:, 0] * X[:, 1] > 0)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "least_squares", "hinge"])
@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("criterion", ["auto", "cv", "alo", "aic"])
@pytest.mark.parametrize("value", [0.0, 1.0, 7e5])
def test_columns_that_say_nothing_give_the_constant_classifier(value, criterion, kernel, loss):
    X, y = np.full((20, 3), value), (np.arange(20) % 4 == 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned = TunedClassifier(MarginClassifier(loss=loss, kernel=kernel), criterion=criterion).fit(X, y)
    scores = tuned.decision_function(X)
    assert np.isfinite(scores).all()
    assert np.ptp(scores) == 0
    assert not tuned.predict(X).any()
    if hasattr(tuned, "predict_proba"):
        np.testing.assert_allclose(tuned.predict_proba(X)[:, 1], 0.25, atol=1e-3)


@pytest.mark.parametrize("scale", [1e-200, 1e-80, 1.0, 1e80, 1e157, 1e200])
def test_automatic_costs_follow_the_unit_of_the_features_without_an_overflow(scale):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    costs = []
    for unit in (1.0, scale):
        problem = Problem(Logistic(), expand(unit * X), y, np.ones(40), ElasticNet(0.0))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            costs.append(auto_costs(problem, 3))
    expected = np.clip(np.log10(costs[0][0]) - 2 * np.log10(scale), -300, 294)  # numbers that keep all their digits
    assert np.log10(costs[1][0]) == pytest.approx(expected, abs=1e-6)

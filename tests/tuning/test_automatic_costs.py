"""The automatic range of costs: numbers, whatever the unit of weights and columns."""

import numpy as np
import pytest

from softmargin import losses
from softmargin.expansions import DenseFeatures
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.tuning import auto_costs

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(120, 3))
SIGNS = np.where(ROWS[:, 0] + RNG.normal(size=120) > 0, 1.0, -1.0)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_automatic_costs_follow_the_unit_of_the_weights(unit, l1_ratio):
    X, y = ROWS, SIGNS
    costs = [
        auto_costs(Problem(losses.Logistic(), DenseFeatures(X), y, w * np.ones(120), ElasticNet(l1_ratio)), 5)
        for w in (1.0, unit)
    ]
    np.testing.assert_allclose(costs[0], costs[1] * unit, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-300, 1e-100, 1.0, 1e100, 1e300])
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("size", [0.0, 1e-160, 1e-20])
def test_automatic_costs_of_rows_without_a_pull_are_numbers(unit, l1_ratio, size):
    X, y = size * ROWS, SIGNS
    problem = Problem(losses.Logistic(), DenseFeatures(X), y, unit * np.ones(120), ElasticNet(l1_ratio))
    costs = auto_costs(problem, 5)
    assert np.isfinite(costs).all()
    assert (np.diff(costs) > 0).all()

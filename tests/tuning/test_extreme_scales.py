"""Candidates of absurd costs: what double precision cannot hold is refused by name, never by an error of arithmetic."""

import numpy as np
import pytest

from softmargin import MarginClassifier, TunedClassifier


@pytest.mark.parametrize("scale", [1e-150, 1e-120])
def test_costs_whose_squares_overflow_are_refused_by_name(scale):
    X = scale * np.random.default_rng(0).normal(size=(353, 5))
    grid = {"C": "auto", "l1_ratio": [0.0, 0.5]}
    with pytest.raises(ValueError, match="standardise"):
        TunedClassifier(MarginClassifier(), cv=3, grid=grid, random_state=0).fit(X, X[:, 0] * X[:, 1] > 0)

"""Penalty objects refuse what cannot scale a cost, and factors that are not one per column, by name."""

import numpy as np
import pytest

from softmargin import MarginClassifier, penalties

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = X[:, 0] + RNG.normal(size=60) > 0
KINDS = (penalties.ElasticNet, penalties.SCAD, penalties.MCP, penalties.AdaptiveL1)
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
@pytest.mark.parametrize(
    "bad", [[1.0, np.nan], [np.inf], [-1.0, 1.0], "abc", ["a"], 3.0, np.ones((2, 2)), [None], [1j]]
)
def test_factors_that_scale_nothing_are_refused(kind, bad):
    with pytest.raises(ValueError, match=r"^factors must be finite, nonnegative numbers, one per column; got"):
        kind(l1_ratio=0.5, factors=bad)


@every_kind
@pytest.mark.parametrize("bad", ["no", 0, None, [True]])
def test_positive_is_true_or_false(kind, bad):
    with pytest.raises(ValueError, match=r"^positive must be True or False; got"):
        kind(l1_ratio=0.5, positive=bad)


@every_kind
@pytest.mark.parametrize("length", [0, 1, 3, 5])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_factors_are_one_per_column(kind, length, l1_ratio):
    model = MarginClassifier(penalty=kind(l1_ratio=l1_ratio, factors=np.ones(length)))
    with pytest.raises(ValueError, match=rf"^factors must be one number for each of the 4 columns; got {length} of"):
        model.fit(X, Y)


@every_kind
def test_factors_of_one_change_nothing(kind):
    plain, scaled = (
        MarginClassifier(penalty=kind(l1_ratio=1.0, factors=factors), tol=1e-8).fit(X, Y) for factors in (None, [1] * 4)
    )
    np.testing.assert_allclose(plain.coef_, scaled.coef_, atol=1e-6)


@pytest.mark.parametrize("power", [1e308, 17.0, 0.0, -1.0, np.nan, np.inf, True, "1", None])
def test_powers_whose_factors_overflow_are_refused(power):
    with pytest.raises(ValueError, match=r"^power of AdaptiveL1 must be a positive number of at most 16; got"):
        penalties.AdaptiveL1(power=power)


@pytest.mark.parametrize("power", [0.5, 1, 16.0])
def test_the_steepest_power_is_fitted(power):
    model = MarginClassifier(penalty=penalties.AdaptiveL1(power=power)).fit(X, Y)
    assert np.isfinite(model.coef_).all()

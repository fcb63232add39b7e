"""The sandwich covariance against golden matrices and the closed form of the one-dimensional normal model."""

import json
from pathlib import Path

import numpy as np
import pytest

from softmargin import losses
from softmargin.inference import LinearFit, sandwich
from softmargin.inference._sandwich import kink_bandwidth, optimal_slope

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "balancing_svm.json").read_text())


def _case(name):
    return next(result for result in GOLDEN["sandwich"]["results"] if result["loss"] == name)


@pytest.mark.parametrize(
    ("name", "loss"),
    [("logistic", lambda case: losses.Logistic()), ("bsvm", lambda case: losses.BalancedHinge(case["v"]))],
)
def test_golden_covariance(name, loss):
    case = _case(name)
    X, y = np.array(GOLDEN["sandwich"]["X"]), np.array(GOLDEN["sandwich"]["y"])
    n, theta, loss = len(y), np.array(case["beta"]), loss(case)
    design = np.column_stack([np.ones(n), X])
    margins, cost = y * (design @ theta), np.full(n, 1 / (n * case["lam"]))
    ridge = np.array([0.0, 1.0, 1.0])
    slope = optimal_slope(loss, design * y[:, None], margins, cost, ridge * theta, np.ones(n))
    got = sandwich(LinearFit(loss, design, margins, np.ones(n), cost, ridge, slope, case.get("bandwidth")))
    np.testing.assert_allclose(got, case["cov"], rtol=1e-6)


@pytest.mark.parametrize(
    "case", [c for c in GOLDEN["toy_asymptotics"]["values"] if 0.1 <= c["v"] <= 5], ids=lambda c: f"v={c['v']}"
)
def test_large_sample_covariance_approaches_the_closed_form(case):
    rng = np.random.default_rng(0)
    n = 400_000
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    x = y + rng.normal(size=n)
    design = np.column_stack([np.ones(n), x])
    margins = y * case["beta1"] * x
    got = sandwich(LinearFit(losses.BalancedHinge(case["v"]), design, margins, np.ones(n), np.ones(n), np.zeros(2)))
    np.testing.assert_allclose(n * np.diag(got), case["avar"], rtol=0.05)


def test_a_row_repeated_counts_as_often():
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(50), rng.normal(size=(50, 2))])
    margins, count = rng.normal(size=50), rng.integers(1, 4, size=50)
    cost, ridge = np.full(50, 0.7), np.array([0.0, 1.0, 1.0])
    for loss in (losses.Logistic(), losses.Hinge()):
        rows = np.repeat(np.arange(50), count)
        one = LinearFit(loss, design, margins, count.astype(float), cost, ridge)
        many = LinearFit(loss, design[rows], margins[rows], np.ones(len(rows)), cost[rows], ridge)
        assert one.df == pytest.approx(many.df)
        for power in (0, 1, 2):
            weighted, repeated = sandwich(one, leverage_power=power), sandwich(many, leverage_power=power)
            np.testing.assert_allclose(weighted, repeated, rtol=1e-9)


def test_bandwidth_shrinks_faster_for_a_loss_that_is_flat_beyond_its_corner():
    margins = np.random.default_rng(0).normal(size=1000)
    wide = kink_bandwidth(margins, np.ones(1000), flat=False)
    assert kink_bandwidth(margins, np.ones(1000), flat=True) == pytest.approx(wide * 1000 ** (1 / 5 - 1 / 3))


def test_rows_on_a_corner_share_its_slopes_alike_whether_repeated_or_weighed():
    """More of them than columns, so that many slopes make the point stationary."""
    rng = np.random.default_rng(0)
    signed, margins = rng.integers(-1, 2, size=(30, 3)).astype(float), rng.choice([0.5, 1.0, 1.5], size=30)
    count, cost, pull = rng.integers(1, 5, size=30).astype(float), rng.uniform(0.5, 2, size=30), rng.normal(size=3)
    rows = np.repeat(np.arange(30), count.astype(int))
    for loss in (losses.Hinge(), losses.BalancedHinge(1.0)):
        weighed = optimal_slope(loss, signed, margins, cost, pull, count)
        repeated = optimal_slope(loss, signed[rows], margins[rows], cost[rows], pull, np.ones(len(rows)))
        np.testing.assert_allclose(weighed[rows], repeated, atol=1e-9)

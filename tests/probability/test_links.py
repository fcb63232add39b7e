"""Links fitted to scores: golden optima, brute force, and the limits the theory names."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from softmargin import losses
from softmargin.probability import (
    Sollich,
    fit_coherence,
    fit_score_map,
    fit_sigmoid,
    fit_temperature,
    keep_decision,
    margin_probability,
)
from softmargin.probability._score_map import _centred, _Likelihood

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "coherence.json").read_text())


@pytest.mark.parametrize("case", GOLDEN["rho_fit"], ids=lambda case: case["name"])
def test_temperature_is_the_global_minimum(case):
    link = fit_temperature(np.array(case["f"]), np.array(case["y"]), cost=case["u"], bounds=tuple(case["bounds"]))
    assert link.temperature == pytest.approx(case["rho"], rel=case["tol"]["rho_rtol"])
    assert link.log_loss == pytest.approx(case["ekl"], rel=1e-9)
    assert link.at_bound == case["at_bound"]
    assert len(link.local_minima) == len(case["local_minima"])
    for found, expected in zip(link.local_minima, case["local_minima"], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("case", GOLDEN["platt"], ids=lambda case: case["name"])
def test_sigmoid_matches_the_golden_optimum(case):
    link = fit_sigmoid(np.array(case["f"]), np.array(case["y"]), smooth=case["smoothed"])
    assert -link.slope == pytest.approx(case["A"], rel=1e-6)
    assert -link.offset == pytest.approx(case["B"], rel=1e-6)


@pytest.mark.parametrize(("f", "multiplier", "logit"), GOLDEN["sollich"]["rows"])
def test_sollich_log_odds(f, multiplier, logit):
    assert Sollich(multiplier).log_odds(f) == pytest.approx(logit, rel=1e-13)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_sigmoid_is_a_minimum_at_any_scale_of_the_scores(seed, scale):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(40) < 0.4, 1.0, -1.0)
    y[:2] = 1, -1
    f = y * 0.5 + rng.normal(size=40)
    weight = rng.integers(1, 4, size=40).astype(float)
    link = fit_sigmoid(f * scale, y, weight)
    repeated = fit_sigmoid(np.repeat(f * scale, weight.astype(int)), np.repeat(y, weight.astype(int)))
    np.testing.assert_allclose(
        [link.slope * scale, link.offset], [repeated.slope * scale, repeated.offset], rtol=1e-6, atol=1e-8
    )

    n_positive, n_negative = weight[y > 0].sum(), weight[y < 0].sum()
    target = np.where(y > 0, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def cost(point):
        s = point[0] * f + point[1]
        return weight @ (np.logaddexp(0, s) - target * s)

    best = minimize(cost, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9})
    assert cost([link.slope * scale, link.offset]) <= best.fun + 1e-8


def test_temperature_ignores_rows_of_zero_weight():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    f = y + rng.normal(size=60)
    weight = np.ones(60)
    weight[:20] = 0
    assert fit_temperature(f, y, weight).temperature == pytest.approx(fit_temperature(f[20:], y[20:]).temperature)


def test_joint_fit_is_no_worse_than_any_fixed_cost():
    rng = np.random.default_rng(1)
    y = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    f = y * 0.7 + rng.normal(size=200)
    joint = fit_coherence(f, y)
    assert all(joint.log_loss <= fit_temperature(f, y, cost=cost).log_loss + 1e-9 for cost in (0.0, 0.3, 1.0))


def test_a_sigmoid_ends_where_sums_have_no_more_digits(monkeypatch):
    """Scores far from zero: no step can bring the rounded gradient to zero, and none need try."""
    rng = np.random.default_rng(0)
    f = rng.normal(size=20_000)
    y = np.where(rng.random(20_000) < expit(1.3 * f - 0.2), 1.0, -1.0)
    rounds = []
    monkeypatch.setattr("softmargin.probability._sigmoid.expit", lambda s: rounds.append(0) or expit(s))
    link = fit_sigmoid(f + 1000, y)
    assert len(rounds) <= 12
    assert link.slope == pytest.approx(1.3, abs=0.05)
    assert link.log_odds(np.array([1000.0]))[0] == pytest.approx(-0.2, abs=0.05)


@pytest.mark.parametrize(("seed", "scale"), [(0, 1e-5), (1, 1.0), (2, 1e5), (3, 1.0)])
def test_joint_fit_finds_the_best_cost_of_a_fine_grid_at_any_scale(seed, scale):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    f = scale * np.clip(y * rng.uniform(0.3, 2) + rng.normal(size=60), -rng.uniform(0.8, 3), 1.2)
    joint = fit_coherence(f, y)
    fine = [fit_temperature(f, y, cost=cost).log_loss for cost in np.linspace(0, np.abs(f).max(), 25)]
    assert joint.log_loss <= min(fine) + 1e-7


def test_smoothed_targets_reach_the_coherence_link():
    f = np.array([-2.0, -1.5, 1.5, 2.0])
    y = np.sign(f)
    assert fit_temperature(f, y, cost=0.0).at_bound
    assert not fit_temperature(f, y, cost=0.0, smooth=True).at_bound


@pytest.mark.parametrize("k", [2, 3, 5])
def test_kept_decisions_are_the_nearest_probabilities_with_that_winner(k):
    rng = np.random.default_rng(k)
    P, winner = rng.dirichlet(np.ones(k), 200), rng.integers(k, size=200)
    Q = keep_decision(P, winner)
    np.testing.assert_array_equal(Q.argmax(axis=1), winner)
    np.testing.assert_allclose(Q.sum(axis=1), 1)
    agree = P.argmax(axis=1) == winner
    np.testing.assert_allclose(Q[agree], P[agree])
    other = rng.dirichlet(np.ones(k), (200, 50))
    other = np.where(other.argmax(axis=2)[..., None] == winner[:, None, None], other, Q[:, None])
    distance = (P * np.log(P / Q)).sum(axis=1)
    assert np.all(distance[:, None] <= (P[:, None] * np.log(P[:, None] / other)).sum(axis=2) + 1e-9)


@pytest.mark.parametrize("k", [2, 4])
def test_score_map_is_a_minimum_and_increasing(k):
    rng = np.random.default_rng(k)
    codes = rng.integers(k, size=120)
    F = 1.5 * np.eye(k)[codes] + rng.normal(size=(120, k))
    scores = F[:, 1] - F[:, 0] if k == 2 else F
    link = fit_score_map(scores, codes)
    assert link.slope >= 0
    assert link.bend >= 0
    likelihood = _Likelihood(_centred(scores) / link.unit, codes, np.ones(120))
    theta = np.r_[link.slope, link.bend, link.offsets, link.matrix.ravel()[: k * k * (k > 2)]]
    value, gradient = likelihood._value(theta)
    free = np.r_[np.flatnonzero(theta[:2] > 0), np.arange(2, len(theta))]
    np.testing.assert_allclose(gradient[free], 0, atol=1e-5)
    assert np.all(gradient[:2] >= -1e-5)
    step = 1e-5 * rng.normal(size=len(theta))
    slope = (likelihood._value(theta + 1000 * step)[0] - likelihood._value(theta - 1000 * step)[0]) / 2000
    assert abs(slope) < 1e-3
    assert value <= likelihood._value(theta + np.abs(step))[0]


@pytest.mark.parametrize("weight", [np.full(20, 1e150), np.full(20, np.nan), np.zeros(20), np.ones(19), "x"])
def test_score_map_refuses_weights_it_cannot_add_up(weight):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="weight"):
        fit_score_map(rng.normal(size=20), np.arange(20) % 2, weight)


def test_scores_whose_exponentials_overflow_leave_no_doubt():
    f = np.array([[800.0, 900.0, -1700.0], [-900.0, -800.0, 1700.0], [1e5, 0.0, -1e5]])
    P = margin_probability(f, losses.Exponential(), 0.5)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(P.argmax(axis=1), f.argmax(axis=1))
    assert P.max(axis=1).min() > 1 - 1e-9

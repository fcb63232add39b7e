"""Losses become one another at the ends of their parameters."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from softmargin import losses

U = np.linspace(-7.03, 6.01, 301)
PARTS = ("value", "slope", "curvature")


def same(one, other, parts=PARTS, rtol=1e-12, atol=1e-13):
    for name in parts:
        assert_allclose(getattr(one, name)(U), getattr(other, name)(U), rtol=rtol, atol=atol)


def test_coherence_tends_to_the_hinge_as_it_cools():
    for temperature in (1e-2, 1e-4, 1e-6):
        loss = losses.Coherence(temperature=temperature, cost=1.0, scale="V")
        excess = loss.value(U) - losses.Hinge().value(U)
        assert np.min(excess) >= -1e-15
        assert np.max(excess) <= temperature * math.log(2)


def test_coherence_without_cost_is_logistic():
    same(losses.Coherence(temperature=1.0, cost=0.0, scale="V"), losses.Logistic())


def test_coherence_is_a_logistic_loss_with_an_offset():
    loss = losses.Coherence(temperature=0.3, cost=0.8, scale="V")
    assert_allclose(loss.value(U), 0.3 * losses.Logistic().value((U - 0.8) / 0.3), rtol=1e-13)


def test_coherence_scales_differ_by_constants():
    units = {scale: losses.Coherence(temperature=0.7, cost=0.6, scale=scale) for scale in "CVL"}
    assert_allclose(units["C"].value(0.0), 0.6)
    assert_allclose(units["L"].value(0.0), 1.0)
    assert_allclose(units["C"].slope(U), 0.6 * units["L"].slope(U))
    assert_allclose(units["C"].score(0.8), units["V"].score(0.8))


def test_truncation_at_minus_infinity_is_the_base():
    same(losses.TruncatedLogistic(level=math.inf), losses.Logistic())
    same(losses.Truncated(losses.SquaredHinge(), at=-math.inf), losses.SquaredHinge())
    same(losses.TruncatedHinge(at=-math.inf), losses.Hinge())
    same(losses.TruncatedHinge(at=-50.0), losses.Hinge())


def test_truncated_logistic_is_logistic_truncated():
    loss = losses.TruncatedLogistic(level=1.7)
    same(loss, losses.Truncated(losses.Logistic(), at=loss.at))


def test_psi_is_twice_the_truncated_hinge_at_zero():
    assert_allclose(losses.Psi().value(U), 2 * losses.TruncatedHinge(at=0.0).value(U))


@pytest.mark.parametrize("name", ["welsch", "cauchy", "geman_mcclure", "tanh", "general_robust"])
def test_robust_losses_tend_to_the_squared_hinge(name):
    same(losses.get(name, sigma=math.inf), losses.SquaredHinge())
    same(losses.get(name, sigma=1e7), losses.SquaredHinge(), rtol=1e-9)
    assert_allclose(losses.get(name, sigma=1e6).probability(0.4), 0.7, rtol=1e-9)


def test_general_robust_contains_the_others():
    same(losses.GeneralRobust(shape=1.0, sigma=0.8), losses.SquaredHinge(), rtol=1e-11)
    same(losses.GeneralRobust(shape=0.0, sigma=0.8), losses.Cauchy(0.8))
    same(losses.GeneralRobust(shape=1e-10, sigma=0.8), losses.Cauchy(0.8), rtol=1e-8)
    same(losses.GeneralRobust(shape=-1.0, sigma=0.8), losses.GemanMcClure(0.8 * math.sqrt(2)))
    same(losses.GeneralRobust(shape=-math.inf, sigma=0.8), losses.Welsch(0.8), rtol=1e-11)
    same(losses.GeneralRobust(shape=-1e6, sigma=0.8), losses.Welsch(0.8), rtol=1e-2, atol=1e-5)


def test_robust_losses_survive_any_scale():
    for cls in (losses.Welsch, losses.Cauchy, losses.GemanMcClure, losses.TanhHinge, losses.GeneralRobust):
        for sigma in (1e-150, 1e-8, 1e8, 1e300):
            loss, u = cls(sigma=sigma), -np.array([0.0, 1.0, 1e8, 1e150])
            with np.errstate(all="raise"):
                parts = loss.evaluate(u)
            assert all(np.all(np.isfinite(part)) for part in parts), (cls, sigma)


def test_pseudo_huber_keeps_its_slope_at_the_end_of_the_line():
    loss = losses.GeneralRobust(shape=0.5, sigma=2.0)
    assert_allclose(loss.slope(-1e300), loss.slope(-1e100), rtol=1e-12)


def test_copas_without_flips_is_logistic():
    same(losses.Copas(flip_rate=0.0), losses.Logistic())


def test_copas_speaks_of_the_true_label():
    loss = losses.Copas(flip_rate=0.1)
    assert_allclose(loss.probability(loss.score(0.8)), 0.8)
    assert_allclose(loss.observed(0.8), 0.1 + 0.8 * 0.8)
    assert_allclose(loss.value(-1e8), -math.log(0.1))


def test_pregibon_with_a_far_threshold_is_logistic():
    same(losses.Pregibon(threshold=math.inf), losses.Logistic())
    same(losses.Pregibon(threshold=50.0), losses.Logistic())


def test_balanced_losses_have_familiar_members():
    assert_allclose(losses.BalancedConvex(losses.LogEntropy()).value(U), losses.Logistic().value(U) / math.log(2))
    same(losses.BalancedConvex(losses.Gini()), losses.ModifiedHuber())
    same(losses.BalancedConvex(losses.PowerEntropy(power=0.5)), losses.BalancedConvex(losses.Matsushita()))


@settings(max_examples=30, deadline=None)
@given(mu=st.floats(0, 0.99), z=st.floats(-50, 50))
def test_only_the_shape_of_an_entropy_matters(mu, z):
    scaled = losses.BalancedConvex(losses.Matsushita(mu=mu))
    plain = losses.BalancedConvex(losses.Matsushita())
    assert_allclose(scaled.value((1 - mu) * z), plain.value(z), rtol=1e-11)
    assert_allclose(scaled.probability((1 - mu) * z), plain.probability(z), rtol=1e-9)


def test_balanced_hinge_runs_from_the_hinge_to_a_wall():
    same(losses.BalancedHinge(balance=0.0), losses.Hinge())
    assert_allclose(losses.BalancedHinge(balance=1.0).value(U), np.abs(1 - U))
    assert losses.BalancedHinge(balance=3.0).kink.jump == 4.0


def test_power_two_is_half_of_least_squares():
    assert_allclose(losses.PowerMargin(power=2.0).value(U), losses.LeastSquares().value(U) / 2, rtol=1e-14)


def test_huberized_hinge_is_the_envelope_of_the_hinge():
    v = np.linspace(-0.1, 1.6, 8501)[:, None]
    envelope = np.min(v**2 / 3 + losses.Hinge().value(U + v), axis=0)
    assert_allclose(losses.HuberizedHinge(delta=1.5).value(U), envelope, atol=3e-4)

"""What must hold of every loss, whatever its formula."""

import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from softmargin import losses
from softmargin.losses import *  # noqa: F403  (repr must evaluate to the loss itself)
from softmargin.losses import Loss, NoLink

INF = inf = float("inf")
GRID = np.linspace(-15.03, 15.01, 3001)
margins = st.floats(-12, 12, allow_nan=False)
probabilities = st.floats(0.001, 0.999).filter(lambda p: abs(p - 0.5) > 1e-6)


def one_derivative(function, u, h):
    """The derivative of ``function`` at ``u``, or None near a corner."""
    ahead, behind = (function(u + h) - function(u)) / h, (function(u) - function(u - h)) / h
    return (ahead + behind) / 2 if abs(ahead - behind) <= 1e-3 * (1 + abs(ahead)) else None


@settings(max_examples=12, deadline=None)
@given(u=margins)
def test_slope_and_curvature_are_derivatives(loss, u):
    for function, derivative in ((loss.value, loss.slope), (loss.slope, loss.curvature)):
        expected = one_derivative(function, u, 1e-5)
        if expected is not None and np.isfinite(derivative(u)):
            assert_allclose(derivative(u), expected, rtol=1e-4, atol=1e-5)


def test_only_corners_escape_the_derivative_test(loss):
    """At most a handful of margins in 3001 are near a corner or a jump of the curvature."""
    h = 1e-5
    for function in (loss.value, loss.slope):
        ahead, behind = (function(GRID + h) - function(GRID)) / h, (function(GRID) - function(GRID - h)) / h
        assert np.sum(np.abs(ahead - behind) > 1e-3 * (1 + np.abs(ahead))) <= 12


def test_evaluate_agrees_with_the_three_functions(loss):
    for u in (GRID, np.tile(GRID, 12)):
        for part, name in zip(loss.evaluate(u), ("value", "slope", "curvature"), strict=True):
            assert part.dtype == u.dtype
            assert_allclose(part, getattr(loss, name)(u), rtol=1e-12, atol=1e-300)


def test_convex_flag_is_true(loss):
    slopes = loss.slope(GRID)
    increasing = np.all(np.diff(slopes) >= -1e-12 * np.max(np.abs(slopes)))
    assert increasing == loss.convex


def test_smooth_flag_is_true(loss):
    slopes = loss.slope(np.linspace(-3, 3, 600_001))
    largest_jump = np.max(np.abs(np.diff(slopes)))
    if loss.smooth:
        assert largest_jump < 0.02
        assert loss.kinks == ()
    else:
        assert largest_jump > 0.1
        for kink in loss.kinks:
            assert_allclose(loss.slope(kink.at - 1e-9), kink.left_slope, atol=1e-7)
            assert_allclose(loss.slope(kink.at + 1e-9), kink.right_slope, atol=1e-7)


def test_curvature_bound_holds_and_is_least(loss):
    bound, seen = loss.curvature_bound, np.max(loss.curvature(np.linspace(-6, 6, 24_001)))
    assert seen <= bound * (1 + 1e-12)
    if loss.convex and np.isfinite(bound):
        assert seen >= 0.98 * bound


def test_floor_is_the_infimum(loss):
    far = loss.value(np.r_[GRID, 40.0, 1e3, 1e8])
    assert np.min(far) >= loss.floor - 1e-12
    assert_allclose(np.min(far), loss.floor, atol=5e-3)


@settings(max_examples=12, deadline=None)
@given(u=margins, v=st.floats(-5, 5))
def test_conjugate_is_the_supremum(conjugated, u, v):
    loss = conjugated
    assert v * u - loss.value(u) <= loss.conjugate(v) + 1e-9 * (1 + abs(v * u))
    slope = loss.slope(u)
    if np.isfinite(loss.conjugate(slope)):
        touching = slope * u - loss.value(u)
        assert_allclose(loss.conjugate(slope), touching, rtol=1e-8, atol=1e-8 * (1 + abs(slope * u)))


@settings(max_examples=12, deadline=None)
@given(u=st.lists(st.floats(-30, 12), min_size=1, max_size=6))
def test_majoriser_touches_and_dominates(nonconvex, u):
    u = np.array(u)
    bound = nonconvex.majorize(u)
    assert bound.loss.convex
    assert np.all(bound.weights >= 0)
    assert_allclose(bound.value(u), nonconvex.value(u), rtol=1e-10, atol=1e-10)
    grid = np.broadcast_to(np.linspace(-40, 15, 4001)[:, None], (4001, u.size))
    assert np.min(bound.value(grid) - nonconvex.value(grid)) >= -1e-9


def test_majoriser_stays_valid_at_extreme_margins(nonconvex):
    u = np.array([-1e6, -1e3, 1e3, 1e6])
    bound = nonconvex.majorize(u)
    assert_allclose(bound.value(u), nonconvex.value(u), rtol=1e-6, atol=1e-8)


@settings(max_examples=10, deadline=None)
@given(p=probabilities, weight=st.floats(0.05, 0.95))
def test_probability_inverts_score(linked, p, weight):
    score = linked.score(p, weight=weight)
    assume(np.isfinite(score))  # label noise can put a weighted rate outside what the model allows
    # scores near the end of their range are rounded: the next double tells what that does to a probability
    back, beside = (linked.probability(f, weight=weight) for f in (score, np.nextafter(score, 0.0)))
    assert_allclose(back, p, rtol=1e-9, atol=4 * abs(float(back - beside)))


@settings(max_examples=8, deadline=None)
@given(p=probabilities, weight=st.floats(0.1, 0.9))
def test_score_minimises_the_weighted_risk(scored, p, weight):
    loss = scored
    assume(abs(p - weight) > 1e-6)  # at a tie of two minimisers the score is 0, between them
    score = float(loss.score(p, weight=weight))
    seen = float(loss.observed(p))

    def risk(f):
        return (1 - weight) * seen * loss.value(f) + weight * (1 - seen) * loss.value(-f)

    best = np.min(risk(np.r_[np.linspace(-60, 60, 12_001), np.linspace(-2, 2, 4001)]))
    assert risk(np.clip(score, -1e8, 1e8)) <= best + 1e-9


@settings(max_examples=8, deadline=None)
@given(p=probabilities)
def test_fisher_consistency_by_brute_force(loss, p):
    assume(abs(p - 0.5) > 0.01)
    seen = loss.observed(p)
    f = np.linspace(-20, 20, 8001)
    risk = seen * loss.value(f) + (1 - seen) * loss.value(-f)
    right = f > 0 if p > 0.5 else f < 0
    assert np.min(risk[right]) < np.min(risk[~right])


def test_probability_increases_and_is_symmetric(linked):
    p = linked.probability(GRID)
    assert np.all(np.diff(p) >= -1e-15)
    assert_allclose(p + linked.probability(-GRID), 1, rtol=1e-12)
    assert linked.probability(0.0) == 0.5


@pytest.mark.parametrize(
    ("loss", "remedy"),
    [
        (losses.Hinge(), "ProbabilisticSVC"),
        (losses.BalancedHinge(2.0), "ScoreCalibrator"),
        (losses.Psi(), "method='psi'"),
        (losses.TruncatedHinge(), "ProbabilisticSVC"),
        (losses.TruncatedLogistic(), "scheme 1, 2 or 3"),
        (losses.Truncated(), "TruncatedLogisticRegression"),
        (losses.Welsch(1.41), "below 1.41421"),
        (losses.Cauchy(0.99), "Raise sigma"),
        (losses.GemanMcClure(1.73), "below 1.73205"),
        (losses.TanhHinge(1.403), "below 1.40336"),
        (losses.GeneralRobust(-1.0, 1.22), "ScoreCalibrator"),
    ],
    ids=repr,
)
def test_losses_without_probabilities_say_what_to_use(loss, remedy):
    with pytest.raises(NoLink, match=remedy):
        loss.probability(0.3)


def test_untruncated_losses_keep_the_link_of_their_base():
    f = np.linspace(-3, 3, 13)
    for loss in (losses.TruncatedLogistic(level=INF), losses.Truncated(losses.Logistic(), at=-INF)):
        assert_allclose(loss.probability(f), losses.Logistic().probability(f), rtol=1e-15)


def test_certain_labels_have_extreme_scores(scored):
    ends = scored.score(np.array([0.0, 0.5, 1.0]))
    assert not np.any(np.isnan(ends))
    assert ends[0] == -ends[2]
    assert ends[2] > 0
    assert ends[1] == 0


def test_extreme_margins_are_silent_and_never_nan(loss):
    u = np.array([-1e300, -1e8, -1e3, -1.0, 0.0, 1.0, 1e3, 1e8, 1e300])
    single = u[1:-1].astype(np.float32)
    with np.errstate(all="raise"):
        for name in ("value", "slope", "curvature"):
            function = getattr(loss, name)
            seen = function(u)
            assert not np.any(np.isnan(seen)), name
            low = function(single)
            assert low.dtype == np.float32
            assert not np.any(np.isnan(low)), name
        assert np.all(np.isfinite(loss.slope(u[2:-2])) | (loss.name == "exponential"))
        loss.majorize(u[1:-1])
        loss.evaluate(u)


def test_scalars_stay_scalars_and_shapes_are_kept(loss):
    for name in ("value", "slope", "curvature"):
        function = getattr(loss, name)
        assert np.ndim(function(0.5)) == 0
        assert np.ndim(function(1)) == 0
        assert function(np.zeros((3, 2))).shape == (3, 2)
        assert function(np.zeros(0)).shape == (0,)
        assert function(np.array([1, 0, -1])).dtype == np.float64


def test_repr_hash_equality_and_pickle(loss):
    again = eval(repr(loss))
    assert again == loss
    assert hash(again) == hash(loss)
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert isinstance(loss, Loss)


def test_report_finds_nothing_wrong(loss):
    report = losses.check_loss(loss)
    assert report.ok, str(report)


def test_every_registered_loss_is_in_the_catalogue(request):
    from_tests = {param.name for mark in ("CONVEX", "NONCONVEX") for param in catalogue(request, mark)}
    assert set(losses.available()) == from_tests


def catalogue(request, which):
    plugin = next(p for p in request.config.pluginmanager.get_plugins() if hasattr(p, "NONCONVEX"))
    return getattr(plugin, which)


@pytest.mark.parametrize("weight", [0.0, 1.0, -0.3])
def test_weight_must_be_a_share(weight):
    with pytest.raises(ValueError, match="weight must be strictly between 0 and 1"):
        losses.Logistic().probability(0.3, weight=weight)
    with pytest.raises(ValueError, match="weight"):
        losses.Copas(0.1).score(0.3, weight=weight)


def test_scores_of_impossible_probabilities_are_refused():
    with pytest.raises(ValueError, match="p must be between 0 and 1"):
        losses.Logistic().score(1.2)


def test_a_loss_knows_whether_it_has_a_conjugate(loss):
    if loss.has_conjugate:
        loss.conjugate(-0.5)
    else:
        with pytest.raises(NotImplementedError, match="no closed-form conjugate"):
            loss.conjugate(-0.5)

"""A user's loss is looked at when first used: what would be fitted wrongly is refused with the remedy."""

import copy
import dataclasses
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softmargin import MarginClassifier, losses
from softmargin.expansions import expand
from softmargin.losses import Kink, Loss
from softmargin.losses._corners import find_corners, find_jump
from softmargin.losses._infimum import infimum
from softmargin.losses._soundness import ensure_sound
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=80) > 0, 1.0, -1.0)


def fit(loss):
    return MarginClassifier(loss=loss, C=0.5).fit(X, Y)


def deviance(u):
    return np.logaddexp(0, -u)


@pytest.mark.parametrize("name", losses.available())
def test_the_corners_found_are_those_a_loss_declares(name):
    loss = losses.get(name)
    found, known = find_corners(loss.value), sorted(loss.kinks)
    assert len(found) == len(known)
    for one, other in zip(found, known, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)


@settings(max_examples=50, deadline=None)
@given(at=st.floats(-5, 5), left=st.floats(-4, -0.1), jump=st.floats(0.05, 5))
def test_a_corner_is_found_wherever_it_is_and_a_narrow_bend_is_none(at, left, jump):
    ((found, before, after),) = find_corners(lambda u: np.exp(-u / 4) + left * u + jump * np.maximum(u - at, 0))
    tilt = left - np.exp(-at / 4) / 4
    np.testing.assert_allclose([found, before, after], [at, tilt, tilt + jump], atol=1e-3)
    assert find_corners(lambda u: left * u + jump * 1e-3 * np.logaddexp(0, (u - at) / 1e-3)) == ()


@settings(max_examples=25, deadline=None)
@given(at=st.floats(0.05, 3), left=st.floats(-3, -0.2), right=st.floats(0, 2))
def test_two_straight_lines_are_solved_as_the_machine_they_are(at, left, right):
    loss = losses.make_loss(lambda u: np.where(u < at, left, right) * (u - at) + 0.3)
    assert not loss.smooth
    np.testing.assert_allclose(loss.kink, Kink(at, left, right), atol=1e-6)
    assert losses.check_loss(loss)["corners"].passed
    model = fit(loss)
    margins = Y * model.decision_function(X)
    objective = 0.5 * loss.value(margins).sum() + 0.5 * float(model.coef_[0] @ model.coef_[0])
    for _ in range(20):
        coef, shift = model.coef_[0] + 0.05 * RNG.normal(size=3), 0.05 * RNG.normal()
        other = 0.5 * loss.value(Y * (X @ coef + model.intercept_[0] + shift)).sum() + 0.5 * float(coef @ coef)
        assert other >= objective - 1e-4 * abs(objective)


def test_a_hinge_written_by_hand_is_the_hinge():
    own = losses.make_loss(lambda u: np.maximum(0, 1 - u))
    assert own.kink == losses.Hinge().kink
    assert "slope=two straight lines, curvature=zero" in repr(own)
    np.testing.assert_allclose(fit(own).coef_, fit("hinge").coef_, atol=1e-9)


@dataclass(frozen=True)
class Sloped(Loss):
    """A subclass whose slope is ``factor`` times the derivative of its value."""

    factor: float = 1.0

    def _value(self, u):
        return deviance(u)

    def _slope(self, u):
        return -self.factor / (1 + np.exp(u))

    def _curvature(self, u):
        return np.exp(-np.abs(u)) / (1 + np.exp(-np.abs(u))) ** 2


def test_an_own_class_with_right_derivatives_is_used():
    np.testing.assert_allclose(fit(Sloped()).coef_, fit("logistic").coef_, atol=1e-4)


MISTAKES = {
    "kinked": (
        lambda: losses.make_loss(lambda u: np.where(u < 0, 1 - 2 * u, np.exp(-u))),
        "corner at margin.*Round the",
    ),
    "three lines": (
        lambda: losses.make_loss(lambda u: np.maximum(0, 1 - u) + np.maximum(0, -u)),
        "corner at margin.*Round the",
    ),
    "called smooth": (lambda: losses.make_loss(lambda u: np.maximum(0, 1 - u), smooth=True), "called smooth.*margin 1"),
    "increasing": (lambda: losses.make_loss(np.exp), "does not prefer right labels.*value\\(-u\\)"),
    "even": (lambda: losses.make_loss(np.square), "does not prefer right labels"),
    "constant": (lambda: losses.make_loss(np.ones_like), "does not prefer right labels"),
    "wrong slope": (
        lambda: losses.make_loss(deviance, slope=lambda u: -np.exp(-u)),
        "its slope at margin .* is .* but",
    ),
    "wrong class": (lambda: Sloped(1.1), "its slope at margin .* is .* but"),
    "called convex": (
        lambda: losses.make_loss(lambda u: 1 / (1 + np.exp(np.minimum(u, 50))) ** 2, convex=True),
        "called convex.*weight= or majorize=",
    ),
    "nan far out": (
        lambda: losses.make_loss(lambda u: np.where(u > -50, deviance(u), np.nan), deviance_slope),
        "its value is nan at margin -100.*np.logaddexp",
    ),
    "step": (lambda: losses.make_loss(lambda u: (u < 0) * 1.0), "jumps by -1 at margin 0,"),
    "step on a parabola": (
        lambda: losses.make_loss(lambda u: np.maximum(1 - u, 0) ** 2 + 3.0 * (u < 0)),
        "jumps by -3 at margin 0,",
    ),
    "staircase": (lambda: losses.make_loss(lambda u: np.floor(-u)), "its value jumps by -1 at margin"),
    "a line": (lambda: losses.make_loss(lambda u: -u), "falls for ever"),
    "minus a root": (
        lambda: losses.make_loss(lambda u: np.where(u < 0, -u, 1 - np.sqrt(1 + 2 * np.maximum(u, 0))), convex=True),
        "falls for ever",
    ),
    "below its floor": (lambda: Lowered(), "its floor is 0, but it goes down to -1"),
    "wrong curvature": (
        lambda: losses.make_loss(deviance, curvature=lambda u: -np.ones_like(u)),
        "its curvature at margin .* is -1, but its slope rises",
    ),
    "nan curvature": (
        lambda: losses.make_loss(deviance, curvature=lambda u: np.full_like(u, np.nan)),
        "its curvature is nan at margin",
    ),
    "nan slope": (
        lambda: losses.make_loss(deviance, slope=lambda u: np.where(u > 5, np.nan, deviance_slope(u)), convex=True),
        "its slope is nan at margin",
    ),
}


def deviance_slope(u):
    return -1 / (1 + np.exp(u))


@dataclass(frozen=True)
class Lowered(Sloped):
    """A subclass that forgets to lower its floor with its values."""

    def _value(self, u):
        return deviance(u) - 1


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_refused_where_it_would_be_used(mistake):
    make, message = MISTAKES[mistake]
    with np.errstate(all="ignore"):
        loss = make()
    with pytest.raises(ValueError, match=message):
        fit(loss)
    with pytest.raises(ValueError, match=message):
        Problem(loss, expand(X), Y, np.ones(80), ElasticNet(0.0))


@pytest.mark.parametrize(
    ("mistake", "check"),
    [
        ("step", "continuity"),
        ("staircase", "continuity"),
        ("a line", "floor"),
        ("below its floor", "floor"),
        ("wrong curvature", "curvature"),
    ],
)
def test_the_report_sees_what_is_refused(mistake, check):
    assert losses.check_loss(MISTAKES[mistake][0]())[check].passed is False


@settings(max_examples=50, deadline=None)
@given(at=st.floats(-5, 5), size=st.floats(0.01, 10), sign=st.sampled_from([-1, 1]))
def test_a_jump_is_found_wherever_it_is_and_a_steep_slope_is_none(at, size, sign):
    where, jump = find_jump(lambda u: np.exp(-u / 2) + sign * size * (u < at))
    np.testing.assert_allclose([where, jump], [at, -sign * size], atol=1e-5)
    assert find_jump(lambda u: np.exp(-u / 2) + size * np.maximum(at - u, 0)) is None
    assert find_jump(lambda u: np.exp(-u / 2) + sign * size * np.tanh((u - at) / 1e-3)) is None


@pytest.mark.parametrize("name", losses.available())
def test_the_infimum_measured_is_the_floor_a_loss_declares(name):
    loss = losses.get(name)
    for shift in (0.0, -5.0, 3.0):
        np.testing.assert_allclose(infimum(lambda u, shift=shift: loss.value(u) + shift), loss.floor + shift, atol=1e-7)


@settings(max_examples=50, deadline=None)
@given(at=st.floats(-500, 500), low=st.floats(-100, 100), power=st.floats(0.5, 3))
def test_the_infimum_is_found_inside_and_in_the_tail(at, low, power):
    np.testing.assert_allclose(infimum(lambda u: (u - at) ** 2 + low), low, atol=1e-6 + 1e-8 * at**2)
    np.testing.assert_allclose(infimum(lambda u: low + (1 + np.maximum(u, 0)) ** -power), low, atol=1e-4)
    assert infimum(lambda u: -low * 1e-3 - np.log1p(np.maximum(u, 0))) == -np.inf


@pytest.mark.parametrize("value", [deviance, lambda u: (1 - u) ** 2, lambda u: np.hypot(1 - u, 1) + 1 - u])
@pytest.mark.parametrize("shift", [-5.0, 0.7, 3.0])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_a_constant_added_to_a_loss_changes_no_fit(value, shift, l1_ratio):
    def fitted(loss):
        return MarginClassifier(loss=loss, C=0.5, l1_ratio=l1_ratio, tol=1e-9).fit(X, Y).coef_

    moved = losses.make_loss(lambda u: value(u) + shift)
    np.testing.assert_allclose(fitted(moved), fitted(losses.make_loss(value)), atol=1e-3)
    assert losses.check_loss(moved)["floor"].passed


@pytest.mark.parametrize("floor", [3.0, 1e-3])
def test_a_floor_above_a_value_is_refused(floor):
    with pytest.raises(ValueError, match="floor must be no larger than any value of the loss, which goes down to 0"):
        losses.make_loss(deviance, floor=floor)
    assert losses.make_loss(deviance, floor=-1).floor == -1.0


ARGUMENTS = {
    "value": (3, None, "logistic"),
    **dict.fromkeys(("slope", "curvature", "weight"), (3, "yes", [1.0], True)),
    "log_odds": (3, "yes", lambda f: f * np.nan, lambda f: 1.0),
    "majorize": (3, "yes", lambda u: None, lambda u: u, lambda u: 1 / 0, lambda: None),
    **dict.fromkeys(("convex", "smooth"), ("yes", 1, [True])),
    "name": (3, None, b"mine"),
    "curvature_bound": (-1, np.nan, "1", True, [1.0]),
    "floor": (np.nan, -np.inf, "0", True, [0.0]),
    "base": (3, "hinge", losses.Welsch()),
}


@pytest.mark.parametrize(("name", "bad"), [(name, bad) for name, values in ARGUMENTS.items() for bad in values])
def test_what_an_argument_of_a_loss_cannot_mean_is_refused_by_name(name, bad):
    given = {"value": deviance, **({"weight": np.ones_like} if name == "base" else {}), name: bad}
    with pytest.raises(ValueError, match=f"^{name} must be "):
        losses.make_loss(**given)


def test_the_report_sees_a_corner_that_a_loss_does_not_declare():
    loss = losses.make_loss(lambda u: np.where(u < 0, 1 - 2 * u, np.exp(-u)), smooth=True)
    assert losses.check_loss(loss)["corners"].passed is False
    assert losses.check_loss(losses.Hinge())["corners"].passed


@pytest.mark.parametrize("value", [lambda u: 1 - u if u < 1 else 0.0, lambda u: max(0, 1 - u), lambda u: float(u)])
def test_functions_of_one_number_are_told_how_to_be_vectorised(value):
    with pytest.raises(ValueError, match=r"value must be vectorised.*np\.where.*np\.vectorize"):
        losses.make_loss(value)
    with pytest.raises(ValueError, match="slope must be vectorised"):
        losses.make_loss(deviance, slope=value)
    assert losses.make_loss(np.vectorize(lambda u: (1 - u) ** 2 if u < 1 else 0.0)).convex


@dataclass(frozen=True)
class InPlace(Sloped):
    """A class of one's own that works in the margins it is given."""

    def _value(self, u):
        return np.exp(np.negative(u, out=u))


def test_functions_that_write_into_their_argument_are_refused_and_spoil_nothing_later():
    with pytest.raises(ValueError, match=r"value must leave the array .* np\.array\(u\)"):
        losses.make_loss(lambda u: np.exp(np.negative(u, out=u)))
    with pytest.raises(ValueError, match="slope must leave the array"):
        losses.make_loss(deviance, slope=lambda u: -1 / (1 + np.exp(u, out=u)))
    with pytest.raises(ValueError, match="value must leave the array"):
        fit(InPlace())
    # the margins that losses are judged on are those they were
    assert losses.make_loss(lambda u: (1 - u) ** 4).convex
    fit(losses.make_loss(deviance))


def test_functions_that_loop_over_the_margins_are_fitted_as_those_that_do_not():
    looped = losses.make_loss(lambda u: np.array([np.log1p(np.exp(-t)) for t in u]))
    assert looped.value(0.0) == np.log(2)
    assert looped.value(np.zeros((2, 3))).shape == (2, 3)
    np.testing.assert_allclose(fit(looped).coef_, fit("logistic").coef_, atol=1e-4)


UNITS = [1e-9, 1e-3, 1.0, 1e9]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    ("value", "convex"),
    [
        (lambda u: np.logaddexp(0, -u), True),
        (lambda u: np.maximum(1 - u, 0) ** 3, True),
        (lambda u: np.exp(-4 * u), True),
        (lambda u: 1 / (1 + np.exp(u)), False),
        (lambda u: np.exp(-4 * u) + 0.5 * np.sin(3 * u), False),
    ],
)
def test_whether_a_loss_is_convex_and_falls_hangs_neither_on_its_unit_nor_on_its_size_far_out(unit, value, convex):
    with np.errstate(all="ignore"):
        loss = losses.make_loss(lambda u: unit * value(u))
        assert loss.convex is convex
        ensure_sound(loss)
        assert losses.check_loss(loss)["convexity"].passed


@pytest.mark.parametrize("unit", UNITS)
def test_a_slope_that_is_wrong_near_the_boundary_is_seen_beside_an_exponential(unit):
    with np.errstate(all="ignore"):
        loss = losses.make_loss(lambda u: unit * np.exp(-u), slope=lambda u: unit * (0.1 - np.exp(-u)))
    with pytest.raises(ValueError, match=r"its slope at margin .* is .* but"):
        ensure_sound(loss)


def test_a_lambda_that_cannot_be_pickled_says_what_to_do():
    loss = losses.make_loss(lambda u: np.logaddexp(0, -u))
    with pytest.raises(pickle.PicklingError, match=r"'.*<lambda>'.*with def at the top level of a module"):
        pickle.dumps(loss)
    with pytest.raises(pickle.PicklingError, match="def at the top level"):
        pickle.dumps(fit(loss))
    assert copy.deepcopy(loss) == loss
    named = losses.make_loss(deviance)
    assert pickle.loads(pickle.dumps(named)) == named


@pytest.mark.parametrize("name", ["coherence", "welsch", "huberized_hinge", "exponential", "truncated_logistic"])
@pytest.mark.parametrize("value", [None, "1", True, [1.0]])
def test_hyperparameters_that_are_no_numbers_are_named(name, value):
    parameter = {
        "coherence": "temperature",
        "welsch": "sigma",
        "huberized_hinge": "delta",
        "exponential": "rate",
        "truncated_logistic": "level",
    }[name]
    with pytest.raises(ValueError, match=f"{parameter} must be a number; got"):
        losses.get(name, **{parameter: value})


@pytest.mark.parametrize("name", losses.available())
def test_trust_is_a_nondecreasing_number_between_zero_and_one(name):
    loss = losses.get(name)
    u = np.linspace(-40, 40, 801)
    trust = loss.trust(u)
    assert np.all((trust >= 0) & (trust <= 1))
    assert np.all(np.diff(trust) >= -1e-12)
    assert trust[-1] > 0.98
    assert trust[0] < 0.1
    assert np.ndim(loss.trust(0.3)) == 0
    assert loss.trust(u.astype(np.float32)).dtype == np.float32


def test_trust_of_each_family():
    u = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(losses.Welsch(sigma=0.7).trust(u), losses.Welsch(sigma=0.7).weight(u))
    for loss in (losses.TruncatedLogistic(), losses.Pregibon(), losses.BiancoYohai(), losses.Copas(flip_rate=0.1)):
        np.testing.assert_allclose(loss.trust(u), 1 / (1 + np.exp(-u)))
    for loss in (losses.TruncatedHinge(), losses.Psi(), losses.Hinge()):
        np.testing.assert_allclose(loss.trust(u), 1 / (1 + np.maximum(1 - u, 0)))


@pytest.mark.parametrize("name", losses.available())
@pytest.mark.parametrize("bad", ["x", [1, 2], 1j, {}])
def test_no_hyperparameter_of_another_type_is_refused_without_its_name(name, bad):
    for field in dataclasses.fields(losses.get(name)):
        with pytest.raises((ValueError, TypeError), match=field.name):
            losses.get(name, **{field.name: bad})

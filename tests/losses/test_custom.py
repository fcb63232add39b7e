"""The user's own losses and entropies, the registry, and what is refused."""

import math
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softmargin import losses
from softmargin.losses import Majorizer, NoLink

U = np.linspace(-6, 6, 97)


def deviance(u):
    return np.log(1 + np.exp(-u))


def squared_hinge(u):
    return (np.abs(1 - u) + 1 - u) ** 2 / 4


def bump(u):
    return 1 / (1 + np.exp(u)) ** 2


def test_missing_derivatives_come_from_the_complex_step_where_it_applies():
    loss, logistic = losses.make_loss(deviance), losses.Logistic()
    assert "slope=complex step" in repr(loss)
    assert loss.convex
    assert_allclose(loss.slope(U), logistic.slope(U), rtol=1e-12)
    assert_allclose(loss.curvature(U), logistic.curvature(U), rtol=1e-7, atol=1e-10)
    assert_allclose(loss.probability(U), logistic.probability(U), rtol=1e-9)
    assert_allclose(loss.score(np.array([0.1, 0.5, 0.7])), logistic.score(np.array([0.1, 0.5, 0.7])), rtol=1e-9)


def test_functions_with_corners_fall_back_to_differences():
    loss = losses.make_loss(squared_hinge, name="mine")
    assert repr(loss).startswith("make_loss(squared_hinge, slope=central differences")
    away = np.abs(U - 1) > 0.01
    assert_allclose(loss.slope(U[away]), losses.SquaredHinge().slope(U[away]), atol=1e-8)


def test_given_derivatives_are_used():
    logistic = losses.Logistic()
    loss = losses.make_loss(logistic.value, logistic.slope, logistic.curvature, curvature_bound=0.25)
    assert_allclose(loss.curvature(U), logistic.curvature(U), rtol=0)
    assert loss.curvature_bound == 0.25
    assert losses.check_loss(loss)


def test_custom_losses_are_values():
    loss = losses.make_loss(deviance, name="mine")
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert hash(loss) == hash(losses.make_loss(deviance, name="mine"))
    assert losses.get(loss) is loss


def test_a_nonconvex_loss_without_a_majoriser_says_so():
    loss = losses.make_loss(bump)
    assert not loss.convex
    with pytest.raises(NotImplementedError, match="majorize="):
        loss.majorize(U)
    assert losses.check_loss(loss)["majoriser"].passed is False


def test_a_nonconvex_loss_uses_the_majoriser_it_was_given():
    truncated = losses.TruncatedLogistic()
    loss = losses.make_loss(truncated.value, truncated.slope, truncated.curvature, majorize=truncated.majorize)
    assert isinstance(loss.majorize(U), Majorizer)
    assert losses.check_loss(loss)["majoriser"].passed


def test_a_loss_whose_slopes_do_not_order_scores_has_no_link():
    welsch = losses.Welsch(sigma=0.5)
    loss = losses.make_loss(welsch.value, welsch.slope, welsch.curvature)
    with pytest.raises(NoLink, match="ScoreCalibrator"):
        loss.probability(0.3)


@pytest.mark.parametrize(
    ("bad", "check"),
    [
        (losses.make_loss(deviance, slope=lambda u: -np.exp(-u)), "slope"),
        (losses.make_loss(deviance, curvature=lambda u: 0 * u + 1.0), "curvature"),
        (losses.make_loss(deviance, convex=False), "convexity"),
        (losses.make_loss(lambda u: (u + 1) ** 2), "Fisher consistency"),
        (losses.make_loss(lambda u: (u + 2) ** 2), "monotonicity"),
        (losses.make_loss(deviance, log_odds=lambda f: 3 * f), "link"),
        (losses.make_loss(lambda u: np.where(np.abs(u) < 1e6, deviance(np.clip(u, -50, 50)), np.nan)), "safety"),
        (losses.make_loss(bump, majorize=lambda u: losses.Logistic().majorize(u)), "majoriser"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_the_report_finds_each_kind_of_mistake(bad, check):
    report = losses.check_loss(bad)
    assert report[check].passed is False, str(report)
    assert not report
    assert f"FAIL {check}" in str(report)


def test_make_loss_refuses_what_is_not_a_loss():
    with pytest.raises(ValueError, match="vectorised"):
        losses.make_loss(lambda u: 1.0)
    with pytest.raises(ValueError, match="finite"):
        losses.make_loss(lambda u: u * np.nan)
    with pytest.raises(ValueError, match="a function of the margins"):
        losses.make_loss("logistic")
    with pytest.raises(ValueError, match="make_loss"):
        losses.check_loss(deviance)


def root_entropy(p):
    return np.sqrt(p * (1 - p))


@pytest.mark.parametrize(
    ("phi", "twin"),
    [
        (root_entropy, losses.Matsushita()),
        (lambda p: -p * np.log(p) - (1 - p) * np.log(1 - p), losses.LogEntropy()),
        (lambda p: p * (1 - p), losses.Gini()),
        (lambda p: (p * (1 - p)) ** 0.3, losses.PowerEntropy(power=0.3)),
    ],
)
def test_a_permissible_function_alone_gives_the_whole_loss(phi, twin):
    loss, reference = losses.BalancedConvex(phi), losses.BalancedConvex(twin)
    u = np.r_[U, 0.0, 1e-9, -1e-6, 40.0, -40.0, 900.0, -900.0]
    assert_allclose(loss.value(u), reference.value(u), rtol=1e-9, atol=1e-14)
    assert_allclose(loss.slope(u), reference.slope(u), rtol=1e-9, atol=1e-14)
    away = np.abs(np.abs(u) - 1) > 1e-3
    assert_allclose(loss.curvature(u[away]), reference.curvature(u[away]), rtol=1e-6, atol=1e-13)
    assert_allclose(loss.probability(u), reference.probability(u), rtol=1e-9, atol=1e-14)
    p = np.array([0.01, 0.3, 0.5, 0.9])
    assert_allclose(loss.score(p), reference.score(p), rtol=1e-9, atol=1e-12)
    assert losses.check_loss(loss), str(losses.check_loss(loss))


def test_an_inverse_link_is_used_when_given():
    entropy = losses.CustomEntropy(root_entropy, inverse_link=lambda x: (1 + x / np.hypot(1, x)) / 2)
    assert_allclose(losses.BalancedConvex(entropy).value(U), losses.BalancedConvex("matsushita").value(U), rtol=1e-8)
    assert "inverse_link=<lambda>" in repr(entropy)


def test_custom_entropies_are_values():
    loss = losses.BalancedConvex(losses.CustomEntropy(root_entropy))
    again = pickle.loads(pickle.dumps(loss))
    assert again == loss
    assert_allclose(again.value(U), loss.value(U), rtol=0)
    assert "dphi=complex step" in repr(loss)


@pytest.mark.parametrize(
    ("phi", "message"),
    [
        (lambda p: p**2 * (1 - p), "not symmetric"),
        (lambda p: np.sqrt(p * (1 - p)) - 0.1, r"phi\(0\)"),
        (lambda p: (p - 0.5) ** 2, "larger at 1/2"),
        (lambda p: 0.5 - np.abs(p - 0.5), "not strictly concave"),
    ],
)
def test_functions_that_are_not_permissible_are_refused(phi, message):
    with pytest.raises(ValueError, match=message):
        losses.BalancedConvex(phi)


def test_wrong_derivatives_of_an_entropy_are_located():
    with pytest.raises(ValueError, match=r"dphi is not the derivative, first at p = "):
        losses.CustomEntropy(root_entropy, dphi=lambda p: 1 - 2 * p)


def test_unknown_names_list_their_neighbours():
    with pytest.raises(ValueError, match="'truncated_logistic'"):
        losses.get("truncated_logistc")
    with pytest.raises(ValueError, match="known: "):
        losses.get("qqqq")
    with pytest.raises(ValueError, match="did you mean 'gini'"):
        losses.BalancedConvex("ginni")
    with pytest.raises(ValueError, match="Welsch has no parameter 'sigmma'; it has sigma"):
        losses.get("welsch", sigmma=1.0)
    with pytest.raises(ValueError, match="already made"):
        losses.get(losses.Hinge(), at=0)
    with pytest.raises(ValueError, match="a name or a Loss"):
        losses.get(3)


def test_names_are_forgiving_about_case_and_hyphens():
    assert losses.get("Squared-Hinge") == losses.SquaredHinge()
    assert losses.get("tanh", sigma=2.0) == losses.TanhHinge(sigma=2.0)
    assert losses.get("balanced_convex", entropy="gini") == losses.BalancedConvex(losses.Gini())


def test_families_partition_the_names():
    families = ("convex", "robust", "truncated", "likelihood", "entropy")
    assert sorted(name for family in families for name in losses.available(family)) == losses.available()


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("exponential", {"rate": 0.0}),
        ("power_margin", {"power": 1.0}),
        ("power_margin", {"power": 1e8}),
        ("balanced_hinge", {"balance": -0.1}),
        ("huberized_hinge", {"delta": 0.0}),
        ("coherence", {"temperature": 0.0}),
        ("coherence", {"temperature": math.nan}),
        ("coherence", {"cost": -1.0}),
        ("coherence", {"cost": 0.0}),
        ("coherence", {"scale": "Q"}),
        ("welsch", {"sigma": 0.0}),
        ("cauchy", {"sigma": -1.0}),
        ("geman_mcclure", {"sigma": math.nan}),
        ("general_robust", {"shape": 1.5}),
        ("truncated_hinge", {"at": 0.5}),
        ("truncated", {"at": 0.1}),
        ("truncated", {"base": losses.Psi()}),
        ("truncated_logistic", {"level": 0.69}),
        ("pregibon", {"threshold": 0.0}),
        ("bianco_yohai", {"c": 0.0}),
        ("croux_haesbroeck", {"d": -1.0}),
        ("copas", {"flip_rate": 0.5}),
    ],
)
def test_parameters_out_of_range_are_named_with_value_and_range(name, params):
    ((key, value),) = params.items()
    with pytest.raises(ValueError, match=f"^{key} must be .*; got {value!r}".replace("(", r"\(").replace(")", r"\)")):
        losses.get(name, **params)


@pytest.mark.parametrize(
    ("entropy", "params"),
    [(losses.Matsushita, {"mu": 1.0}), (losses.PowerEntropy, {"power": 0.0}), (losses.PowerEntropy, {"power": 1.0})],
)
def test_entropy_parameters_out_of_range(entropy, params):
    with pytest.raises(ValueError, match="must be"):
        entropy(**params)

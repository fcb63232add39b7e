"""An own nonconvex loss from its value and its weights: nothing else to derive."""

import numpy as np
import pytest

from softmargin import RobustSVC, losses
from softmargin.losses import make_loss

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = np.where(X[:, 0] + 0.4 * RNG.normal(size=120) > 0, 1, 0)
Y[:6] = 1 - Y[:6]
U = np.linspace(-4, 3, 71)


def welsch_weight(u):
    return np.exp(-np.square(np.maximum(1 - u, 0)))


def welsch_value(u):
    return -np.expm1(-np.square(np.maximum(1 - u, 0)))


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_value_and_weight_make_the_loss_they_describe(kernel):
    own, known = make_loss(welsch_value, weight=welsch_weight), losses.Welsch(sigma=1.0)
    assert not own.convex
    np.testing.assert_allclose(own.slope(U), known.slope(U), atol=1e-12)
    np.testing.assert_allclose(own.trust(U), known.trust(U))
    one, two = own.majorize(U), known.majorize(U)
    np.testing.assert_allclose(one.value(U + 0.5), two.value(U + 0.5), atol=1e-12)
    assert losses.check_loss(own)["majoriser"].passed
    fits = [RobustSVC(loss=loss, kernel=kernel, C=2.0).fit(X, Y) for loss in (own, known)]
    np.testing.assert_allclose(fits[0].decision_function(X), fits[1].decision_function(X), atol=1e-3)
    np.testing.assert_allclose(fits[0].sample_trust_, fits[1].sample_trust_, atol=1e-3)


def test_weights_may_refer_to_another_convex_loss():
    pregibon = losses.Pregibon(threshold=1.0)

    def weight(u):
        deviance = np.logaddexp(0, -u)
        return np.minimum(1, np.sqrt(1.0 / np.maximum(deviance, 1e-300)))

    own = make_loss(pregibon.value, weight=weight, base=losses.Logistic())
    np.testing.assert_allclose(own.slope(U), pregibon.slope(U), atol=1e-12)
    assert losses.check_loss(own)["majoriser"].passed


@pytest.mark.parametrize(
    ("value", "weight", "base", "message"),
    [
        (welsch_value, lambda u: -welsch_weight(u), None, "weight must be nonnegative"),
        (
            welsch_value,
            lambda u: 1 - welsch_weight(u),
            None,
            "weight must be rising with the margin.*a fall after margin",
        ),
        (welsch_value, lambda u: 1.0 if u > 0 else 0.5, None, "weight must be vectorised"),
        (welsch_value, welsch_weight, losses.Psi(), "base must be a convex Loss"),
    ],
)
def test_weights_that_make_no_bound_are_refused(value, weight, base, message):
    with pytest.raises(ValueError, match=message):
        make_loss(value, weight=weight, base=base)


def test_a_weight_that_is_not_that_of_the_value_is_refused_when_used():
    wrong = make_loss(welsch_value, weight=lambda u: welsch_weight(u) ** 2)
    with pytest.raises(ValueError, match="its slope at margin"):
        RobustSVC(loss=wrong).fit(X, Y)

"""What a small risk guarantees, against closed forms, brute force and random distributions."""

import numpy as np
import pytest

from softmargin import losses

THETA = np.array([1e-3, 0.1, 0.5, 0.9, 0.999])
CLOSED = {
    "hinge": (losses.Hinge(), lambda t: t),
    "psi of least squares": (losses.LeastSquares(), np.square),
    "squared hinge": (losses.SquaredHinge(), np.square),
    "exponential": (losses.Exponential(), lambda t: 1 - np.sqrt(1 - t**2)),
    "any rate": (losses.Exponential(rate=0.3), lambda t: 1 - np.sqrt(1 - t**2)),
    "logistic": (losses.Logistic(), lambda t: 0.5 * ((1 + t) * np.log1p(t) + (1 - t) * np.log1p(-t))),
    "no cost": (
        losses.Coherence(temperature=0.7, cost=0.0, scale="V"),
        lambda t: 0.35 * ((1 + t) * np.log1p(t) + (1 - t) * np.log1p(-t)),
    ),
}


@pytest.mark.parametrize("name", CLOSED)
def test_the_transform_and_its_inverse_are_the_closed_forms(name):
    loss, psi = CLOSED[name]
    bound = losses.excess_risk_bound(loss)
    assert bound.calibrated
    np.testing.assert_allclose(bound.psi(THETA), psi(THETA), rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(bound(psi(THETA)), THETA, rtol=1e-6)
    assert bound(0.0) < 1e-5
    assert bound(1e9) == 1.0


@pytest.mark.parametrize("temperature", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("cost", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("scale", ["V", "L", "C"])
def test_coherence_obeys_theorem_nine_in_every_scale(temperature, cost, scale):
    if scale == "C" and cost == 0:
        pytest.skip("the C scale vanishes at cost 0")
    loss = losses.Coherence(temperature=temperature, cost=cost, scale=scale)
    bound = losses.excess_risk_bound(loss)
    excess = np.geomspace(1e-5, 1, 12) * loss.factor
    np.testing.assert_allclose(
        bound.by_probability(excess), np.minimum(np.sqrt(2 * excess / (temperature * loss.factor)), 1)
    )
    assert np.all(bound(excess) <= bound.by_probability(excess) + 1e-9)


@pytest.mark.parametrize(
    "loss",
    [
        losses.Logistic(),
        losses.Exponential(0.6),
        losses.LeastSquares(),
        losses.SquaredHinge(),
        losses.Coherence(0.4),
        losses.Coherence(0.4, cost=0.0, scale="V"),
    ],
    ids=repr,
)
def test_excess_risks_bound_the_error_of_probabilities(loss):
    eta, f = np.meshgrid(np.linspace(0.01, 0.99, 60), np.linspace(-3, 3, 121), indexing="ij")
    risk = eta * loss.value(f) + (1 - eta) * loss.value(-f)
    best = eta * loss.value(loss.score(eta)) + (1 - eta) * loss.value(-loss.score(eta))
    apart = np.square(eta - loss.probability(f))
    assert np.all(risk - best >= loss.probability_modulus * apart - 1e-12)
    if getattr(loss, "cost", 0.0) == 0:  # the constant of theorem 9 is the best one at cost 0 only
        away = apart > 1e-4
        assert np.min((risk - best)[away] / apart[away]) < 1.5 * loss.probability_modulus


@pytest.mark.parametrize("name", losses.available())
def test_no_distribution_breaks_the_bound(name):
    loss = losses.get(name)
    bound = losses.excess_risk_bound(loss)
    rng = np.random.default_rng(0)
    scores = np.concatenate([np.linspace(-6, 6, 2401), np.geomspace(6, 700, 300), -np.geomspace(6, 700, 300)])
    excesses, errors = [], []
    for _ in range(40):
        mass, eta = rng.dirichlet(np.ones(4)), rng.random(4)
        f = rng.normal(size=4) * rng.choice([0.1, 1, 4])
        risks = eta[:, None] * loss.value(scores) + (1 - eta[:, None]) * loss.value(-scores)
        excesses.append(mass @ (eta * loss.value(f) + (1 - eta) * loss.value(-f) - risks.min(axis=1)))
        errors.append(mass @ (np.abs(2 * eta - 1) * (np.sign(f) != np.sign(2 * eta - 1))))
    limits = bound(np.maximum(excesses, 0.0))
    assert np.all(np.array(errors) <= 1.01 * limits + 1e-6)
    assert losses.check_loss(loss)["excess risk"].passed is not False


def test_a_loss_that_is_not_calibrated_guarantees_nothing():
    loss = losses.make_loss(lambda u: (u + 1) ** 2)
    bound = losses.excess_risk_bound(loss)
    assert not bound.calibrated
    assert losses.check_loss(loss)["excess risk"].passed is None


def test_bad_questions_are_refused():
    bound = losses.excess_risk_bound(losses.Hinge())
    with pytest.raises(ValueError, match="excess must be nonnegative; got -1"):
        bound(-1.0)
    with pytest.raises(ValueError, match="theta must be between 0 and 1"):
        bound.psi(2.0)
    with pytest.raises(ValueError, match="No bound on the probabilities of Hinge"):
        bound.by_probability(0.1)
    with pytest.raises(ValueError, match="loss must be a Loss"):
        losses.excess_risk_bound("hinge")

"""The method of multipliers for simultaneous machines: its derivatives, its certificate, and what it ends at."""

import numpy as np
import pytest

from softmargin import MulticategorySVC
from softmargin._compiled import envelope
from softmargin.solvers.multiclass import block_ascent
from softmargin.solvers.multiclass.multipliers import RoundedMachine, _cubic_minimum, _Rounding, method_of_multipliers

FORMS = {
    "weston_watkins": (envelope.OWN, 0.0, 0.0, -1.0, 0.0, 0.0, -1.0),
    "crammer_singer": (envelope.ZERO, -np.inf, 1.0, -np.inf, 0.0, 1.0, 0.0),
}


def rounded(method, seed=0, n=60, p=3, k=4, free=True):
    rng = np.random.default_rng(seed)
    codes = np.r_[np.arange(k), rng.integers(0, k, n - k)].astype(np.int32)
    X = rng.normal(size=(n, p)) + rng.normal(size=(k, p))[codes]
    ridge = np.r_[0.0 if free else 1.0, np.ones(p)]
    return RoundedMachine(np.column_stack([np.ones(n), X]), FORMS[method], codes, rng.uniform(0.2, 2, n), ridge, k)


@pytest.mark.parametrize("method", FORMS)
def test_gradient_and_hessian_are_those_of_the_envelope(method):
    machine = rounded(method)
    rounding = _Rounding(machine, 2.0)
    rng = np.random.default_rng(1)
    centred = np.eye(4) - 1 / 4
    theta, direction = centred @ rng.normal(size=(4, 4)), centred @ rng.normal(size=(4, 4))
    rounding.centre = machine.guess(machine.Z @ theta.T, 3.0)

    def at(t):
        moved = theta + t * direction
        point = rounding.at(moved, machine.Z @ moved.T)
        return point, rounding.gradient(point)

    h = 1e-6
    (up, slope_up), (down, slope_down), (here, slope) = at(h), at(-h), at(0.0)
    assert (up.value - down.value) / (2 * h) == pytest.approx(np.sum(slope * direction), rel=1e-6)
    H = np.zeros((4, 4, 4, 4))
    envelope.hessian(machine.Z, machine.cost / rounding.width, rounding.bent, here.bent, 1, H)
    A = H.reshape(16, 16)
    A = np.tril(A) + np.tril(A, -1).T
    product = (A @ direction.ravel()).reshape(4, 4) + machine.ridge * direction
    np.testing.assert_allclose((slope_up - slope_down) / (2 * h), product, atol=1e-4 * np.abs(product).max())


@pytest.mark.parametrize("method", FORMS)
@pytest.mark.parametrize("free", [True, False])
def test_newton_step_is_the_same_by_coefficients_and_by_slopes(method, free):
    machine = rounded(method, free=free)
    rounding = _Rounding(machine, 2.0)
    theta = (np.eye(4) - 1 / 4) @ np.random.default_rng(3).normal(size=(4, 4))
    rounding.centre = machine.guess(machine.Z @ theta.T, 3.0)
    point = rounding.at(theta, machine.Z @ theta.T)
    gradient = rounding.gradient(point)
    expected = rounding._by_coefficients(gradient, point.bent)
    np.testing.assert_allclose(rounding._by_slopes(gradient, point.bent), expected, atol=1e-9)


@pytest.mark.parametrize("method", FORMS)
@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_optimum_from_a_point_that_passes_have_come_to(method, intercept, monkeypatch):
    machine = rounded(method, seed=4, n=80, p=30)
    X = machine.Z[:, 1:]
    options = {"penalize_intercept": intercept == "penalized", "fit_intercept": intercept != "none"}
    exact = MulticategorySVC(method, tol=1e-9, max_iter=10**5, **options).fit(X, machine.codes, machine.cost)
    monkeypatch.setattr(block_ascent, "_WORTH_NEWTON", 0.0)
    monkeypatch.setattr(block_ascent, "_FIRST_STEPS", np.inf)
    model = MulticategorySVC(method, tol=1e-5, **options).fit(X, machine.codes, machine.cost)
    assert model.solution_.converged
    assert model.solution_.objective == pytest.approx(exact.solution_.objective, rel=1e-5)


@pytest.mark.parametrize("method", FORMS)
@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_optimum_is_that_of_the_other_methods(method, intercept, monkeypatch):
    machine = rounded(method, seed=2, n=80)
    X = machine.Z[:, 1:]
    options = {"penalize_intercept": intercept == "penalized", "fit_intercept": intercept != "none"}
    exact = MulticategorySVC(method, tol=1e-9, max_iter=10**5, **options).fit(X, machine.codes, machine.cost)
    monkeypatch.setattr(block_ascent, "_WORTH_NEWTON", 0.0)
    model = MulticategorySVC(method, tol=1e-5, **options).fit(X, machine.codes, machine.cost)
    assert model.solution_.converged
    assert model.solution_.objective == pytest.approx(exact.solution_.objective, rel=1e-5)
    assert model.solution_.objective >= exact.solution_.objective * (1 - 1e-9)


@pytest.mark.parametrize("method", FORMS)
def test_many_rows_start_from_a_sample_and_end_certified(method):
    machine = rounded(method, n=1300, free=False)
    found = method_of_multipliers(machine, 1e-4, 200)
    F = machine.Z @ found.theta.T
    own = F[np.arange(len(F)), machine.codes]
    shortfall = np.maximum(1 - own[:, None] + F, 0)
    shortfall[np.arange(len(F)), machine.codes] = 0
    loss = shortfall.sum(axis=1) if method == "weston_watkins" else shortfall.max(axis=1)
    primal = machine.cost @ loss + 0.5 * np.sum(found.theta**2)
    b = found.b.copy()
    b[np.arange(len(F)), machine.codes] = 0
    gain = -b.sum()
    b[np.arange(len(F)), machine.codes] = -b.sum(axis=1)
    dual = gain - 0.5 * np.sum((b.T @ machine.Z) ** 2)
    assert b.min() >= -machine.cost.max()
    assert found.gap <= 1e-4
    assert -1e-9 * primal <= primal - dual <= 1.01e-4 * primal


def test_cubic_of_a_line_search_finds_the_minimum_of_a_parabola():
    def value(t):
        return (t - 0.3) ** 2

    assert _cubic_minimum(value(1) - value(0), -0.6, 1.4) == pytest.approx(0.3)

"""Preconditioned conjugate gradients on landmarks end at the certified solution that Hessians lead to."""

from dataclasses import replace

import numpy as np
import pytest

from softmargin import MarginClassifier, chunks, losses
from softmargin.expansions import Kernel, KernelColumns, NystroemFeatures, memory
from softmargin.expansions.landmarks import features
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve
from softmargin.solvers.passes import conjugate_newton

LOSSES = {
    "logistic": losses.Logistic(),
    "squared hinge": losses.SquaredHinge(),
    "huberised hinge": losses.HuberizedHinge(delta=0.3),
    "least squares": losses.LeastSquares(),
    "sharp coherence": losses.Coherence(temperature=0.02),
    "exponential": losses.Exponential(),
}
RBF = Kernel("rbf", gamma=0.5)


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """However few the pairs; a sample is a small part of the rows."""
    monkeypatch.setattr(features, "MANY_PAIRS", 0)
    monkeypatch.setattr(conjugate_newton, "_FEWEST", 100)


@pytest.fixture
def scarce(monkeypatch):
    """No room for the features."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 300_000)
    monkeypatch.setattr(memory, "_SMALL", 0)


def draw(n=1500, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.logistic(size=n) > 0, 1.0, -1.0)
    return X, y, 0.5 + rng.random(n)


def make(name, m=60, C=1.0, fit_intercept=True, tilted=False):
    X, y, weights = draw()
    expansion = NystroemFeatures(X, RBF, np.arange(m))
    tilt = 0.1 * C * weights if tilted else None
    offset = 0.3 * X[:, 0] if tilted else None
    return Problem(LOSSES[name], expansion, y, C * weights, ElasticNet(0.0), tilt, offset, fit_intercept)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(
    ("C", "fit_intercept", "tilted"), [(1.0, True, False), (30.0, False, False), (0.1, True, True)]
)
def test_products_lead_where_hessians_lead(name, C, fit_intercept, tilted):
    problem = make(name, C=C, fit_intercept=fit_intercept, tilted=tilted)
    ours = solve(problem, solver="conjugate_newton", tol=1e-9)
    theirs = solve(replace(problem, expansion=NystroemFeatures(*parts(problem))), solver="newton", tol=1e-12)
    assert ours.converged
    assert ours.gap <= 1e-9
    scale = max(abs(theirs.objective), 1e-300)
    assert abs(ours.objective - theirs.objective) <= (1e-9 + 1e-11) * scale
    np.testing.assert_allclose(ours.coef, theirs.coef, atol=1e-3 * np.abs(theirs.coef).max())
    np.testing.assert_allclose(ours.dual, theirs.dual, atol=1e-2 * np.abs(theirs.dual).max())


def parts(problem):
    return problem.expansion.X, problem.expansion.basis.kernel, problem.expansion.chosen


def test_the_gap_bounds_the_distance_from_the_minimum():
    problem = make("logistic", C=10.0)
    least = solve(problem, solver="newton", tol=1e-13).objective
    for tol in (1e-1, 1e-3, 1e-5):
        found = solve(make("logistic", C=10.0), solver="conjugate_newton", tol=tol)
        assert found.converged
        assert found.gap <= tol
        assert found.objective - least <= found.gap * found.objective * (1 + 1e-9)


@pytest.mark.parametrize("name", ["logistic", "squared hinge"])
@pytest.mark.parametrize("resident", [True, False])
def test_a_cost_that_separates_the_rows_is_certified_too(name, resident, monkeypatch):
    least = solve(make(name, C=1e5), solver="newton", tol=1e-9).objective
    if not resident:
        monkeypatch.setattr(memory, "available_bytes", lambda: 300_000)
        monkeypatch.setattr(memory, "_SMALL", 0)
    found = solve(make(name, C=1e5), solver="conjugate_newton", tol=1e-6)
    assert found.converged
    assert found.objective == pytest.approx(least, rel=2e-6)


def test_a_sample_without_curvature_leaves_the_fit_to_hessians(monkeypatch):
    monkeypatch.setattr(conjugate_newton, "_newton_step", lambda *_: None)
    found = solve(make("logistic"), solver="conjugate_newton", tol=1e-8)
    assert found.converged
    assert found.objective == pytest.approx(solve(make("logistic"), solver="newton").objective, rel=1e-5)


def test_landmarks_that_are_all_rows_give_the_kernel_fit():
    X, y, weights = draw(n=150)
    exact = solve(Problem(losses.Logistic(), KernelColumns.from_rows(X, RBF), y, weights, ElasticNet(0.0)), tol=1e-12)
    landmarks = NystroemFeatures(X, RBF, np.arange(150))
    problem = Problem(losses.Logistic(), landmarks, y, weights, ElasticNet(0.0))
    found = solve(problem, solver="conjugate_newton", tol=1e-10)
    assert found.objective == pytest.approx(exact.objective, rel=1e-7)
    new = np.random.default_rng(9).normal(size=(50, 3))
    ours = landmarks.scorer(found.coef)(new) + found.intercept
    theirs = RBF(new, X) @ exact.coef + exact.intercept
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


@pytest.mark.usefixtures("scarce")
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_fit_without_room_for_its_features_is_the_same_fit(loss, dtype, monkeypatch):
    X, y, weights = draw()
    model = MarginClassifier(loss=loss, kernel="rbf", gamma=0.5, n_components=80, random_state=0, tol=1e-8)
    tight = model.fit(X.astype(dtype), y, sample_weight=weights)
    assert tight.solution_.converged
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**9)
    roomy = MarginClassifier(
        loss=loss, kernel="rbf", gamma=0.5, n_components=80, random_state=0, tol=1e-8, solver="newton"
    ).fit(X.astype(dtype), y, sample_weight=weights)
    tolerance = 1e-7 if dtype == np.float64 else 1e-4
    assert tight.solution_.objective == pytest.approx(roomy.solution_.objective, rel=tolerance)


@pytest.mark.usefixtures("scarce")
@pytest.mark.parametrize(
    "options", [{"loss": "hinge"}, {"loss": "welsch"}, {"loss": "logistic", "l1_ratio": 0.5}], ids=str
)
def test_other_losses_without_room_go_by_passes(options, monkeypatch):
    X, y, _ = draw(n=800)
    options = options | {"kernel": "rbf", "gamma": 0.5, "n_components": 50, "random_state": 0, "tol": 1e-5}
    tight = MarginClassifier(**options).fit(X, y)
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**9)
    roomy = MarginClassifier(**options).fit(X, y)
    assert tight.solution_.objective == pytest.approx(roomy.solution_.objective, rel=1e-3)


def test_chunks_and_memory_agree_on_the_same_landmarks():
    X, y, weights = draw(n=3000)
    cX, cy = chunks.from_arrays(
        lambda: ((X[k : k + 700], y[k : k + 700], weights[k : k + 700]) for k in range(0, 3000, 700))
    )
    model = MarginClassifier(kernel="rbf", gamma=0.5, n_components=50, random_state=0, tol=1e-9).fit(cX, cy)
    assert model.solution_.converged
    problem = Problem(losses.Logistic(), NystroemFeatures(X, RBF, model.support_), y, weights, ElasticNet(0.0))
    whole = solve(problem, solver="newton", tol=1e-12)
    assert model.solution_.objective == pytest.approx(whole.objective, rel=1e-8)


def test_an_interrupted_fit_of_chunks_goes_on_where_it_was(monkeypatch):
    X, y, _ = draw(n=3000)
    cX, cy = chunks.from_arrays(lambda: ((X[k : k + 700], y[k : k + 700]) for k in range(0, 3000, 700)))
    model = MarginClassifier(kernel="rbf", gamma=0.5, n_components=50, random_state=0, tol=1e-9)
    step = conjugate_newton._newton_step

    def stop(here, *others):
        if here.problem.expansion is not None and not here.problem.expansion.is_resident:
            raise KeyboardInterrupt
        return step(here, *others)

    monkeypatch.setattr(conjugate_newton, "_newton_step", stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(cX, cy)
    assert cX.unfinished
    monkeypatch.setattr(conjugate_newton, "_newton_step", step)
    monkeypatch.setattr(conjugate_newton.ConjugateNewton, "start", lambda self: pytest.fail("began anew"))
    assert model.fit(cX, cy).solution_.converged
    assert not cX.unfinished


def test_several_classes_and_repeated_rows():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(900, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=900), [-0.5, 0.5])
    times = rng.integers(0, 3, size=900)
    options = {"kernel": "rbf", "gamma": 0.5, "n_components": 40, "random_state": 0, "tol": 1e-9}
    weighted = MarginClassifier(**options).fit(X, y, sample_weight=times)
    repeated = MarginClassifier(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-3)

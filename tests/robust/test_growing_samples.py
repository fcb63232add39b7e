"""Nonconvex fits of many rows by way of samples: they end at stationary points as good as the ordinary rounds find."""

import numpy as np
import pytest
from scipy import sparse

from softmargin import MarginClassifier, RobustSVC, TruncatedLogisticRegression, losses
from softmargin.expansions import DenseFeatures, SparseFeatures
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve
from softmargin.solvers.nonconvex import growing_samples as module
from softmargin.solvers.nonconvex.convex_bounds import bound_at

LOSSES = [
    losses.Welsch(1.0),
    losses.Cauchy(0.7),
    losses.CrouxHaesbroeck(),
    losses.Copas(0.1),
    losses.TruncatedLogistic(),
    losses.TruncatedLogistic(level=3.0),
]


def flipped(n=16_000, p=5, share=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.where(X[:, 0] - 0.5 * X[:, -1] + 0.3 + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return X, np.where(rng.random(n) < share, -y, y)


def problem_of(loss, C=0.01, **more):
    X, y = flipped()
    return Problem(loss, DenseFeatures(X), y, np.full(len(y), C), ElasticNet(0.0), **more)


def ordinary(problem, tol):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("softmargin.solvers.nonconvex.inner_solvers.growing_samples", lambda *args: None)
        return solve(problem, tol=tol)


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_objective_is_that_of_the_ordinary_rounds(loss, C):
    problem = problem_of(loss, C)
    fast, slow = solve(problem, tol=1e-5), ordinary(problem, 1e-5)
    assert fast.converged
    assert fast.base is None
    assert fast.objective <= slow.objective * (1 + 1e-3)
    assert fast.objective == pytest.approx(problem.objective(fast.coef, fast.intercept), rel=1e-12)
    np.testing.assert_allclose(fast.margins, problem.margins(fast.coef, fast.intercept), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES[:3], ids=repr)
def test_smooth_losses_end_at_the_very_minimum_the_ordinary_rounds_find(loss):
    problem = problem_of(loss)
    fast, slow = solve(problem, tol=1e-8), ordinary(problem, 1e-8)
    assert fast.objective == pytest.approx(slow.objective, rel=1e-8)
    np.testing.assert_allclose(fast.coef, slow.coef, atol=2e-4)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_no_bound_that_touches_there_falls_by_more_than_the_gap(loss):
    problem = problem_of(loss)
    found = solve(problem, tol=1e-4)
    bound = bound_at(problem, found.margins)
    lowest = solve(bound, tol=1e-10).objective
    assert found.objective - lowest <= 1e-4 * found.objective


@pytest.mark.parametrize("make", [DenseFeatures, lambda X: SparseFeatures(sparse.csr_matrix(X))], ids=["dense", "csr"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_offsets_weights_and_missing_intercepts(make, fit_intercept):
    X, y = flipped(seed=3)
    rng = np.random.default_rng(1)
    weights, offset = 0.02 * rng.random(len(y)), 0.3 * rng.standard_normal(len(y))
    more = {"offset": offset, "fit_intercept": fit_intercept}
    problem = Problem(losses.Welsch(1.0), make(X), y, weights, ElasticNet(0.0), **more)
    fast, slow = solve(problem, tol=1e-8), ordinary(problem, 1e-8)
    assert fast.objective == pytest.approx(slow.objective, rel=1e-8)
    assert fit_intercept or fast.intercept == 0.0


def test_rows_are_read_a_few_times(monkeypatch):
    X, y = flipped(n=40_000)
    reads = []
    original = DenseFeatures.sweep

    def counting(self, *how):
        reads.append(self.shape[0])
        return original(self, *how)

    monkeypatch.setattr(DenseFeatures, "sweep", counting)
    RobustSVC(C=0.001).fit(X, y)
    assert 1 <= reads.count(len(y)) <= 40


def test_few_rows_go_the_ordinary_way():
    X, y = flipped(n=5000)
    model = TruncatedLogisticRegression(scheme=None).fit(X, y)
    assert model.solution_.base is not None


def test_a_sample_of_one_class_leaves_the_work_to_the_ordinary_rounds():
    """With a huge penalty every row of the smaller class is given up: the samples give up, the driver warns."""
    X, y = flipped(share=0.0)
    y[X[:, 0] < 2] = -1.0
    with pytest.warns(UserWarning, match="gives up every row of one class"):
        model = TruncatedLogisticRegression(level=np.log(2), C=1e-6, scheme=None).fit(X, y)
    assert model.status_ == "degenerate"


def test_steps_that_climb_are_refused(monkeypatch):
    """A Hessian of the wrong size makes steps a hundred times too long: the ordinary rounds do the work."""
    original = module._model

    def reckless(here):
        model = original(here)
        return model._replace(step=module.Secant(lambda r: -100 * r))

    monkeypatch.setattr(module, "_model", reckless)
    problem = problem_of(losses.Welsch(1.0))
    assert solve(problem, tol=1e-6).objective == pytest.approx(ordinary(problem, 1e-6).objective, rel=1e-6)


def test_schemes_that_need_the_plain_fit_have_it():
    X, y = flipped()
    model = TruncatedLogisticRegression(level=3.0, scheme=1, C=0.01).fit(X, y)
    plain = MarginClassifier(C=0.01).fit(X, y)
    far = np.abs(model.decision_function(X)) > model.loss_.estimable
    same_side = (plain.decision_function(X) > 0) == (model.decision_function(X) > 0)
    rows = far & same_side
    assert rows.any()
    np.testing.assert_allclose(model.predict_proba(X[rows]), plain.predict_proba(X[rows]), atol=1e-3)


def test_columns_too_many_for_a_hessian_go_the_ordinary_way(monkeypatch):
    monkeypatch.setattr("softmargin.solvers.ridge.newton.prefers_factor", lambda expansion: False)
    X, y = flipped()
    problem = Problem(
        losses.Welsch(1.0), SparseFeatures(sparse.csr_matrix(X)), y, np.full(len(y), 0.01), ElasticNet(0.0)
    )
    monkeypatch.setattr(module, "_moments", None)
    assert solve(problem, tol=1e-4).converged


def test_single_precision_and_repeated_rows():
    X, y = flipped(n=13_000)
    model = RobustSVC(C=0.01)
    whole = model.fit(X, y).coef_.copy()
    np.testing.assert_allclose(model.fit(X.astype(np.float32), y).coef_, whole, atol=5e-3)
    twice = model.set_params(tol=1e-8).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2)).coef_.copy()
    np.testing.assert_allclose(model.fit(X, y, sample_weight=np.full(len(y), 2.0)).coef_, twice, atol=2e-4)

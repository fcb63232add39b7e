"""Many rows: steps from a sample's Hessian find what Newton's method finds, reading the data a few times."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.reference import ridge as reference

from softmargin import MarginClassifier, losses
from softmargin.expansions import DenseFeatures, Response, SparseFeatures, row_blocks
from softmargin.expansions.features import dense as _features
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve
from softmargin.solvers.ridge.newton_systems import FeatureSystem
from softmargin.solvers.ridge.quasi_newton import Secant

LOSSES = {
    "logistic": losses.Logistic(),
    "squared hinge": losses.get("squared_hinge"),
    "coherence": losses.Coherence(temperature=0.3),
    "sharp coherence": losses.Coherence(temperature=0.02),
    "least squares": losses.LeastSquares(),
}


def shrink(monkeypatch):
    """Sampling from 400 rows on, and blocks of 64 rows."""
    original = FeatureSystem.__init__

    def eager(self, *args):
        original(self, *args)
        self.many = 400

    monkeypatch.setattr(FeatureSystem, "__init__", eager)
    monkeypatch.setattr(_features, "row_blocks", lambda n, row_bytes, least=64: row_blocks(n, 1 << 21))


@pytest.fixture
def tiny(monkeypatch):
    shrink(monkeypatch)


def draw(seed, n=1500, p=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.3
    y = np.where(X[:, 0] - 0.5 * X[:, -1] + rng.logistic(size=n) > 0.2, 1.0, -1.0)
    return X, y, 0.2 + rng.random(n)


class Counting(DenseFeatures):
    """Dense features that count how often all rows are read."""

    def __init__(self, X):
        super().__init__(X)
        self.sweeps = self.products = 0

    def sweep(self, coef, term, vectors=()):
        self.sweeps += 1
        return super().sweep(coef, term, vectors)

    def apply(self, coef):
        self.products += 1
        return super().apply(coef)

    def transpose(self, r):
        self.products += 1
        return super().transpose(r)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("fit_intercept", [True, False])
@given(seed=st.integers(0, 10**6), log_c=st.floats(-2, 2), order=st.sampled_from("CF"))
@settings(max_examples=6, deadline=None)
def test_quasi_newton_steps_end_at_the_certified_solution_of_the_slow_reference(
    name, fit_intercept, seed, log_c, order
):
    X, y, weights = draw(seed)
    rng = np.random.default_rng(seed)
    weights, tilt, offset = weights * 10**log_c, 0.05 * 10**log_c * rng.random(len(y)), rng.normal(size=len(y))
    more = {"tilt": tilt, "offset": offset, "fit_intercept": fit_intercept}
    loss = LOSSES[name]
    problem = Problem(loss, DenseFeatures(np.array(X, order=order)), y, weights, ElasticNet(0.0), **more)
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        found = solve(problem, tol=1e-9)
    coef, intercept = reference.solve(loss, X, y, weights, tilt, offset, fit_intercept)
    assert found.gap <= 1e-9
    assert found.objective <= problem.objective(coef, intercept) * (1 + 1e-9) + 1e-12
    assert found.objective == pytest.approx(problem.objective(found.coef, found.intercept), rel=1e-12)


@pytest.mark.usefixtures("tiny")
def test_a_sweep_is_a_product_a_response_and_a_product():
    X, y, _ = draw(0)
    coef = np.array([0.5, -1.0, 0.0, 2.0])
    expected = np.tanh(y * (X @ coef))
    for matrix in (DenseFeatures(X), DenseFeatures(np.asfortranarray(X)), SparseFeatures(sparse.csr_matrix(X))):
        found = matrix.sweep(coef, lambda scores, y: Response(np.tanh(y * scores), 1.0 * len(y), scores**2), (y,))
        size = np.abs(expected).sum()  # of which sums that cancel keep no more digits than these
        np.testing.assert_allclose(found.gradient, X.T @ expected, rtol=0, atol=1e-12 * size * np.abs(X).max())
        assert found.total == pytest.approx(expected.sum(), abs=1e-12 * size)
        assert found.size == pytest.approx(np.abs(expected).sum(), rel=1e-12)
        assert found.cost == len(y)
        curvature = (X @ coef) ** 2
        room = 1e-12 * curvature.sum()
        np.testing.assert_allclose(
            found.hessian, X.T @ (curvature[:, None] * X), rtol=0, atol=room * np.abs(X).max() ** 2
        )
        np.testing.assert_allclose(found.border, X.T @ curvature, rtol=0, atol=room * np.abs(X).max())
        assert found.mass == pytest.approx(curvature.sum(), rel=1e-12)


def test_many_rows_are_read_a_few_times():
    X, y, weights = draw(1, n=40_000, p=10)
    expansion = Counting(X)
    found = solve(Problem(losses.Logistic(), expansion, y, weights, ElasticNet(0.0)))
    assert found.gap <= 1e-6
    assert 1 <= expansion.sweeps + expansion.products <= 25


def test_the_certificate_is_the_distance_to_an_independent_dual_objective():
    X, y, weights = draw(1, n=40_000, p=10)
    loss = losses.Logistic()
    found = solve(Problem(loss, DenseFeatures(X), y, weights, ElasticNet(0.0)), tol=1e-4)
    dual = reference.dual_objective(loss, X, y, weights, found.dual)
    assert abs(found.dual.sum()) <= 1e-10 * np.abs(found.dual).sum()
    assert found.gap * found.objective == pytest.approx(found.objective - dual, rel=1e-4)


@pytest.mark.usefixtures("tiny")
def test_a_sample_that_misleads_is_overruled():
    """A few huge rows that the sample may miss: whole steps overshoot, and Newton's method takes over."""
    X, y, weights = draw(2)
    X[::97] *= 300
    problem = Problem(losses.Coherence(temperature=0.02), DenseFeatures(X), y, weights, ElasticNet(0.0))
    found = solve(problem, tol=1e-8)
    coef, intercept = reference.solve(problem.loss, X, y, weights)
    assert found.gap <= 1e-8
    assert found.objective <= problem.objective(coef, intercept) * (1 + 1e-7)


@pytest.mark.usefixtures("tiny")
def test_corrections_satisfy_the_secant_equation():
    X, y, weights = draw(3)
    factor = FeatureSystem(DenseFeatures(X), 1.0, True).factor(weights)
    rng = np.random.default_rng(0)
    full = np.column_stack([X, np.ones(len(y))])
    hessian = full.T @ (weights[:, None] * full) + np.diag([1.0, 1, 1, 1, 0])
    r = rng.normal(size=5)
    secant = Secant(factor.bordered)
    np.testing.assert_allclose(hessian @ secant(r), r, rtol=1e-9)
    secant.pairs = [(s, 1.1 * hessian @ s) for s in rng.normal(size=(2, 5))]
    np.testing.assert_allclose(secant(secant.pairs[-1][1]), secant.pairs[-1][0], rtol=1e-9)


@pytest.mark.parametrize("labels", [[0, 1], [-1.0, 1.0], [False, True], [3, 7], ["a", "b"]])
def test_labels_of_every_kind_give_the_same_fit(labels):
    X, y, _ = draw(4, n=200)
    model = MarginClassifier().fit(X, np.array(labels)[(y > 0).astype(int)])
    np.testing.assert_array_equal(model.classes_, labels)
    assert model.classes_.dtype == np.array(labels).dtype
    np.testing.assert_allclose(model.coef_, MarginClassifier().fit(X, y).coef_, rtol=1e-12)


def test_two_numbers_that_are_not_labels_are_refused():
    X, y, _ = draw(5, n=50)
    with pytest.raises(ValueError, match="Unknown label type"):
        MarginClassifier().fit(X, np.where(y > 0, 0.5, 1.5))

"""Rows that are never in one place: an expansion that only answers chunk by chunk is fitted like one in memory."""

import pickle

import numpy as np
import pytest

from softmargin import losses
from softmargin.expansions import DenseFeatures, LinearScore
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve


class Chunked:
    """Chunks of rows behind a wall: a term goes in as bytes, totals come out, and nothing else does."""

    is_kernel = is_landmark = is_sparse = is_resident = False
    dtype = np.dtype(np.float64)

    def __init__(self, X, sizes):
        self._chunks = np.split(X, np.cumsum(sizes)[:-1])
        self.shape = X.shape
        self.passes = 0

    def vector(self, values):
        """A vector over the rows: it has parts and can be used for nothing but passes."""
        return tuple(np.split(values, np.cumsum([len(chunk) for chunk in self._chunks])[:-1]))

    def sweep(self, coef, term, vectors=()):
        self.passes += 1
        sent, totals = pickle.dumps(term), None
        for number, chunk in enumerate(self._chunks):
            parts = [None if vector is None else vector[number] for vector in vectors]
            here = DenseFeatures(chunk).sweep(coef, pickle.loads(sent), parts)
            totals = here if totals is None else totals.plus(here)
        return totals

    def sample(self, vectors=()):
        return None

    def quadratic(self, coef):
        return float(coef @ coef)

    def scorer(self, coef):
        return LinearScore(coef)

    def support(self, coef):
        return None


LOSSES = {
    "logistic": losses.Logistic(),
    "squared hinge": losses.SquaredHinge(),
    "huberised hinge": losses.HuberizedHinge(delta=0.3),
    "sharp coherence": losses.Coherence(temperature=0.02),
}


def draw(n=300, p=4):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, p)) + 0.5
    y = np.where(X[:, 0] - X[:, 1] + rng.logistic(size=n) > 0, 1.0, -1.0)
    return X, y, 0.5 + rng.random(n), 0.1 * rng.random(n), rng.normal(size=n)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("sizes", [(300,), (1, 99, 200), (120, 0, 180)])
def test_a_chunked_fit_equals_the_fit_in_memory(name, fit_intercept, sizes):
    X, y, weights, tilt, offset = draw()
    loss, penalty = LOSSES[name], ElasticNet(0.0)
    whole = Problem(loss, DenseFeatures(X), y, weights, penalty, tilt, offset, fit_intercept)
    chunks = Chunked(X, sizes)
    parts = [chunks.vector(values) for values in (y, weights, tilt, offset)]
    chunked = Problem(loss, chunks, parts[0], parts[1], penalty, parts[2], parts[3], fit_intercept)
    expected, found = solve(whole, tol=1e-10), solve(chunked, tol=1e-10)
    assert found.converged
    assert found.gap <= 1e-10
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-4)
    assert found.intercept == pytest.approx(expected.intercept, abs=1e-4)
    assert found.objective == pytest.approx(whole.objective(found.coef, found.intercept), rel=1e-12)
    assert np.all(np.diff(found.history) <= 1e-12 * abs(found.objective))
    again = solve(chunked, found, tol=1e-10)
    assert max([again.objective, *again.history]) == pytest.approx(found.objective, rel=1e-9)


def test_the_certificate_bounds_the_distance_to_the_optimum_at_every_accuracy():
    X, y, weights, _, _ = draw()
    chunks = Chunked(X, (100, 200))
    problem = Problem(losses.Logistic(), chunks, chunks.vector(y), chunks.vector(weights), ElasticNet(0.0))
    best = solve(problem, tol=1e-12).objective
    for tol in (1.0, 1e-2, 1e-4):
        found = solve(problem, tol=tol)
        assert found.objective - best <= found.gap * found.objective + 1e-12


def test_solvers_that_keep_margins_refuse_rows_outside_memory():
    X, y, weights, _, _ = draw()
    chunks = Chunked(X, (100, 200))
    problem = Problem(losses.Psi(), chunks, chunks.vector(y), chunks.vector(weights), ElasticNet(0.0))
    with pytest.raises(ValueError, match=r"on rows outside memory. Use a smooth loss.*, or give the rows in memory"):
        solve(problem)
    with pytest.raises(ValueError, match="solver='newton' needs"):
        solve(problem.with_loss(losses.Logistic()), solver="newton")

"""What the one door promises: finite numbers, true certificates, harmless offsets and starts, refusals that help."""

import signal
import threading
import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from softmargin import MarginClassifier, RobustSVC, TruncatedLogisticRegression, losses
from softmargin.expansions import DenseFeatures, Kernel, SparseFeatures, expand
from softmargin.paths import margin_path
from softmargin.penalties import MCP, SCAD, ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import Solution, solve

LOSSES = {
    "logistic": losses.Logistic(),
    "squared hinge": losses.SquaredHinge(),
    "exponential": losses.Exponential(),
    "welsch": losses.Welsch(1.0),
    "truncated logistic": losses.TruncatedLogistic(),
}


def draw(n=150, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.where(X[:, 0] + 0.7 * rng.logistic(size=n) > 0, 1.0, -1.0)


def problem_of(loss, X, y, penalty=None, C=1.0, **more):
    return Problem(loss, expand(X), y, np.full(len(y), C), penalty or ElasticNet(0.0), **more)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
@pytest.mark.parametrize("offset", [1e5, -1e7, 1e9])
def test_an_offset_changes_the_intercept_and_nothing_else(name, l1_ratio, offset):
    X, y = draw()
    spread = offset * np.array([1.0, 0.0, -0.3, 1.0])
    shifted = X + spread
    plain = solve(problem_of(LOSSES[name], shifted - spread, y, ElasticNet(l1_ratio)), tol=1e-6)
    found = solve(problem_of(LOSSES[name], shifted, y, ElasticNet(l1_ratio)), tol=1e-6)
    assert found.converged
    assert found.gap <= 1e-6
    assert found.objective == pytest.approx(plain.objective, rel=1e-5)
    np.testing.assert_allclose(found.coef, plain.coef, atol=5e-3)


@pytest.mark.parametrize("offset", [1e7, 1e9])
def test_offsets_do_no_harm_where_columns_outnumber_rows(offset):
    X, _ = draw(6, 38)
    y = np.where(np.arange(6) % 2, 1.0, -1.0)
    shifted = X + offset
    found = solve(problem_of(losses.Logistic(), shifted, y))
    plain = solve(problem_of(losses.Logistic(), shifted - offset, y), tol=1e-10)
    assert found.converged
    assert found.objective == pytest.approx(plain.objective, rel=1e-5)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
@pytest.mark.parametrize("scale", [1e-160, 1e-30, 1e30, 1e150, 1e160])
def test_extreme_scales_are_solved_or_refused_with_the_reason(name, l1_ratio, scale):
    X, y = draw()
    try:
        found = solve(problem_of(LOSSES[name], X * scale, y, ElasticNet(l1_ratio)), tol=1e-5)
    except ValueError as error:
        refusal = error
        assert not isinstance(refusal, np.linalg.LinAlgError)
        assert "Standardise the columns" in str(refusal)
    else:
        assert np.all(np.isfinite(found.coef))
        assert found.converged
        assert found.gap <= 1e-5


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("loss", ["logistic", "modified_huber"])
def test_similarities_whose_squares_overflow_are_refused_however_small_the_costs(loss, l1_ratio):
    X, y = draw()
    with pytest.raises(ValueError, match="Standardise"):
        margin_path(1e30 * X, y, loss=loss, l1_ratio=l1_ratio, Cs=3, kernel="poly", gamma=1.0)


def test_a_result_that_is_not_a_number_is_refused_with_the_reason():
    X, y = draw()
    X[7, 2] = 1e200  # one entry, which no sample of rows need show
    with pytest.raises(ValueError, match=r"not finite\.|without a solution|double precision"):
        solve(problem_of(losses.SquaredHinge(), X, y))


@settings(max_examples=30, deadline=None)
@given(
    name=st.sampled_from(sorted(LOSSES)),
    l1_ratio=st.sampled_from([0.0, 0.3, 1.0]),
    log_c=st.floats(-4, 3),
    tol=st.sampled_from([1e-2, 1e-5]),
    max_iter=st.sampled_from([1, 3, 1000]),
)
def test_converged_means_a_finite_gap_of_at_most_tol(name, l1_ratio, log_c, tol, max_iter):
    X, y = draw(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = solve(problem_of(LOSSES[name], X, y, ElasticNet(l1_ratio), 10**log_c), tol=tol, max_iter=max_iter)
    assert np.isfinite(found.gap)
    assert not found.converged or found.gap <= tol
    assert found.converged or max_iter < 1000


@pytest.mark.parametrize("name", ["logistic", "welsch"])
def test_a_start_of_another_problem_never_changes_the_answer(name):
    X, y = draw()
    problem = problem_of(LOSSES[name], X, y)
    cold = solve(problem, tol=1e-8)
    others = [
        solve(problem_of(LOSSES[name], np.column_stack([X, X[:, :2] ** 2]), y)),  # other columns of the same rows
        solve(problem_of(LOSSES[name], X[:40], y[:40])),
        Solution(np.full(4, np.nan), 0.0, None, 1.0, 1.0, 0, False),
        Solution(np.zeros(9), 0.0, np.zeros(3), 1.0, 1.0, 0, False),
    ]
    for start in others:
        warm = solve(problem, start, tol=1e-8)
        assert warm.converged
        np.testing.assert_allclose(warm.coef, cold.coef, atol=1e-4)


def test_landmarks_of_another_draw_are_a_start():
    X, y = draw(200)
    kernel = Kernel.resolve("rbf", X, y)
    first, second = (expand(X, kernel, n_components=30, random_state=seed) for seed in (0, 1))
    weights = np.ones(len(y))
    start = solve(Problem(losses.Logistic(), first, y, weights, ElasticNet(0.0)))
    cold = solve(Problem(losses.Logistic(), second, y, weights, ElasticNet(0.0)), tol=1e-9)
    warm = solve(Problem(losses.Logistic(), second, y, weights, ElasticNet(0.0)), start, tol=1e-9)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-7)


@pytest.mark.filterwarnings("ignore:.*gives up every row of one class")
@pytest.mark.parametrize("sigma", [0.2, 0.25, 0.3])
def test_a_constant_classifier_has_a_status(sigma):
    X, y = draw(200)
    found = solve(problem_of(losses.Welsch(sigma), X, y, C=0.01), tol=1e-4)
    assert np.ptp(X @ found.coef) < 1e-5
    assert found.status in ("constant", "degenerate")  # one class has no trust left in double precision
    assert solve(problem_of(losses.Logistic(), X, y, ElasticNet(1.0), 1e-6)).status == "constant"


@pytest.mark.parametrize("penalty", [SCAD(), MCP()], ids=["scad", "mcp"])
@pytest.mark.parametrize("loss", [losses.Logistic(), losses.TruncatedLogistic()], ids=["logistic", "truncated"])
def test_an_objective_without_a_minimum_is_called_unbounded(penalty, loss):
    X, _ = draw()
    y = np.where(X[:, 0] > 0.3, 1.0, -1.0)  # separable: nothing holds a coefficient beyond the knee
    with pytest.warns(ConvergenceWarning, match="no minimum"):
        found = solve(problem_of(loss, X, y, penalty, 10.0))
    assert found.status == "unbounded"
    held = type(penalty)(l1_ratio=0.9)  # a ridge part does
    assert solve(problem_of(loss, X, y, held, 10.0), tol=1e-4).status == "ok"


@pytest.mark.parametrize("base", [losses.Exponential(), losses.Logistic(), losses.SquaredHinge()], ids=lambda b: b.name)
@pytest.mark.parametrize("C", [0.1, 10.0, 1e3])
def test_rows_given_up_do_not_spoil_an_l1_fit(base, C):
    X, y = draw(200)
    found = solve(problem_of(losses.Truncated(base), X, y, ElasticNet(1.0), C), tol=1e-5)
    assert found.converged
    assert np.all(np.diff(found.history) <= 1e-9 * abs(found.history[0]))


@pytest.mark.parametrize("make", [RobustSVC, lambda **kw: TruncatedLogisticRegression(scheme=None, **kw)])
def test_the_adaptive_lasso_of_a_nonconvex_loss_is_the_weighted_lasso_of_its_pilot(make):
    X, y = draw(200)
    model = make(penalty="adaptive_l1", C=0.3, tol=1e-7).fit(X, y)
    pilot = make(C=0.3, tol=1e-7).fit(X, y)
    weighted = make(penalty=ElasticNet(1.0, 1 / np.abs(pilot.coef_[0])), C=0.3, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(model.coef_, weighted.coef_, atol=1e-4)


def test_wide_sparse_nonconvex_fits_build_no_hessian(monkeypatch):
    X = sparse.random(120, 5000, density=0.01, random_state=0, format="csr")
    y = np.where(np.asarray(X[:, :500].sum(axis=1)).ravel() > 2, 1.0, -1.0)
    monkeypatch.setattr(SparseFeatures, "gram", None)
    monkeypatch.setattr(SparseFeatures, "moments", None)
    wide = solve(Problem(losses.Welsch(1.0), SparseFeatures(X), y, np.full(120, 3.0), ElasticNet(0.0)), tol=1e-6)
    monkeypatch.undo()
    dense = solve(
        Problem(losses.Welsch(1.0), DenseFeatures(X.toarray()), y, np.full(120, 3.0), ElasticNet(0.0)), tol=1e-6
    )
    assert wide.objective == pytest.approx(dense.objective, rel=1e-5)


@pytest.mark.parametrize("C", [1.0, 1e3])
def test_dependent_columns_do_not_stall_an_l1_fit(C):
    """200 kernel columns of rank 35: a support beyond the rank is thinned by linear algebra, not by sweeps."""
    X, y = draw(200, 5)
    model = RobustSVC(kernel="poly", l1_ratio=1.0, C=C).fit(X, y)
    assert model.solution_.converged
    assert np.count_nonzero(model.solution_.coef) <= 40


def fit_for_long(X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(100):
            MarginClassifier(loss="squared_hinge", l1_ratio=1.0, C=10.0, tol=1e-12).fit(X, y)


def test_coordinate_descent_can_be_interrupted():
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.normal(size=(4000, 2500)) + rng.normal(size=(4000, 1)))
    y = np.where(X[:, 0] + rng.normal(size=4000) > 0, 1.0, -1.0)
    before = signal.signal(signal.SIGVTALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    try:  # processor time: other programs may have the machine for any while
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.7)
        begin = time.process_time()
        with pytest.raises(KeyboardInterrupt):
            fit_for_long(X, y)
        assert time.process_time() - begin < 60
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_a_path_answers_with_solutions():
    X, y = draw()
    path = margin_path(X, y, Cs=5, l1_ratio=0.5)
    found = path.at(path.Cs[3] * 1.01)
    assert isinstance(found, Solution)
    assert found.converged
    np.testing.assert_array_equal(found.coef, path.coefs[3])
    with pytest.raises(ValueError, match="C must be a positive, finite number"):
        path.at(-1.0)

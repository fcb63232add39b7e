"""Hinge and balanced hinge through the door of all solvers: kernels, dense and sparse features, tilts and offsets."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR, LinearSVC

from softmargin import BalancingSVC, MarginClassifier
from softmargin.expansions import DenseFeatures, Kernel, SparseFeatures, expand
from softmargin.losses import BalancedHinge, Hinge, SquaredHinge
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import BoxQP, GramRows, solve
from softmargin.solvers.svm.factored_kernel import GramMachines
from softmargin.solvers.svm.interior_point import interior_point


def overlapping(n, p=4, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.where(X[:, 0] - X[:, 1] + noise * rng.normal(size=n) > 0.3, 1.0, -1.0)
    return X, y


def problem(X, y, loss=None, weights=None, **rest):
    expansion = SparseFeatures(X) if sparse.issparse(X) else DenseFeatures(X)
    weights = np.ones(len(y)) if weights is None else weights
    return Problem(loss or Hinge(), expansion, y, weights, ElasticNet(0.0), **rest)


@pytest.mark.parametrize("n", [200, 1500])
def test_kernel_hinge_equals_libsvm(n):
    X, y = overlapping(n)
    ours = MarginClassifier(loss="hinge", kernel="rbf", gamma=0.3, tol=1e-7).fit(X, y)
    theirs = SVC(gamma=0.3, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-5)
    assert ours.solution_.gap <= 1e-7


def test_balance_one_equals_support_vector_regression_of_the_labels():
    X, y = overlapping(150)
    ours = MarginClassifier(loss=BalancedHinge(1.0), kernel="rbf", gamma=0.3, C=0.7).fit(X, y)
    theirs = SVR(gamma=0.3, C=0.7, epsilon=0.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.predict(X), atol=1e-5)


@pytest.mark.parametrize("balance", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("shape", [(1200, 3), (4000, 20), (30000, 5)])
def test_sifting_many_rows_equals_the_certified_optimum(shape, C, balance):
    X, y = overlapping(*shape, noise=1.5)
    weights = C * np.random.default_rng(1).choice([0.5, 1.0, 2.0], size=len(y))
    one = problem(X, y, BalancedHinge(balance), weights)
    found = solve(one, tol=1e-8)
    assert found.converged
    assert found.gap <= 1e-8
    np.testing.assert_allclose(found.objective, one.objective(found.coef, found.intercept), rtol=1e-10)
    # the dual point certifies the primal one without trusting the solver
    dual = np.asarray(found.dual)
    assert abs(dual.sum()) <= 1e-9 * np.abs(dual).sum()
    alpha = dual * y
    assert np.all(alpha <= weights * (1 + 1e-12))
    assert np.all(alpha >= -balance * weights * (1 + 1e-12))
    lower = alpha.sum() - 0.5 * np.sum((X.T @ dual) ** 2)
    np.testing.assert_allclose(lower, found.objective, rtol=1e-7)


@pytest.mark.parametrize("balance", [0.0, 1.0])
@pytest.mark.parametrize("scale", [1e2, 1e4, 1e8])
@pytest.mark.parametrize("shape", [(70, 4), (300, 20), (2500, 6)])
def test_huge_features_are_solved_to_a_tiny_gap_that_weights_and_multipliers_prove(shape, scale, balance):
    X, y = overlapping(*shape, noise=1.5)
    one = problem(scale * X, y, BalancedHinge(balance))
    found = solve(one, tol=1e-9)
    assert found.converged
    u = np.asarray(found.dual)
    assert abs(u.sum()) <= 1e-6 * np.abs(u).sum()
    lower = u @ y - 0.5 * np.sum((scale * X.T @ u) ** 2)
    primal = one.objective(found.coef, found.intercept)
    np.testing.assert_allclose(primal, found.objective, rtol=1e-10)
    # for so large features the ridge is nothing: the objective is that of the same rows at any other huge scale
    other = solve(problem(3 * scale * X, y, BalancedHinge(balance)), tol=1e-9)
    np.testing.assert_allclose(primal, other.objective, rtol=2e-3 if scale < 1e4 else 1e-6)
    assert lower <= primal * (1 + 1e-12)


def test_linear_hinge_beats_or_equals_liblinear_with_its_penalised_intercept_undone():
    X, y = overlapping(3000, 10)
    ours = MarginClassifier(loss="hinge", C=0.1).fit(X, y)
    liblinear = LinearSVC(loss="hinge", C=0.1, intercept_scaling=10.0, tol=1e-4, max_iter=10**6, random_state=0)
    theirs = liblinear.fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-2)
    cost = problem(X, y, weights=np.full(len(y), 0.1))
    assert ours.solution_.objective <= cost.objective(theirs.coef_[0], float(theirs.intercept_[0])) + 1e-9


@pytest.mark.parametrize("n", [3000, 20_000])
def test_where_the_best_machine_is_constant_every_row_of_the_majority_lies_on_its_corner(n):
    rng = np.random.default_rng(n)
    X, y = rng.standard_normal((n, 6)), np.where(rng.random(n) < 0.1, 1.0, -1.0)
    found = solve(problem(X, y), tol=1e-6)
    assert found.converged
    assert found.objective == pytest.approx(2 * np.count_nonzero(y > 0), rel=1e-6)
    np.testing.assert_allclose(found.coef, 0, atol=1e-3)


@pytest.mark.parametrize("rare", [False, True])
@pytest.mark.parametrize("shape", [(4000, 8), (30_000, 12)])
def test_multipliers_of_many_rows_prove_the_gap(shape, rare):
    X, y = overlapping(*shape, noise=1.5)
    if rare:  # a few long rows, as standardised rare categories make them
        X = np.column_stack([X, np.where(np.arange(len(y)) % 997 == 0, 31.6, -0.03)])
    one = problem(X, y)
    found = solve(one, tol=1e-6)
    u = np.asarray(found.dual)
    assert np.all(u * y >= 0)
    assert np.abs(u).max() <= 1
    assert abs(u.sum()) <= 1e-9 * np.abs(u).sum()
    lower = u @ y - 0.5 * np.sum((X.T @ u) ** 2)
    primal = one.objective(found.coef, found.intercept)
    assert lower <= primal <= lower * (1 + 1e-6)
    assert primal == pytest.approx(found.objective, rel=1e-10)


@pytest.mark.parametrize("shape", [(300, 40), (1500, 30), (1300, 2500)])
def test_sparse_features_equal_dense_features(shape):
    X, y = overlapping(*shape)
    X = np.where(np.abs(X) < 1.2, 0.0, X)
    weights = np.full(len(y), 0.2)
    dense, thin = (solve(problem(data, y, weights=weights)) for data in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(dense.coef, thin.coef, atol=1e-4)
    np.testing.assert_allclose(dense.objective, thin.objective, rtol=1e-6)


@pytest.mark.parametrize("n", [60, 1500])
def test_tilt_and_offset_only_move_the_box_and_the_target(n):
    X, y = overlapping(n, 3)
    rng = np.random.default_rng(2)
    tilt, offset = rng.choice([0.0, 0.3], size=n), 0.2 * rng.normal(size=n)
    one = problem(X, y, tilt=tilt, offset=offset)
    found = solve(one, tol=1e-9)
    np.testing.assert_allclose(found.objective, one.objective(found.coef, found.intercept), rtol=1e-9)
    for _ in range(20):
        step = 1e-3 * rng.normal(size=4)
        assert one.objective(found.coef + step[:3], found.intercept + step[3]) >= found.objective - 1e-9


@pytest.mark.parametrize("n", [50, 1500])
def test_without_intercept_no_sum_constraint(n):
    X, y = overlapping(n, 3)
    for data in (
        problem(X, y, fit_intercept=False),
        Problem(Hinge(), expand(X, Kernel("rbf", 0.4)), y, np.ones(n), ElasticNet(0.0), fit_intercept=False),
    ):
        found = solve(data, tol=1e-6)
        assert found.intercept == 0
        assert found.gap <= 1e-6


def test_infinite_balance_on_features_keeps_every_margin_at_most_one():
    X, y = overlapping(1500, 3)
    found = solve(problem(X, y, BalancedHinge(np.inf)), tol=1e-7)
    margins = y * (X @ found.coef + found.intercept)
    assert margins.max() <= 1 + 1e-6
    assert found.certificate == "KKT violation"
    small = solve(problem(X[:900], y[:900], BalancedHinge(np.inf)), tol=1e-7)
    assert (y[:900] * (X[:900] @ small.coef + small.intercept)).max() <= 1 + 1e-6


def test_l1_is_refused_with_the_reason():
    X, y = overlapping(30)
    with pytest.raises(ValueError, match=r"loss=Hinge\(\) cannot be fitted with l1_ratio=0.5. Use l1_ratio=0"):
        MarginClassifier(loss="hinge", l1_ratio=0.5).fit(X, y)


@pytest.mark.parametrize("balance", [0.0, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(1500, 40), (1200, 3000)])
def test_dual_descent_on_sparse_rows_equals_the_certified_optimum(shape, intercept, balance):
    rng = np.random.default_rng(5)
    X = sparse.random_array(shape, density=0.05, random_state=rng, format="csr")
    y = np.where(X[:, [0, 1, 2]].sum(axis=1) - 0.05 + 0.3 * rng.normal(size=shape[0]) > 0, 1.0, -1.0)
    weights = rng.choice([0.5, 1.0, 2.0], size=shape[0])
    one = problem(X, y, BalancedHinge(balance), weights, fit_intercept=intercept)
    found = solve(one, tol=1e-6)
    assert found.converged
    dual = np.asarray(found.dual)
    if intercept:
        assert abs(dual.sum()) <= 1e-9 * np.abs(dual).sum()
    alpha = dual * y
    assert np.all((alpha <= weights * (1 + 1e-12)) & (alpha >= -balance * weights * (1 + 1e-12)))
    primal = one.objective(found.coef, found.intercept)
    assert primal == pytest.approx(found.objective, rel=1e-9)
    assert primal - (alpha.sum() - 0.5 * np.sum((X.T @ dual) ** 2)) <= 2e-6 * primal
    dense = solve(problem(X.toarray(), y, BalancedHinge(balance), weights, fit_intercept=intercept), tol=1e-8)
    assert found.objective == pytest.approx(dense.objective, rel=2e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_squared_hinges_of_many_sparse_columns_equal_newtons(intercept, offset):
    rng = np.random.default_rng(7)
    X = sparse.random_array((1200, 3000), density=0.02, random_state=rng, format="csr")
    y = np.where(X[:, [0, 1, 2]].sum(axis=1) + 0.1 * rng.normal(size=1200) > 0.02, 1.0, -1.0)
    one = problem(X, y, SquaredHinge(), rng.choice([0.0, 0.5, 3.0], size=1200), fit_intercept=intercept)
    one = replace(one, offset=offset * rng.normal(size=1200))
    found, newtons = solve(one, solver="dual_descent", tol=1e-6), solve(one, solver="newton", tol=1e-9)
    assert found.converged
    assert found.objective == pytest.approx(newtons.objective, rel=1e-6)
    assert one.objective(found.coef, found.intercept) == pytest.approx(found.objective, rel=1e-9)
    np.testing.assert_allclose(X.T @ np.asarray(found.dual), found.coef, atol=1e-9)


def test_repeated_binary_rows_are_solved_to_the_gap_asked_for():
    rng = np.random.default_rng(6)
    X = (rng.random((6000, 60)) < 0.04).astype(float)
    y = np.where(X[:, :5].sum(axis=1) + 0.3 * rng.normal(size=6000) > 0.5, 1.0, -1.0)
    found = solve(problem(sparse.csr_array(X), y), tol=1e-6)
    assert found.converged
    assert found.objective == pytest.approx(solve(problem(X, y), tol=1e-8).objective, rel=2e-6)


@pytest.mark.parametrize("offset", [1e5, 1e7, 1e9])
@pytest.mark.parametrize("n", [60, 2000])
def test_an_offset_of_all_rows_costs_no_accuracy(n, offset):
    X, y = overlapping(n, 5)
    here, there = (MarginClassifier(loss="hinge").fit(data, y) for data in (X, X + offset))
    assert there.solution_.converged
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-4)


@pytest.mark.parametrize("factor", [1e160, 1e120, 1e-120, 1e-160])
def test_features_of_any_size_are_solved_or_refused_and_never_not_a_number(factor):
    X, y = overlapping(80, 5)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MarginClassifier(loss="hinge").fit(factor * X, y)
    except ValueError as error:
        message = str(error)
    else:
        message = "precision"
        assert np.isfinite(model.coef_).all()
        assert not model.solution_.converged or model.solution_.gap <= model.tol
    assert "precision" in message or "standardise" in message.lower()


def test_collinear_columns_and_a_narrow_band_need_no_exact_factor():
    X, y = overlapping(3000, 4)
    X = np.c_[X, X @ np.ones(4), 1e3 * X[:, 0] + X[:, 1]]
    assert MarginClassifier(loss="hinge", C=100.0).fit(X, y).solution_.converged


def test_a_stiff_kernel_of_low_rank_is_solved_as_its_features_are():
    rng = np.random.default_rng(3)
    X = np.where(rng.random((160, 6)) < 0.5, 0.0, 1000.0 + 3 * rng.normal(size=(160, 6)))
    y = rng.integers(0, 2, 160)
    features = MarginClassifier(loss="hinge", tol=1e-9).fit(X, y)
    kernel = MarginClassifier(loss="hinge", tol=1e-9, kernel="linear").fit(X, y)
    assert features.solution_.converged
    assert kernel.solution_.converged
    np.testing.assert_allclose(kernel.solution_.objective, features.solution_.objective, rtol=1e-8)
    np.testing.assert_allclose(kernel.decision_function(X), features.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "balanced_hinge"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(40, 7), (1200, 5)])
def test_single_precision_costs_no_digits_of_the_weights_whatever_the_units_of_a_column(loss, fit_intercept, shape):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=shape).astype(np.float32)
    X[:, -1] *= 1000
    y = X[:, 0] + rng.random(shape[0]) > 1
    model = MarginClassifier(loss=loss, fit_intercept=fit_intercept, tol=1e-6)
    single, double = clone(model).fit(X, y), clone(model).fit(X.astype(np.float64), y)
    scores = double.decision_function(X.astype(np.float64))
    np.testing.assert_allclose(single.decision_function(X), scores, atol=1e-3 * np.abs(scores).max())
    assert single.solution_.gap <= 1e-6


@pytest.mark.parametrize("n", [80, 900, 1100])
@pytest.mark.parametrize("weight", [None, "some without"])
def test_a_linear_kernel_is_solved_as_its_features_are_whatever_the_unit_of_a_column(n, weight):
    X, y = overlapping(n, 5)
    X[:, 0] *= 1e3
    given = None if weight is None else np.where(np.arange(n) % 7 == 0, 0.0, 1.0)
    kernel = MarginClassifier(loss="hinge", kernel="linear").fit(X, y, sample_weight=given)
    features = MarginClassifier(loss="hinge").fit(X, y, sample_weight=given)
    assert kernel.solution_.converged
    np.testing.assert_allclose(kernel.decision_function(X), features.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_steps_end_where_rounding_hides_the_scores_and_the_fit_says_so_or_refuses(kernel, offset):
    X, y = overlapping(50, 3)
    model = MarginClassifier(loss="hinge", kernel=kernel, gamma=1.0, tol=1e-9, max_iter=10**9)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        if kernel == "poly" and offset >= 1e3:
            with pytest.raises(ValueError, match="lost in the rounding"):
                model.fit(X + offset, y)
            return
        model.fit(X + offset, y)
    assert model.solution_.converged or any(issubclass(w.category, ConvergenceWarning) for w in caught)
    alone = np.concatenate([model.decision_function(row[None]) for row in X + offset])
    np.testing.assert_allclose(alone, model.decision_function(X + offset), atol=0.1)


@pytest.mark.parametrize("n", [60, 1100])
def test_rows_that_cannot_move_do_not_keep_a_stiff_machine_from_its_optimum(n):
    X, y = overlapping(n, 3)
    X[:, 0] *= 1e3
    cost = np.where(np.arange(n) % 5 == 0, 0.0, 1.0)
    K = X @ X.T
    machines = GramMachines(GramRows.of(K), np.diagonal(K))
    for share in (1.0, 0.7):  # the second is given no pair steps if the first crawled
        box = BoxQP(y, np.where(y > 0, 0.0, -share * cost), np.where(y > 0, cost, 0.0))
        assert machines.solve(box, None, 1e-3, 10_000).converged


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_far_beyond_the_scores_are_as_good_as_none(dtype):
    X, y = overlapping(40, 2)
    X = X.astype(dtype)
    far = MarginClassifier(loss="hinge", kernel="rbf", gamma=50.0, tol=1e-3).fit(X, y, sample_weight=np.full(40, 1e60))
    hard = MarginClassifier(loss="hinge", kernel="rbf", gamma=50.0, tol=1e-3).fit(X, y, sample_weight=np.full(40, 1e4))
    np.testing.assert_allclose(far.decision_function(X), hard.decision_function(X), atol=1e-3)


def test_coefficients_whose_sums_hold_no_score_are_refused_by_name():
    X, y = overlapping(47, 2)
    model = MarginClassifier(loss="balanced_hinge", kernel="rbf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with pytest.raises(ValueError, match="lost in the rounding"):
            model.fit(X[:, :1].astype(np.float32), y, sample_weight=np.full(47, 1e90))


@pytest.mark.parametrize("C", [1e3, 1e4])
def test_low_rank_spares_many_rows_of_large_costs_the_working_sets(C):
    X, y = overlapping(1100, 2)
    model = MarginClassifier(loss="hinge", kernel="rbf", C=C, max_iter=400).fit(X, y)
    assert model.solution_.gap <= model.tol


@pytest.mark.parametrize("kernel", ["matern", "rbf"])
@pytest.mark.parametrize("intercept", [False, True])
def test_many_rows_of_a_smooth_kernel_are_certified_without_a_thousand_working_sets(kernel, intercept):
    """Their matrix has hundreds of eigenvalues beyond rounding, and few beyond what the tolerance asks for."""
    X, y = overlapping(1300, 2)
    model = BalancingSVC(kernel=kernel, C=300.0, fit_intercept=intercept, max_iter=400).fit(X, y)
    assert model.solution_.gap <= model.tol


@pytest.mark.parametrize("intercept", [False, True])
def test_an_interior_point_is_the_same_by_products_and_by_columns(intercept):
    X, y = overlapping(60, 4)
    features = DenseFeatures(X)
    box = BoxQP(y, np.where(y > 0, -1.0, -2.0), np.where(y > 0, 2.0, 1.0), intercept)
    ways = [interior_point(features, box, w0=np.zeros(4), tol=1e-9, products=products) for products in (None, X @ X.T)]
    np.testing.assert_allclose(ways[0].w, ways[1].w, atol=1e-7)
    np.testing.assert_allclose(ways[0].intercept, ways[1].intercept, atol=1e-7)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n", [900, 1300])
def test_rows_of_zeros_make_a_constant_machine_without_a_word(make, intercept, n):
    y = np.where(np.arange(n) == 5, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MarginClassifier(loss="hinge", fit_intercept=intercept).fit(make(np.zeros((n, 6))), y)
    assert not model.coef_.any()
    assert model.solution_.converged
    assert np.ptp(model.decision_function(make(np.zeros((3, 6))))) == 0

"""Simultaneous support vector machines: golden optima, certificates, reductions, and scikit-learn's conventions."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from softmargin import MulticategorySVC
from softmargin.losses.multiclass import HINGES, fisher_consistent, multicategory_hinge

FOLDER = Path(__file__).parents[1] / "golden"
GOLDEN = json.loads((FOLDER / "multicategory.json").read_text())
BOUNDED = json.loads((FOLDER / "balancing_svm.json").read_text())
NAMES = {
    "ww": "weston_watkins",
    "cs": "crammer_singer",
    "llw": "lee_lin_wahba",
    "rmsvm": "reinforced",
    "naive": "naive",
}
pytestmark = pytest.mark.filterwarnings('ignore:method="naive"')


def kernel_options(case):
    width = case["bandwidth"] or 1.0
    return {"linear": {}, "rbf": {"kernel": "rbf", "gamma": 1 / (2 * width**2)}}[case["kernel"]]


def problem(seed, n=40, p=3, k=4):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(k), rng.integers(0, k, n - k)]
    return rng.normal(size=(n, p)) + rng.normal(size=(k, p))[y], y, rng.uniform(0.2, 3, n)


@pytest.mark.parametrize("case", GOLDEN["hinge"]["cases"])
def test_fit_equals_golden(case):
    X, lam = np.array(case["X"]), case["lam"]
    model = MulticategorySVC(
        NAMES[case["loss"]],
        mix=case["gamma"],
        C=1 / (2 * lam),
        penalize_intercept=case["penalise_intercept"],
        tol=1e-10,
        max_iter=10**6,
        **kernel_options(case),
    ).fit(X, case["y"], sample_weight=case["sample_weight"])
    assert model.solution_.objective * 2 * lam == pytest.approx(case["objective"], rel=1e-8)
    assert model.solution_.gap <= 1e-10
    two = case["k"] == 2
    if "f_train" in case:
        expected = np.array(case["f_train"])
        np.testing.assert_allclose(model.decision_function(X), expected[:, 1] if two else expected, atol=2e-4)
    if "coef" in case:
        np.testing.assert_allclose(model.coef_, np.array(case["coef"])[1:] if two else case["coef"], atol=2e-4)


@pytest.mark.parametrize("name", ["mbcm_linear", "mbcm_rbf"])
def test_bounded_machine_equals_golden(name):
    case = BOUNDED[name]
    options = {"kernel": "rbf", "gamma": case["gamma"]} if "gamma" in case else {}
    for solution in case["solutions"]:
        model = MulticategorySVC("bounded", C=solution["C"] / 2, tol=1e-10, max_iter=10**6, **options)
        model.fit(case["X"], case["y"])
        assert 2 * model.solution_.objective == pytest.approx(solution["objective"], rel=1e-8)
        got = model.decision_function(case["X_test"]) - model.intercept_
        np.testing.assert_allclose(got, np.array(solution["f_test"]) - solution["b"], atol=case["tol_f"])
        assert model.decision_function(case["X"]).min() >= -1 - 1e-5


@pytest.mark.parametrize("case", GOLDEN["losses"]["cases"])
def test_loss_values(case):
    F, codes = np.array([case["f"]]), np.array([case["y"]])
    for short, name in NAMES.items():
        value = multicategory_hinge(name, F, codes, case["gamma"])[0]
        assert value == pytest.approx(case[short], abs=1e-12)


@pytest.mark.parametrize("case", GOLDEN["population_hinge"]["cases"])
def test_population_minimum_of_the_losses(case):
    F = np.tile(case["f_one_minimiser"], (len(case["P"]), 1))
    losses = multicategory_hinge(NAMES[case["loss"]], F, np.arange(len(F)), case["gamma"])
    assert case["P"] @ losses == pytest.approx(case["min_risk"], abs=1e-8)


def population_argmax_is_unique(name, P, mix):
    """By linear programming: can another class be at least tied with the most probable one at no extra risk?"""
    k = len(P)
    rows, rhs, cost = [], [], []
    for y in range(k):
        pieces = {
            "naive": [(1.0, {y: -1.0})],
            "lee_lin_wahba": [(1.0, {j: 1.0}) for j in range(k) if j != y],
        }.get(name)
        if name == "reinforced":
            pieces = [(mix, {y: -1.0, "t": k - 1})] + [(1 - mix, {j: 1.0}) for j in range(k) if j != y]
        for weight, terms in pieces:
            rows.append((terms, len(cost)))
            rhs.append(-terms.get("t", 1.0))
            cost.append(P[y] * weight)
    A = np.zeros((len(rows), k + len(cost)))
    for r, (terms, slack) in enumerate(rows):
        for j, value in terms.items():
            if j != "t":
                A[r, j] = value
        A[r, k + slack] = -1
    c = np.r_[np.zeros(k), cost]
    zero_sum = np.r_[np.ones(k), np.zeros(len(cost))][None]
    bounds = [(-50, 50)] * k + [(0, None)] * len(cost)
    best = linprog(c, A, rhs, zero_sum, [0], bounds).fun
    for j in range(1, k):
        tie = np.zeros((1, A.shape[1]))
        tie[0, 0], tie[0, j] = 1, -1  # f_0 <= f_j
        rival = linprog(c, np.vstack([A, tie]), [*rhs, 0], zero_sum, [0], bounds).fun
        if rival <= best + 1e-9:
            return False
    return True


@pytest.mark.parametrize(
    ("name", "mix"), [("naive", 0.5), ("lee_lin_wahba", 0.5), ("reinforced", 0.5), ("reinforced", 0.8)]
)
def test_fisher_consistency_is_what_linear_programs_say(name, mix):
    rng = np.random.default_rng(0)
    for k in (3, 4):
        P = -np.sort(-rng.dirichlet(np.ones(k) * 4, size=12), axis=1)
        claimed = fisher_consistent(name, P, mix)
        for p, claim in zip(P, claimed, strict=True):
            assert population_argmax_is_unique(name, p, mix) == claim


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(HINGES), st.sampled_from([None, "rbf"]), st.booleans(), st.floats(-2, 1))
def test_gap_certifies_and_no_direction_improves(seed, method, kernel, penalize, log_C):
    X, y, weight = problem(seed, n=25)
    model = MulticategorySVC(
        method, mix=0.7, kernel=kernel, C=10.0**log_C, penalize_intercept=penalize, tol=1e-7, max_iter=10**5
    ).fit(X, y, weight)
    assert model.solution_.converged
    if method == "bounded":
        return
    rng = np.random.default_rng(seed)
    K = X @ X.T if kernel is None else model.kernel_score_.kernel(X, X)
    F = model.decision_function(X)
    full = np.zeros((len(X), 4))
    if kernel is None:
        square = np.sum(model.coef_**2)
    else:
        full[model.support_] = model.dual_coef_.T
        square = np.sum(full * (K @ full))
    b = model.intercept_

    def objective(F, square, b):
        cost = model.C * weight @ multicategory_hinge(method, F, y, 0.7)
        return cost + 0.5 * square + (0.5 * np.sum(b**2) if penalize else 0)

    value = objective(F, square, b)
    assert value == pytest.approx(model.solution_.objective, rel=1e-6)
    for _ in range(10):  # random sum-to-zero directions in function space
        step = rng.normal(size=(len(X), 4)) * 10.0 ** rng.uniform(-4, 0)
        step -= step.mean(axis=1, keepdims=True)
        shift = rng.normal(size=4) * 0.01
        shift -= shift.mean()
        if kernel is None:
            theta = model.coef_.T + X.T @ step
            moved = objective(X @ theta + b + shift, np.sum(theta**2), b + shift)
        else:
            beta = full + step
            moved = objective(K @ beta + b + shift, np.sum(beta * (K @ beta)), b + shift)
        assert moved >= value * (1 - 1e-6)


def test_crammer_singer_reaches_the_objective_of_liblinear():
    X, y, _ = problem(3, n=200, p=6)
    ours = MulticategorySVC("crammer_singer", C=0.5, penalize_intercept=True, tol=1e-8, max_iter=10**5).fit(X, y)
    peer = LinearSVC(multi_class="crammer_singer", C=0.5, tol=1e-8, max_iter=10**6, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.coef_ - ours.coef_.mean(axis=0), peer.coef_ - peer.coef_.mean(axis=0), atol=1e-3)


@pytest.mark.parametrize("method", HINGES)
def test_two_classes_do_not_feel_the_mix_and_are_antisymmetric(method):
    X, y, weight = problem(4, k=2)
    fits = [MulticategorySVC(method, mix=mix, tol=1e-9, max_iter=10**5).fit(X, y, weight) for mix in (0.1, 0.9)]
    np.testing.assert_allclose(fits[0].decision_function(X), fits[1].decision_function(X), atol=1e-4)
    flipped = clone(fits[0]).fit(X, 1 - y, weight)
    np.testing.assert_allclose(flipped.decision_function(X), -fits[0].decision_function(X), atol=1e-4)


@pytest.mark.parametrize(
    ("method", "margin"), [("reinforced", 1.0), ("lee_lin_wahba", 1.0), ("naive", 1.0), ("weston_watkins", 2.0)]
)
def test_two_classes_are_the_binary_machine(method, margin):
    """Hinge at ``margin * y f`` with ``|f|^2``: the binary machine of cost C margin^2 / 2, divided by the margin."""
    X, y, _ = problem(5, k=2)
    C = 0.3
    ours = MulticategorySVC(method, C=C, penalize_intercept=True, tol=1e-10, max_iter=10**5).fit(X, y)
    cost = C * margin**2 / 2
    peer = LinearSVC(loss="hinge", C=cost, tol=1e-10, max_iter=10**6, random_state=0).fit(X, y)
    np.testing.assert_allclose(margin * ours.decision_function(X), peer.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("method", HINGES)
def test_sparse_dense_and_kernel_routes_agree(method):
    X, y, weight = problem(6)
    X[np.abs(X) < 0.4] = 0
    options = {"tol": 1e-9, "max_iter": 10**5, "penalize_intercept": True, "C": 0.3}
    dense = MulticategorySVC(method, **options).fit(X, y, weight)
    for other in (
        MulticategorySVC(method, **options).fit(sparse.csr_array(X), y, weight),
        MulticategorySVC(method, kernel="linear", **options).fit(X, y, weight),
        MulticategorySVC(method, kernel="precomputed", **options).fit(X @ X.T, y, weight),
    ):
        assert other.solution_.objective == pytest.approx(dense.solution_.objective, rel=1e-8)


@pytest.mark.parametrize("method", HINGES)
def test_renaming_classes_permutes_the_columns(method):
    X, y, weight = problem(7)
    order = np.array([2, 0, 3, 1])
    one = MulticategorySVC(method, penalize_intercept=True, tol=1e-10, max_iter=10**5).fit(X, y, weight)
    two = clone(one).fit(X, order[y], weight)
    np.testing.assert_allclose(two.decision_function(X)[:, order], one.decision_function(X), atol=1e-3)


def test_naive_machine_warns_once_and_says_what_to_use():
    X, y, _ = problem(8)
    with pytest.warns(UserWarning, match="never singles out the most probable of 4 classes"):
        MulticategorySVC("naive").fit(X, y)


def test_too_few_passes_warn():
    X, y, _ = problem(9, n=100)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        MulticategorySVC("crammer_singer", C=100, tol=1e-12, max_iter=3).fit(X, y)


def test_rows_of_zeros_without_intercept_and_single_members():
    X, y = np.vstack([np.zeros((2, 2)), np.eye(2), -np.eye(2)]), np.array([0, 1, 2, 3, 4, 5])
    for method in HINGES:
        model = MulticategorySVC(method, fit_intercept=False, tol=1e-6).fit(X, y)
        assert model.solution_.converged
        assert np.isfinite(model.decision_function(X)).all()


def test_probabilities_are_refused_with_a_remedy():
    X, y, _ = problem(10)
    model = MulticategorySVC().fit(X, y)
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "ovo"}, "method must be one of"),
        ({"mix": 2}, "mix must be a number between 0 and 1; got 2"),
        ({"C": -1}, "C must be a positive, finite number; got -1"),
        ({"tol": 0}, "tol must be a positive"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
    ],
)
def test_bad_parameters_are_named(options, message):
    X, y, _ = problem(11)
    with pytest.raises(ValueError, match=message):
        MulticategorySVC(**options).fit(X, y)


@pytest.mark.parametrize(
    "model",
    [
        MulticategorySVC("crammer_singer"),
        MulticategorySVC("lee_lin_wahba", kernel="rbf", penalize_intercept=True),
    ],
    ids=str,
)
def test_scikit_learn_conventions(model):
    check_estimator(model)


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("intercept", [{}, {"penalize_intercept": True}, {"fit_intercept": False}])
def test_bounded_machine_converges_at_costs_seven_orders_apart(kernel, intercept):
    X, y, _ = problem(12)
    weight = np.where(y == y[0], 1e3, 1e-4)
    model = MulticategorySVC("bounded", kernel=kernel, tol=1e-4, **intercept)
    assert model.fit(20 * X, y, sample_weight=weight).solution_.gap <= 1e-4
    assert model.decision_function(20 * X).min() >= -1 - 1e-5


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("method", HINGES)
def test_interior_steps_and_coordinate_ascent_agree(method, kernel, monkeypatch):
    X, y, weight = problem(13)
    model = MulticategorySVC(method, C=1.0, tol=1e-6, max_iter=20000, kernel=kernel, penalize_intercept=True)
    monkeypatch.setattr("softmargin.solvers.multiclass.block_ascent._INTERIOR_WORK", 0.0)
    ascent = model.fit(X, y, weight).solution_
    monkeypatch.setattr("softmargin.solvers.multiclass.block_ascent._INTERIOR_WORK", np.inf)
    monkeypatch.setattr("softmargin.solvers.multiclass.block_ascent._PASSES_PER_CALL", 1)
    monkeypatch.setattr("softmargin.solvers.multiclass.block_ascent._FEWEST_PASSES", 0.0)
    monkeypatch.setattr("softmargin.solvers.multiclass.block_ascent._INTERIOR_STEPS", 0)
    inner = model.fit(X, y, weight).solution_
    assert len(ascent.history) > len(inner.history) == 0
    assert max(ascent.gap, inner.gap) <= 1e-6
    np.testing.assert_allclose(inner.objective, ascent.objective, rtol=2e-6)


@pytest.mark.parametrize("method", HINGES)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_default_settings_converge(method, C, kernel):
    for seed, n, k in ((0, 50, 3), (1, 120, 6)):
        X, y, _ = problem(seed, n=n, k=k)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            solution = MulticategorySVC(method, C=C, kernel=kernel).fit(X, y).solution_
        assert solution.converged
        assert 0 <= solution.gap <= 1e-3


@pytest.mark.parametrize("method", ["reinforced", "crammer_singer", "bounded"])
def test_large_costs_on_kernels_of_small_rank_are_certified(method):
    """Passes over rows of such costs gain little, whatever the number of rows: the rank makes the systems small."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(200, 1)), 4, axis=0)
    cost = 10.0 ** rng.uniform(-6, 6, size=800)
    model = MulticategorySVC(method, kernel="rbf", tol=1e-4, max_iter=20_000)
    assert model.fit(rows, rng.integers(0, 3, size=800), sample_weight=cost).solution_.converged


def disagreement(model, X, codes, k, rng):
    """How far scores are from those of other routes to them: sparse rows, another order, classes exchanged."""
    order, exchanged = rng.permutation(len(codes)), np.r_[1, 0, 2:k]
    routes = [(X, codes), (sparse.csr_array(X), codes), (X[order], codes[order]), (X, exchanged[codes])]
    fits = [clone(model).fit(*route).decision_function(X) for route in routes]
    fits[3] = -fits[3] if k == 2 else fits[3][:, exchanged]
    return max(float(np.abs(one - fits[0]).max()) for one in fits[1:]) / max(1.0, float(np.abs(fits[0]).max()))


@pytest.mark.parametrize("method", HINGES)
def test_rows_that_are_repeats_of_few_have_the_scores_of_every_route_to_them(method):
    """At large costs Newton's equations are nothing but rows on their corners: fewer than coefficients."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        k = 2 if method == "naive" else int(rng.integers(2, 5))
        n, p = int(rng.integers(8, 28)), int(rng.integers(1, 4))
        X = rng.integers(0, 2, size=(n, p)) * 1.0
        codes = rng.permutation(np.r_[0:k, rng.integers(0, k, size=n - k)])
        model = MulticategorySVC(method=method, C=10.0 ** rng.uniform(1, 3), tol=rng.choice([1e-3, 1e-9]))
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            assert disagreement(model, X, codes, k, rng) < 1e-3


@pytest.mark.parametrize("method", HINGES)
def test_small_fits_do_not_stop_where_passes_leave_a_gap(method):
    """Whole weights are repeats, and scores those of every route, to more digits than ``tol`` asks for."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        k = 2 if method == "naive" else int(rng.integers(2, 5))
        X, codes = rng.normal(size=(24, 4)), rng.permutation(np.r_[0:k, rng.integers(0, k, size=24 - k)])
        times = rng.integers(1, 4, size=24)
        model = MulticategorySVC(method=method, C=10.0 ** rng.uniform(-1, 1))
        weighted = clone(model).fit(X, codes, sample_weight=times.astype(float)).decision_function(X)
        repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(codes, times)).decision_function(X)
        np.testing.assert_allclose(weighted, repeated, atol=1e-4)


def test_bounded_classes_of_one_weight_share_what_the_intercepts_leave_open():
    """Small costs leave scores flat: any intercepts of classes that pull alike are as good."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 5))
        X, codes = rng.normal(size=(5 * k, 2)), np.repeat(np.arange(k), 5)
        model = MulticategorySVC(method="bounded", C=10.0 ** rng.uniform(-3, 0))
        assert disagreement(model, X, codes, k, rng) < 1e-5


@pytest.mark.parametrize(("method", "C"), [("bounded", 1.0), ("reinforced", 100.0)])
def test_machines_of_many_coefficients_converge_where_passes_crawl(method, C):
    rng = np.random.default_rng(0)
    y = np.arange(330) % 6
    X = rng.normal(size=(330, 300)) @ rng.normal(size=(300, 300)) / 10 + rng.normal(size=(6, 300))[y]
    assert MulticategorySVC(method=method, C=C).fit(X, y).solution_.converged

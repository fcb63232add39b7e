"""Every path is optimal at every breakpoint and between them, on data made to be degenerate."""

from __future__ import annotations

import pickle
import signal
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from softmargin import paths
from softmargin.paths.exact.pieces import AffinePiece
from softmargin.solvers import Solution
from softmargin.solvers.svm import BoxQP, solve_box_qp

KERNELS = [
    {},
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 1.0},
    {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0},
]
MAKERS = {"cost": paths.cost_path, "weight": paths.weight_path, "balance": paths.balance_path}


def gram(X, kernel):
    if kernel.get("kernel") == "rbf":
        return np.exp(-kernel["gamma"] * ((X[:, None] - X[None]) ** 2).sum(-1))
    if kernel.get("kernel") == "poly":
        return (kernel["gamma"] * X @ X.T + kernel["coef0"]) ** kernel["degree"]
    return X @ X.T


def box(kind, t, C, y, weight):
    cost = weight * {"cost": t, "weight": 2 * C * np.where(y > 0, 1 - t, t), "balance": C}[kind]
    slack = C * t * weight if kind == "balance" else 0.0
    return np.where(y > 0, -slack, -cost), np.where(y > 0, cost, slack)


@st.composite
def awkward_data(draw):
    """Lattices, repeated rows, points on a line, one positive only, equal or unequal classes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(2, 24)), draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["generic", "lattice", "repeated", "line", "binary"]))
    X = rng.normal(size=(n, p))
    if kind == "lattice":
        X = rng.integers(-2, 3, size=(n, p)).astype(float)
    elif kind == "repeated":
        X = X[rng.integers(0, n, size=n)]
    elif kind == "line":
        X = np.outer(rng.integers(-4, 5, size=n), rng.normal(size=p))
    elif kind == "binary":
        X = rng.integers(0, 2, size=(n, p)).astype(float)
    labels = draw(st.sampled_from(["signal", "noise", "one positive", "halves"]))
    y = np.where((X[:, 0] if labels == "signal" else 0.0) + rng.normal(size=n) > 0, 1, -1)
    if labels == "one positive":
        y = np.where(np.arange(n) == rng.integers(n), 1, -1)
    elif labels == "halves":
        y = np.where(np.arange(n) < (n + 1) // 2, 1, -1)
    if abs(y.sum()) == n:
        y[0] = -y[0]
    weight = np.ones(n) if draw(st.booleans()) else rng.integers(1, 4, size=n).astype(float)
    return X, y, weight, 10.0 ** rng.uniform(-2, 2)


@pytest.mark.parametrize("kind", list(MAKERS))
@settings(max_examples=40, deadline=None)
@given(data=awkward_data(), kernel=st.sampled_from(KERNELS))
def test_path_equals_the_qp_at_every_breakpoint_and_between(kind, data, kernel):
    X, y, weight, C = data
    options = {} if kind == "cost" else {"C": C}
    path = MAKERS[kind](X, y, sample_weight=weight, **options, **kernel)
    assert path.complete
    assert path.n_bridges == 0 or path.gap <= 1e-8
    knots = path.breakpoints
    middles = 0.5 * (knots[1:] + knots[:-1])
    beyond = [knots[-1] + 1.0, np.inf] if kind == "balance" else []
    chosen = np.r_[knots, middles, beyond]
    if kind == "weight":
        chosen = chosen[(chosen > 1e-6) & (chosen < 1 - 1e-6)]
    elif kind == "cost":
        chosen = chosen[chosen > 0]
    rng = np.random.default_rng(0)
    for t in rng.permutation(chosen)[:30]:
        found = path.at(t)
        assert found.gap < 1e-6
        if np.isfinite(t):
            lo, hi = box(kind, t, C, y, weight)
            tolerance = 1e-9 * (hi - lo).max()
            assert np.all(found.dual >= lo - tolerance)
            assert np.all(found.dual <= hi + tolerance)
            assert abs(found.dual.sum()) <= 1e-7 * (hi - lo).sum()
    t = float(rng.choice(np.r_[middles, knots[-1] + 0.5] if kind == "balance" else middles))
    lo, hi = box(kind, t, C, y, weight)
    K = gram(X, kernel)
    qp = solve_box_qp(K, BoxQP(y.astype(float), lo, hi), tol=1e-9)
    cost = 1.0 + abs(qp.value)
    assert path.at(t).objective == pytest.approx(-qp.value, abs=1e-6 * cost)


@pytest.mark.parametrize("kernel", [{}, {"kernel": "rbf", "gamma": 1.0}], ids=["linear", "rbf"])
def test_swapping_labels_mirrors_the_weight_path(kernel):
    rng = np.random.default_rng(3)
    X, noise = rng.normal(size=(40, 2)), rng.normal(size=40)
    y = np.where(X[:, 0] + noise > 0, 1, -1)
    path, mirrored = (paths.weight_path(X, labels, C=0.5, **kernel) for labels in (y, -y))
    for pi in (0.11, 0.25, 0.5, 0.8):
        np.testing.assert_allclose(path.decision_function(X, pi), -mirrored.decision_function(X, 1 - pi), atol=1e-8)


def test_paths_agree_with_libsvm():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=60) > 0, "yes", "no")
    cost, weight = paths.cost_path(X, y, kernel="rbf", gamma=0.5), paths.weight_path(X, y, kernel="rbf", gamma=0.5)
    for C in (0.05, 1.0, 30.0):
        peer = SVC(C=C, gamma=0.5, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(cost.decision_function(X, C), peer.decision_function(X), atol=1e-5)
    for pi in (0.2, 0.7):
        peer = SVC(gamma=0.5, tol=1e-8, class_weight={"yes": 2 * (1 - pi), "no": 2 * pi}).fit(X, y)
        np.testing.assert_allclose(weight.decision_function(X, pi), peer.decision_function(X), atol=1e-5)


def test_weights_are_repeated_rows_and_zero_weights_are_no_rows():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(30, 2)), np.where(rng.random(30) < 0.4, 1, -1)
    count = rng.integers(0, 4, size=30)
    path = paths.weight_path(X, y, kernel="rbf", gamma=0.7, sample_weight=count)
    repeated = paths.weight_path(np.repeat(X, count, axis=0), np.repeat(y, count), kernel="rbf", gamma=0.7)
    np.testing.assert_allclose(path.breakpoints, repeated.breakpoints, atol=1e-9)
    np.testing.assert_allclose(path.decision_function(X, 0.37), repeated.decision_function(X, 0.37), atol=1e-9)
    assert np.all(path.at(0.37).dual[count == 0] == 0)


def test_a_constant_model_turns_at_the_share_of_the_positives():
    path = paths.weight_path(np.zeros((4, 1)), [1, 1, 1, 0])
    scores = path.decision_function([[0.0]], np.array([0.0, 0.3, 0.75, 0.8, 1.0]))
    np.testing.assert_allclose(scores, [[1, 1, 0, -1, -1]], atol=1e-12)


def test_event_cap_returns_a_verified_prefix_and_says_so():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1, -1)
    with pytest.warns(ConvergenceWarning, match="max_events"):
        path = paths.balance_path(X, y, kernel="rbf", gamma=1.0, jitter=0.0, max_events=25)
    assert not path.complete
    assert path.range[1] < np.inf
    assert path.at(path.range[1]).gap < 1e-9
    with pytest.raises(ValueError, match="outside this path"):
        path.at(path.range[1] + 1)


def test_events_replay_to_the_sets_of_the_solution():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(40, 2)), np.where(rng.random(40) < 0.5, 1, -1)
    path = paths.balance_path(X, y, C=1.0, kernel="rbf", gamma=1.0)
    last = {int(event["index"]): str(event["after"]) for event in path.events}
    alpha = path.at(np.inf).dual * y
    for row, name in last.items():
        assert (abs(alpha[row] - 1) < 1e-9) == (name == "L")
    assert np.all(np.diff(path.events["t"]) >= 0)


def test_a_path_survives_pickling():
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(20, 2)), np.where(rng.random(20) < 0.5, 1, -1)
    path = paths.cost_path(X, y)
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.decision_function(X, 2.0), path.decision_function(X, 2.0))


def test_precomputed_kernel_is_the_kernel():
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(25, 2)), np.where(rng.random(25) < 0.5, 1, -1)
    weight = rng.integers(0, 3, size=25)
    K = gram(X, {"kernel": "rbf", "gamma": 1.0})
    given_matrix = paths.weight_path(K, y, kernel="precomputed", sample_weight=weight)
    named = paths.weight_path(X, y, kernel="rbf", gamma=1.0, sample_weight=weight)
    np.testing.assert_allclose(given_matrix.decision_function(K, 0.4), named.decision_function(X, 0.4), atol=1e-8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: paths.weight_path(X, np.ones(len(y))), "two classes"),
        (lambda X, y: paths.weight_path(X, y, C=0.0), "C must be"),
        (lambda X, y: paths.balance_path(X, y, C=np.inf), "C must be"),
        (lambda X, y: paths.cost_path(X, y, C_min=2.0, C_max=1.0), "C_min"),
        (lambda X, y: paths.weight_path(X, y, jitter=-1.0), "jitter"),
        (lambda X, y: paths.weight_path(X, y, max_events=0), "max_events"),
        (lambda X, y: paths.weight_path(X, y).at(1.5), "outside this path"),
        (lambda X, y: paths.weight_path(X, y).at(-0.1), "outside this path"),
        (lambda X, y: paths.balance_path(X, y).at(-1.0), "outside this path"),
        (lambda X, y: paths.weight_path(X, y).at(np.nan), "pi must be a number in"),
        (lambda X, y: paths.weight_path(X, y).decision_function(X[:, :1], 0.5), "columns"),
        (lambda X, y: paths.weight_path(X @ X.T - 5 * np.eye(len(X)), y, kernel="precomputed"), "semidefinite"),
    ],
)
def test_bad_input_is_named(call, message):
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(12, 2)), np.where(np.arange(12) % 2, 1, -1)
    with pytest.raises(ValueError, match=message):
        call(X, y)


def test_a_path_whose_jitter_costs_accuracy_says_so():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = X[:, 0] + X[:, 1] ** 2 - 1 + 0.7 * rng.standard_normal(60) > 0
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        rough = paths.weight_path(X, y, kernel="rbf", gamma=1.0, C=100.0, jitter=1e-2)
    assert rough.jitter == 1e-2
    assert rough.gap > 1e-6
    assert not rough.at(0.5).converged
    assert paths.weight_path(X, y, kernel="rbf", gamma=1.0, C=100.0).gap < 1e-8


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("positive", "negative"),
    [([1], [0, 0, 1]), ([0, 1, 1], [0, 0, 0, 1, 1]), ([0, 0, 1, 1, 1], [0]), ([2], [0, 1, 1, 2]), ([2], [0, 2])],
)
def test_scores_are_affine_between_breakpoints_wherever_the_tracing_began(positive, negative, form):
    X = np.array(positive + negative, dtype=float)[:, None]
    y = np.repeat([1, -1], [len(positive), len(negative)])
    path = paths.weight_path(form(X), y)
    knots = path.breakpoints
    length = np.diff(knots)
    early, late = (path.decision_function(X, knots[:-1] + share * length) for share in (0.01, 0.99))
    for share in (0.25, 0.5, 0.75):
        between = path.decision_function(X, knots[:-1] + share * length)
        np.testing.assert_allclose(between, early + (share - 0.01) / 0.98 * (late - early), atol=1e-6)


def true_gap(path):
    """The largest gap of what ``at`` returns at breakpoints, between them, and next to both ends of the range."""
    knots, (low, high) = path.breakpoints, path.range
    inner = np.r_[knots, 0.5 * (knots[1:] + knots[:-1]), low, 0.9 * low + 0.1 * min(high, knots[-1] + 1)]
    return max(path.at(t).gap for t in inner)


@pytest.mark.parametrize("kind", list(MAKERS))
@pytest.mark.parametrize("kernel", KERNELS[:3], ids=str)
@settings(max_examples=15, deadline=None)
@given(
    data=awkward_data(),
    scale=st.floats(-3, 3),
    offset=st.sampled_from([0.0, 1.0, 1e5]),
    heavy=st.sampled_from([-100, -8, 0, 0, 4, 100]),
)
def test_the_gap_of_a_path_is_that_of_its_solutions_whatever_the_units(kind, kernel, data, scale, offset, heavy):
    X, y, weight, C = data
    options = kernel if kernel.get("kernel") != "rbf" else {"kernel": "rbf", "gamma": 10.0 ** (-2 * scale)}
    options = options | ({} if kind == "cost" else {"C": C})
    rows, weight = 10.0**scale * (X + offset), weight * 10.0**heavy
    refusal = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            path = MAKERS[kind](rows, y, sample_weight=weight, **options)
        except ValueError as error:
            refusal = str(error)
    if refusal:
        assert heavy > 0
        assert "Lower C or the weights" in refusal or "divide the weights" in refusal
        return
    assert true_gap(path) <= max(20 * path.gap, 1e-6)  # noise of sums of 1e9, another in each order of summation
    assert path.gap <= 1e-6 or any("not exact" in str(w.message) for w in caught)
    if heavy <= 0 and scale < 2:
        assert path.gap <= 1e-5


@pytest.mark.parametrize("kind", list(MAKERS))
def test_moving_the_rows_moves_the_intercept_only(kind):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + rng.normal(size=40) > 0
    here, there = MAKERS[kind](X, y), MAKERS[kind](X + 1e6, y)
    for t in (0.3, 0.61, 0.88):
        np.testing.assert_allclose(there.at(t).coef, here.at(t).coef, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(there.decision_function(X + 1e6, t), here.decision_function(X, t), atol=1e-4)
    assert there.gap < 1e-8


def test_a_wide_path_of_huge_raw_features_starts_and_is_exact():
    rng = np.random.default_rng(12)
    X = np.exp(rng.normal(6, 2, size=(38, 700)))  # like raw expression levels
    y = np.arange(38) < 12
    assert paths.weight_path(X, y, C=1e-4).gap < 1e-6
    with warnings.catch_warnings():  # events at 1 - pi = 1e-11 need more digits than pi has, and the path says so
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = paths.weight_path(X, y, C=1.0)
    assert path.gaps(np.linspace(1e-3, 1 - 1e-3, 9)).max() < 1e-6


def test_repeated_rows_do_not_keep_a_path_from_starting():
    rng = np.random.default_rng(13)
    X = rng.integers(0, 3, size=(200, 2)).astype(float)
    y = rng.random(200) < 0.4
    for kernel in ({"kernel": "precomputed"}, {}, {"kernel": "rbf", "gamma": 1.0}):
        data = X @ X.T if kernel.get("kernel") == "precomputed" else X
        assert paths.weight_path(data, y, C=5.0, **kernel).gap < 1e-6


@pytest.mark.parametrize("gamma", ["scale", "median", "mean"])
def test_kernel_widths_count_rows_by_their_weights(gamma):
    rng = np.random.default_rng(14)
    X, y, count = rng.normal(size=(30, 2)), rng.random(30) < 0.5, rng.integers(0, 4, size=30)
    weighted = paths.weight_path(X, y, kernel="rbf", gamma=gamma, sample_weight=count)
    repeated = paths.weight_path(np.repeat(X, count, axis=0), np.repeat(y, count), kernel="rbf", gamma=gamma)
    np.testing.assert_allclose(weighted.decision_function(X, 0.37), repeated.decision_function(X, 0.37), atol=1e-8)


def test_a_sparse_gram_matrix_is_a_gram_matrix():
    rng = np.random.default_rng(15)
    X, y = rng.normal(size=(25, 2)), rng.random(25) < 0.5
    K = gram(X, {})
    dense, thin = (paths.weight_path(data, y, kernel="precomputed") for data in (K, sparse.csr_array(K)))
    np.testing.assert_allclose(
        dense.decision_function(K, 0.4), thin.decision_function(sparse.csr_array(K), 0.4), atol=1e-10
    )


def test_a_grid_and_an_exact_path_both_answer_with_solutions():
    rng = np.random.default_rng(16)
    X, y = rng.normal(size=(25, 2)), rng.random(25) < 0.5
    for path in (paths.margin_path(X, y, Cs=5), paths.cost_path(X, y)):
        found = path.at(1.0)
        assert isinstance(found, Solution)
        assert found.converged


def test_an_interrupt_ends_a_long_path_soon():
    rng = np.random.default_rng(17)
    X, y = rng.normal(size=(1500, 20)), rng.random(1500) < 0.5
    threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()

    def trace_for_ever():
        while True:
            paths.weight_path(X, y, kernel="rbf", C=10.0)

    with pytest.raises(KeyboardInterrupt):
        trace_for_ever()


def test_a_bridge_leads_from_the_intercept_before_to_the_one_behind():
    piece = AffinePiece(np.zeros(3), np.ones(3), -1.0, (0.25, 0.75), slope=4.0)
    u, b = piece.duals(np.array([0.25, 0.5, 0.75]))
    np.testing.assert_allclose(b, [-1.0, 0.0, 1.0])
    np.testing.assert_allclose(u[:, 0], [0.25, 0.5, 0.75])


@pytest.mark.parametrize("size", [1e-100, 1e-12])
def test_costs_too_small_to_be_seen_leave_the_constant_of_the_larger_class(size):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(22, 1)), np.where(np.arange(22) < 8, 1, -1)
    path = paths.cost_path(X, y, sample_weight=size * rng.integers(1, 4, size=22), C_max=1e3)
    assert path.gap <= 1e-6
    assert np.all(path.decision_function(X, 500.0) < 0)


@pytest.mark.filterwarnings("ignore:the path is not exact")  # at knots inside, where columns are large
@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("column", [1.0, 1e3])
def test_next_to_its_ends_a_weight_path_is_optimal_in_units_of_the_objective_left(end, column):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = np.repeat(rng.integers(-3, 4, size=(30, 2)).astype(float), 2, axis=0)
        X[:, 0] *= column
        signs = np.where(rng.random(60) < 0.5, 1.0, -1.0)
        path = paths.weight_path(X, signs, C=500.0)
        for away in (1e-5, 1e-8, 1e-10):
            pi = away if end == 0 else 1 - away
            solution = path.at(pi)
            cost = 1e3 * np.where(signs > 0, 1 - pi, pi)
            margins = signs * (X @ solution.coef + solution.intercept)
            primal = 0.5 * float(solution.coef @ solution.coef) + float(cost @ np.maximum(1 - margins, 0))
            dual = float(np.abs(solution.dual).sum()) - 0.5 * float(np.square(X.T @ solution.dual).sum())
            assert primal - dual <= 1e-5 * primal + 1e-13 * float(cost.sum())


def test_no_values_of_the_parameter_have_no_scores():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    assert paths.weight_path(X, X[:, 0] > 0, C=1.0).decision_function(X, []).shape == (20, 0)

"""Bracketed probabilities: golden grids, the rule itself, psi-learning, symmetry, agreement of labels and brackets."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from softmargin import ProbabilisticSVC
from softmargin.estimators import _weight_family
from softmargin.expansions import DenseFeatures, Kernel, expand
from softmargin.probability import bracket
from softmargin.solvers import BoxQP, KinkedFamily, solve_psi
from softmargin.solvers.svm import box_qp, one_corner

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "bracketing.json").read_text())
WEIGHTED = [*GOLDEN["weighted_svm"], GOLDEN["beta0_interval"]]


def array(x):
    return np.asarray(x, dtype=float)


def kernel_of(case):
    return {"kernel": "linear"} if case["kernel"] == "linear" else {"kernel": "rbf", "gamma": 1 / case["sigma"] ** 2}


@pytest.mark.parametrize("features", ["kernel", "columns"])
@pytest.mark.parametrize("case", WEIGHTED, ids=lambda case: case["name"])
def test_bracketed_probabilities_equal_golden(case, features):
    X, y, X_test = array(case["X"]), array(case["y"]), array(case["X_test"])
    kernel = kernel_of(case)
    if features == "columns":
        if case["kernel"] != "linear":
            pytest.skip("a Gaussian kernel has no columns")
        kernel = {"kernel": None}
    for name, golden in case["bracketed"].items():
        m = int(name[2:])
        model = ProbabilisticSVC(C=1 / (2 * len(y) * case["lam"]), n_weights=m, **kernel).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X_test)[:, 1], golden["p"], rtol=0, atol=1e-9)
        interval = model.predict_interval_proba(X_test)
        np.testing.assert_allclose(interval.mean(axis=1), golden["p"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("row", GOLDEN["bracket_rule"]["rows"])
def test_bracket_rule_on_sign_sequences(row):
    found = bracket(array([row["signs"][1:-1]]))
    assert found.probability[0] == pytest.approx(row["p"])
    if 0 not in row["signs"]:
        assert found.monotone[0] == row["monotone"]


def psi_problem(case):
    X, y = array(case["X"]), array(case["y"])
    expansion = DenseFeatures(X) if case["kernel"] == "linear" else expand(X, Kernel("rbf", 1 / case["sigma"] ** 2))
    cost = np.where(y > 0, 1 - case["pi"], case["pi"]) / (len(y) * case["lam"])
    family = KinkedFamily(expansion, intercept=True, largest=2 * cost.max(), tol=1e-9)
    svm, _ = family.solve(BoxQP(y, np.where(y > 0, 0, -cost), np.where(y > 0, cost, 0)))
    scores = svm.gradient + y + svm.intercept
    return y, solve_psi(family, y, cost, y * scores < 0, svm.u)


@pytest.mark.parametrize("case", GOLDEN["psi"], ids=["linear", "rbf"])
def test_psi_from_the_svm_reaches_the_global_optimum(case):
    y, found = psi_problem(case)
    assert found.objective * case["lam"] == pytest.approx(case["global_objective"], rel=1e-6)
    np.testing.assert_allclose(found.box.gradient + y + found.box.intercept, case["global_f_train"], atol=1e-5)
    assert sorted(np.flatnonzero(found.given_up)) == case["global_given_up"]


@pytest.mark.parametrize("case", GOLDEN["psi_dca_trace"]["cases"], ids=["first", "second"])
def test_psi_steps_equal_the_golden_trace(case):
    y, found = psi_problem(case)
    np.testing.assert_allclose(
        np.array(found.history) * case["lam"], case["trace"], atol=case["tolerance"]["objective"]
    )
    assert np.all(np.diff(found.history) <= 1e-12)
    np.testing.assert_allclose(
        found.box.gradient + y + found.box.intercept, case["f_train"], atol=case["tolerance"]["f"]
    )


@pytest.mark.parametrize("method", ["svm", "psi"])
@pytest.mark.parametrize("m", [7, 8])
def test_swapped_labels_give_complementary_probabilities(method, m):
    X, y = make_classification(60, 4, flip_y=0.2, random_state=1)
    one = ProbabilisticSVC(method=method, kernel="rbf", n_weights=m).fit(X, y)
    two = ProbabilisticSVC(method=method, kernel="rbf", n_weights=m).fit(X, 1 - y)
    np.testing.assert_allclose(one.predict_proba(X)[:, 1], two.predict_proba(X)[:, 0], atol=1e-12)


@pytest.mark.parametrize("params", [{}, {"kernel": "rbf"}, {"method": "psi"}, {"engine": "path"}])
@pytest.mark.parametrize("classes", [2, 3])
def test_labels_scores_probabilities_and_brackets_agree(params, classes):
    X, y = make_classification(
        120, 5, n_informative=4, n_redundant=0, n_classes=classes, flip_y=0.1, n_clusters_per_class=1, random_state=2
    )
    model = ProbabilisticSVC(**params).fit(X, y)
    p, f = model.predict_proba(X), model.decision_function(X)
    labels = model.predict(X)
    np.testing.assert_array_equal(labels, model.classes_[p.argmax(axis=1)])
    codes = (f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)
    np.testing.assert_array_equal(labels, model.classes_[codes])
    assert model.score(X, y) > 0.7
    interval = model.predict_interval_proba(X)
    assert interval.shape == ((120, 2) if classes == 2 else (120, 3, 2))
    assert np.all(interval[..., 0] <= interval[..., 1])
    if classes == 2:
        assert np.all((interval[:, 0] - 1e-12 <= p[:, 1]) & (p[:, 1] <= interval[:, 1] + 1e-12))
        assert model.nonmonotone_share_ == pytest.approx(np.mean(model.nonmonotone(X)))
        np.testing.assert_array_equal(f == 0, p[:, 1] == 0.5)


def test_path_bracket_lies_within_half_a_step_of_a_fine_grid():
    X, y = make_classification(40, 3, n_informative=3, n_redundant=0, flip_y=0.2, random_state=3)
    exact = ProbabilisticSVC(engine="path", kernel="rbf").fit(X, y)
    fine = ProbabilisticSVC(n_weights=200, kernel="rbf").fit(X, y)
    monotone = ~exact.nonmonotone(X) & ~fine.nonmonotone(X)
    assert monotone.mean() > 0.5
    difference = np.abs(exact.predict_proba(X) - fine.predict_proba(X))[monotone]
    assert difference.max() <= 1 / 200 + 1 / 80


def test_large_grids_share_rows_and_equal_single_fits():
    X, y = make_classification(1100, 4, flip_y=0.2, random_state=4)
    many = ProbabilisticSVC(kernel="rbf", gamma=0.2, n_weights=6, tol=1e-6).fit(X, y)
    one = ProbabilisticSVC(kernel="rbf", gamma=0.2, n_weights=2, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(many.solution_.objective, one.solution_.objective, rtol=1e-7)
    assert len(many.weights_) == 5


@pytest.mark.parametrize("m", [1, 2])
def test_tiny_grids(m):
    X, y = make_classification(30, 4, random_state=5)
    p = ProbabilisticSVC(n_weights=m).fit(X, y).predict_proba(X)[:, 1]
    assert set(p) <= {1 / (2 * m), 0.5, 1 - 1 / (2 * m)}


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"method": "other"}, "method"),
        ({"engine": "other"}, "engine"),
        ({"engine": "path", "method": "psi"}, "path"),
        ({"n_weights": 0}, "n_weights"),
        ({"n_weights": 2.5}, "n_weights"),
        ({"C": -1.0}, "C"),
    ],
)
def test_bad_parameters_are_named(params, named):
    with pytest.raises(ValueError, match=named):
        ProbabilisticSVC(**params).fit(np.eye(4), [0, 1, 0, 1])


def test_indefinite_kernel_matrices_are_refused():
    K = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(ValueError, match="indefinite"):
        ProbabilisticSVC(kernel="precomputed").fit(K, [0, 1, 1])


@pytest.mark.parametrize("params", [{"kernel": "rbf"}, {"method": "psi"}, {"engine": "path"}], ids=str)
def test_passes_scikit_learns_checks(params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check_estimator(ProbabilisticSVC(**params))


@pytest.mark.parametrize("scale", [1e-100, 1e-30, 1e8, 1e30, 1e60, 1e100])
@pytest.mark.parametrize("n_components", [None, 20])
def test_rows_beyond_double_precision_are_refused_or_certified(n_components, scale):
    x = np.linspace(-1, 5, 40)[:, None] * scale
    model = ProbabilisticSVC(kernel="poly", gamma=10.0, n_components=n_components, random_state=0)
    refusal = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(x, x[:, 0] > 2 * scale)
    except ValueError as error:
        refusal = str(error)
    assert re.search("columns of X|Scale the features", refusal) if refusal else np.isfinite(model.solution_.gap)


def test_the_certificate_holds_where_costs_are_too_large_to_add_up():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(25, 2)), np.arange(25) % 2
    model = ProbabilisticSVC(max_iter=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, y, sample_weight=np.full(25, 1e99))
    assert model.solution_.gap <= model.tol or any(w.category is ConvergenceWarning for w in caught)
    assert not model.solution_.converged or model.solution_.gap <= model.tol


@pytest.mark.parametrize("seed", range(3))
def test_grid_and_path_agree_on_a_lattice_where_scores_tie(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-2, 3, size=(120, 2)).astype(float), (rng.random(120) < 0.5).astype(int)
    grid = ProbabilisticSVC(C=20.0, n_weights=20).fit(X, y)
    path = ProbabilisticSVC(C=20.0, engine="path").fit(X, y)
    first, second = grid.predict_proba(X)[:, 1], path.predict_proba(X)[:, 1]
    np.testing.assert_allclose(first, second, atol=1 / 20 + 1e-6)
    decided = np.abs(second - 0.5) > 1 / 40
    np.testing.assert_array_equal(grid.predict(X)[decided], path.predict(X)[decided])


@pytest.mark.parametrize("seed", range(12))
def test_sparse_rows_are_the_same_rows_to_a_path_of_many_ties(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, size=(24, 3)).astype(float), np.arange(24) % 6
    dense, other = (ProbabilisticSVC(engine="path").fit(rows, y) for rows in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(other.decision_function(X), dense.decision_function(X), atol=1e-6)


def test_a_path_whose_gap_is_above_the_tolerance_asked_for_says_so():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)), np.arange(60) % 2
    with pytest.warns(ConvergenceWarning, match="above tol"):
        model = ProbabilisticSVC(engine="path", C=70.0, tol=1e-300).fit(X, y)
    assert not model.solution_.converged


def test_a_path_that_cannot_reach_one_half_names_the_engine_that_can(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    monkeypatch.setattr(_weight_family, "weight_path", lambda *rows, **options: _OfSmallWeights())
    with pytest.raises(ValueError, match=r"from 0\.1 to 0\.4 only, .*engine='grid'"):
        ProbabilisticSVC(engine="path").fit(X, X[:, 0] > 0)


class _OfSmallWeights:
    """A path that rounding has ended before it came to 1/2."""

    range = (0.1, 0.4)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_path_through_a_jump_of_all_scores_finds_the_share_of_the_class(form):
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 0, 0, 1])
    model = ProbabilisticSVC(engine="path").fit(form(X), y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / 4, atol=1e-6)


@pytest.mark.parametrize("seed", [8, 16])
def test_a_probability_of_one_half_but_for_rounding_is_a_tie_by_any_engine(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(120, 2)).astype(float)
    y = (rng.random(120) < 0.3 + 0.135 * X[:, 0]).astype(int)
    path = ProbabilisticSVC(engine="path").fit(X, y)
    p = path.predict_proba(X)[:, 1]
    tied = np.abs(p - 0.5) < 1e-12
    assert tied.any()
    assert np.all(p[tied] == 0.5)
    assert np.all(path.predict(X[tied]) == 0)
    np.testing.assert_array_equal(path.predict(X[tied]), ProbabilisticSVC().fit(X, y).predict(X[tied]))


def test_weights_of_many_rows_start_on_a_line_and_end_where_each_would_alone(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    y = (X[:, 0] + 0.7 * rng.normal(size=160) > 0).astype(int)
    exact = ProbabilisticSVC(kernel="rbf", n_weights=20).fit(X, y)
    sizes = ((box_qp, "EXACT_ROWS"), (one_corner, "EXACT_ROWS"), (box_qp, "ONE_SET"), (box_qp, "FINE_ROWS"))
    for module, name in sizes:
        monkeypatch.setattr(module, name, 10)  # as if 160 rows were many
    found = ProbabilisticSVC(kernel="rbf", n_weights=20, tol=1e-4).fit(X, y)
    assert not np.array_equal(found.intercept_, exact.intercept_)
    scores = [model.family_.scorer(X) + model.intercept_ for model in (found, exact)]
    np.testing.assert_allclose(scores[0], scores[1], atol=0.02)
    assert np.abs(found.predict_proba(X) - exact.predict_proba(X)).max() <= 0.05 + 1e-12

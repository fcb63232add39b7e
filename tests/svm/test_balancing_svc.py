"""The balancing SVM and the bounded constraint machine: golden optima, limits, the collapse and its cure."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import check_estimator

from softmargin import BalancingSVC

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "balancing_svm.json").read_text())


def array(x):
    return np.asarray(x, dtype=float)


def kernel_of(case):
    return {"kernel": "rbf", "gamma": case["gamma"]} if case.get("gamma") else {"kernel": "linear"}


@pytest.mark.parametrize("features", ["kernel", "columns"])
@pytest.mark.parametrize("name", ["bsvm_linear", "bsvm_rbf", "b_jump", "empty_elbow"])
def test_scores_and_intercept_midpoints_equal_golden(name, features):
    case = GOLDEN[name]
    X, y, X_test, kernel = array(case["X"]), array(case["y"]), array(case["X_test"]), kernel_of(case)
    if features == "columns":
        if case["kernel"] != "linear":
            pytest.skip("a Gaussian kernel has no columns")
        kernel = {"kernel": None}
    for golden in case["solutions"]:
        model = BalancingSVC(balance=float(golden["v"]), C=golden["C"], **kernel).fit(X, y)
        b = float(model.intercept_[0])
        np.testing.assert_allclose(
            model.decision_function(X_test) - b, array(golden["f_test"]) - golden["b"], atol=1e-6
        )
        assert b == pytest.approx(0.5 * (golden["b_lo"] + golden["b_hi"]), abs=1e-6)
        assert model.solution_.objective == pytest.approx(golden["objective"], rel=1e-7)


@pytest.mark.parametrize("features", ["kernel", "columns"])
@pytest.mark.parametrize("name", ["bcm_linear", "bcm_rbf", "bcm_outlier"])
def test_bounded_constraint_machine_equals_golden(name, features):
    case = GOLDEN[name]
    X, y, X_test = array(case["X"]), array(case["y"]), array(case["X_test"])
    kernel = kernel_of(case) if features == "kernel" else {"kernel": None}
    if features == "columns" and case.get("gamma"):
        pytest.skip("a Gaussian kernel has no columns")
    for golden in case["solutions"]:
        model = BalancingSVC(balance="bounded", C=golden["C"], tol=1e-8, **kernel).fit(X, y)
        shift = float(model.intercept_[0]) - golden["b"]
        np.testing.assert_allclose(model.decision_function(X) - shift, golden["f_train"], atol=1e-6)
        np.testing.assert_allclose(model.decision_function(X_test) - shift, golden["f_test"], atol=1e-6)
        assert model.solution_.objective == pytest.approx(golden["objective"], rel=1e-7)
        margins = y * model.decision_function(X)
        assert np.all(np.abs(margins) <= 1 + 1e-7)
    if "bsvm_inf_f_train" in case:
        free = BalancingSVC(balance=math.inf, C=case["solutions"][0]["C"], tol=1e-8, **kernel).fit(X, y)
        np.testing.assert_allclose(free.decision_function(X), case["bsvm_inf_f_train"], atol=1e-6)


def test_sample_weights_equal_golden():
    case = GOLDEN["weighted"]
    X, y, weight = array(case["X"]), array(case["y"]), array(case["sample_weight"])
    for golden in case["solutions_w"]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = BalancingSVC(balance=float(golden["v"]), C=golden["C"]).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(model.coef_[0], golden["w"], atol=1e-6)
        np.testing.assert_allclose(model.solution_.intercept_interval, (golden["b_lo"], golden["b_hi"]), atol=1e-6)


def test_collapse_is_announced_with_its_remedy():
    case = GOLDEN["collapse"]
    X, y = array(case["X"]), array(case["y"])
    for golden in case["solutions"]:
        with pytest.warns(UserWarning, match="class_weight='balanced'"):
            model = BalancingSVC(balance=float(golden["v"]), C=golden["C"]).fit(X, y)
        np.testing.assert_allclose(model.coef_, 0, atol=1e-6)
        np.testing.assert_allclose(model.decision_function(X), 1, atol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        cured = BalancingSVC(balance=5.0, class_weight="balanced").fit(X, y)
    assert np.abs(cured.coef_).max() > 1e-3


def data(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 1, -1)


def test_no_balance_is_libsvm_and_balance_one_is_support_vector_regression():
    X, y = data()
    zero = BalancingSVC(balance=0, kernel="rbf", gamma=0.4).fit(X, y)
    theirs = SVC(gamma=0.4, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(zero.decision_function(X), theirs.decision_function(X), atol=1e-5)
    one = BalancingSVC(balance=1, kernel="rbf", gamma=0.4).fit(X, y)
    theirs = SVR(gamma=0.4, epsilon=0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), theirs.predict(X), atol=1e-5)


def test_beyond_the_largest_multiplier_the_balance_no_longer_matters():
    X, y = data()
    limit = BalancingSVC(balance=math.inf, kernel="rbf", tol=1e-8).fit(X, y)
    largest = max(0.0, -np.min(limit.solution_.dual * y))
    finite = BalancingSVC(balance=1.01 * largest, kernel="rbf", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(limit.decision_function(X), finite.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("balance", [0.0, 2.0, math.inf, "bounded"])
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_swapped_labels_negate_the_score(balance, kernel):
    X, y = data()
    one, two = (BalancingSVC(balance=balance, kernel=kernel, tol=1e-8).fit(X, labels) for labels in (y, -y))
    np.testing.assert_allclose(one.decision_function(X), -two.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("balance", [0.0, 1.0, math.inf, "bounded"])
def test_two_rows_and_identical_rows_with_opposite_labels(balance):
    two = BalancingSVC(balance=balance).fit([[0.0], [1.0]], [0, 1])
    np.testing.assert_array_equal(two.predict([[0.0], [1.0]]), [0, 1])
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    same = BalancingSVC(balance=balance).fit(X, [0, 1, 0, 1])
    np.testing.assert_allclose(same.decision_function(X), 0, atol=1e-8)


@pytest.mark.parametrize("balance", [-1.0, math.nan, "limited", None])
def test_bad_balance_is_named(balance):
    with pytest.raises(ValueError, match="balance"):
        BalancingSVC(balance=balance).fit([[0.0], [1.0]], [0, 1])


def test_there_are_no_probabilities():
    assert not hasattr(BalancingSVC().fit([[0.0], [1.0]], [0, 1]), "predict_proba")


@pytest.mark.filterwarnings("ignore:The fitted score is constant:UserWarning")  # on labels of no relation to the rows
@pytest.mark.parametrize(
    "params", [{"balance": 0.0, "kernel": "rbf"}, {"balance": math.inf}, {"balance": "bounded"}], ids=str
)
def test_passes_scikit_learns_checks(params):
    check_estimator(BalancingSVC(**params))


@pytest.mark.parametrize("balance", [np.inf, "bounded"])
@pytest.mark.parametrize("seed", range(6))
def test_columns_of_any_size_leave_margins_within_their_bounds_or_a_warning(balance, seed):
    """Multipliers of hard bounds may be so large that their sums, the coefficients, lose what the bounds hold."""
    rng = np.random.default_rng(seed)
    X = np.abs(rng.standard_t(2, size=(150, 8))) * 10.0 ** rng.uniform(-2, 4, 8)
    y = np.where(rng.random(150) < 0.3, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of convergence, or of a constant score
        model = BalancingSVC(balance=balance, C=10.0).fit(X, y)
    margins, found = y * model.decision_function(X), model.solution_
    beyond = np.max(margins) - 1 if balance == np.inf else np.max(np.abs(margins)) - 1
    assert beyond <= found.gap + 1e-9
    if found.converged:
        cost = 10.0 * np.sum((balance == np.inf) - margins)
        assert found.objective == pytest.approx(cost + 0.5 * np.sum(model.coef_**2), rel=1e-3)


@pytest.mark.parametrize("balance", [np.inf, "bounded"])
@pytest.mark.parametrize("seed", range(6))
def test_hard_bounds_are_met_on_columns_of_any_size(balance, seed):
    """The weights of the interior point are returned, not the sums of its multipliers."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [np.abs(rng.standard_t(3, size=(200, 5))) * 10.0 ** np.arange(-2, 3), rng.random((200, 4)) < 0.3]
    )
    y = np.where(X[:, :3] @ [50.0, -5.0, 0.5] + rng.normal(size=200) > 0, 1, -1)
    for C in (0.01, 1.0, 100.0):
        model = BalancingSVC(balance=balance, C=C, class_weight="balanced").fit(X, y)
        margins = y * model.decision_function(X)
        assert model.solution_.converged
        assert np.max(margins) <= 1 + 2 * model.tol
        assert balance == np.inf or np.min(margins) >= -1 - 2 * model.tol

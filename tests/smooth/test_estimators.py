"""MarginClassifier and CoherenceClassifier: published optima, agreement with scikit-learn, invariances, bad input."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from softmargin import CoherenceClassifier, MarginClassifier, losses

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "coherence.json").read_text())
RIDGE = [(part, case) for part in ("feature", "kernel") for case in GOLDEN[part]["solutions"] if case["omega"] == 0]


def two_moons(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 1] + X[:, 0] ** 2 + 0.7 * rng.normal(size=n) > 0.6, "b", "a")
    return X, y


@pytest.mark.parametrize(("part", "case"), RIDGE, ids=[f"{p}-{c['rho']}-{c['scale']}" for p, c in RIDGE])
def test_golden_ridge_optima(part, case):
    X, y = np.array(GOLDEN[part]["data"]["X"]), np.array(GOLDEN[part]["data"]["y"])
    n, gamma = len(y), case["gamma"]
    loss = losses.Coherence(temperature=case["rho"], cost=case.get("u", 1.0), scale=case["scale"])
    kernel = {"kernel": "rbf", "gamma": 1 / GOLDEN["kernel"]["sigma2"]} if part == "kernel" else {}
    model = MarginClassifier(loss=loss, C=1 / (n * gamma), tol=1e-15, **kernel).fit(X, y)
    assert gamma * model.solution_.objective == pytest.approx(case["objective"], rel=1e-8)
    np.testing.assert_allclose(model.decision_function(X), case["decision"], atol=1e-6)
    assert model.intercept_[0] == pytest.approx(case["intercept"], abs=1e-5)


@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
def test_logistic_agrees_with_scikit_learn(C):
    X, y = two_moons(300)
    theirs = LogisticRegression(C=C, tol=1e-12, max_iter=10000, solver="newton-cholesky").fit(X, y)
    ours = MarginClassifier(C=C, tol=1e-14).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


def test_squared_hinge_agrees_with_linear_svc_where_the_intercept_is_no_difference():
    X, y = two_moons(300)
    theirs = LinearSVC(loss="squared_hinge", fit_intercept=False, tol=1e-12, max_iter=10**6, dual=False).fit(X, y)
    ours = MarginClassifier(loss="squared_hinge", fit_intercept=False, tol=1e-14).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("temperature", [0.2, 1.0, 3.0])
def test_c_learning_is_logistic_regression_with_a_label_dependent_offset(temperature):
    from softmargin.expansions import DenseFeatures
    from softmargin.penalties import ElasticNet
    from softmargin.problem import Problem
    from softmargin.solvers import solve

    X, labels = two_moons()
    y = np.where(labels == "b", 1.0, -1.0)
    V = losses.Coherence(temperature=temperature, cost=0.7, scale="V")
    direct = MarginClassifier(loss=V, C=2.0, tol=1e-13).fit(X, labels)
    # V(y f) = temperature * logistic(y (f / temperature - y cost / temperature)): rescale beta by the temperature
    weights = np.full(len(y), 2.0 * temperature / temperature**2)
    offset = -y * 0.7 / temperature
    logistic = Problem(losses.Logistic(), DenseFeatures(X), y, weights, ElasticNet(0.0), offset=offset)
    oracle = solve(logistic, tol=1e-13)
    np.testing.assert_allclose(direct.coef_[0], temperature * oracle.coef, atol=1e-6)
    assert direct.intercept_[0] == pytest.approx(temperature * oracle.intercept, abs=1e-6)


MODELS = {
    "linear": lambda: MarginClassifier(tol=1e-13),
    "rbf": lambda: MarginClassifier(loss="squared_hinge", kernel="rbf", C=5, tol=1e-13),
    "coherence": lambda: CoherenceClassifier(temperature=0.1, kernel="rbf", gamma="median", tol=1e-13),
    "landmarks": lambda: CoherenceClassifier(kernel="rbf", n_components=20, random_state=0, tol=1e-13),
}
every_model = pytest.mark.parametrize("name", MODELS)


@every_model
def test_row_order_does_not_matter(name):
    X, y = two_moons()
    order = np.random.default_rng(1).permutation(len(y))
    one, other = MODELS[name]().fit(X, y), MODELS[name]().fit(X[order], y[order])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-5)


@every_model
def test_integer_weights_are_repeated_rows_and_zero_weights_removed_ones(name):
    X, y = two_moons()
    times = np.random.default_rng(2).integers(0, 4, size=len(y))
    weighted = MODELS[name]().fit(X, y, sample_weight=times)
    repeated = MODELS[name]().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)


def test_balanced_class_weights_count_weights_as_rows():
    X, y = two_moons()
    times = np.random.default_rng(2).integers(1, 4, size=len(y))
    weighted = MarginClassifier(class_weight="balanced", tol=1e-13).fit(X, y, sample_weight=times)
    repeated = MarginClassifier(class_weight="balanced", tol=1e-13).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)


def test_feature_scaling_with_the_matching_penalty_changes_nothing():
    X, y = two_moons()
    one = MarginClassifier(C=1.0, tol=1e-13).fit(X, y)
    scaled = MarginClassifier(C=1.0 / 100, tol=1e-13).fit(10 * X, y)
    np.testing.assert_allclose(one.decision_function(X), scaled.decision_function(10 * X), atol=1e-6)


def test_precomputed_kernel_equals_the_kernel_itself_and_survives_zero_weights():
    X, y = two_moons()
    weight = np.random.default_rng(3).integers(0, 3, size=len(y))
    direct = MarginClassifier(kernel="rbf", gamma=0.5, tol=1e-12).fit(X, y, sample_weight=weight)
    given = MarginClassifier(kernel="precomputed", tol=1e-12)
    given.fit(rbf_kernel(X, gamma=0.5), y, sample_weight=weight)
    new = np.random.default_rng(4).normal(size=(9, 2))
    expected = direct.decision_function(new)
    np.testing.assert_allclose(given.decision_function(rbf_kernel(new, X, gamma=0.5)), expected, atol=1e-7)
    assert set(given.support_) <= set(np.flatnonzero(weight))


def test_several_classes_share_one_kernel_and_keep_probabilities_and_labels_together():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=150), [-0.5, 0.5])
    model = MarginClassifier(kernel="rbf", n_jobs=2).fit(X, y)
    assert model.dual_coef_.shape == (3, len(model.support_))
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(X))
    column = MarginClassifier(kernel="rbf").fit(X, y == 1)
    np.testing.assert_allclose(model.decision_function(X)[:, 1], column.decision_function(X), atol=1e-9)


def test_float32_in_float32_out():
    X, y = two_moons()
    for kernel in (None, "rbf"):
        single = MarginClassifier(kernel=kernel).fit(X.astype(np.float32), y)
        double = MarginClassifier(kernel=kernel).fit(X, y)
        assert single.decision_function(X.astype(np.float32)).dtype == np.float32
        np.testing.assert_allclose(
            single.decision_function(X.astype(np.float32)), double.decision_function(X), atol=2e-3
        )


def test_probabilities_come_from_the_link_or_not_at_all():
    X, y = two_moons()
    with pytest.raises(AttributeError) as failure:
        _ = MarginClassifier(loss="hinge").predict_proba
    assert "ProbabilisticSVC" in str(failure.value)
    assert not hasattr(MarginClassifier(probability=False).fit(X, y), "predict_proba")
    with pytest.raises(ValueError, match="class only"):
        MarginClassifier(loss="hinge", probability="link").fit(X, y)
    model = CoherenceClassifier(temperature=0.5, cost=0.8).fit(X, y)
    expected = losses.Coherence(temperature=0.5, cost=0.8).probability(model.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "C must be a positive, finite number; got 0"),
        ({"C": np.inf}, "C must be a positive, finite number; got inf"),
        ({"tol": 0}, "tol must be a positive"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"l1_ratio": 2}, "l1_ratio must be a number between 0 and 1"),
        ({"loss": "logistik"}, "did you mean 'logistic'"),
        ({"probability": "perhaps"}, "probability must be one of"),
        ({"kernel": "sigmoid"}, "kernel must be None, a callable or one of"),
        ({"kernel": "rbf", "gamma": -1}, "gamma must be"),
        ({"kernel": "precomputed"}, "must be square"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = two_moons()
    with pytest.raises(ValueError, match=message):
        MarginClassifier(**parameters).fit(X, y)


def test_bad_temperatures_and_one_class_are_named():
    X, y = two_moons()
    with pytest.raises(ValueError, match=r"temperature must be positive.*Hinge"):
        CoherenceClassifier(temperature=0).fit(X, y)
    with pytest.raises(ValueError, match=r"one class only.*'a'"):
        CoherenceClassifier().fit(X, np.full(len(y), "a"))


def test_separated_rows_with_a_huge_C_warn_and_stay_finite():
    X, _ = two_moons()
    with pytest.warns(UserWarning, match=r"separated perfectly and C=1e\+10"):
        model = MarginClassifier(C=1e10).fit(X, X[:, 0] > 0)
    assert np.isfinite(model.coef_).all()
    assert model.solution_.gap <= 1e-6


@pytest.mark.parametrize(
    "estimator",
    [
        MarginClassifier(loss="squared_hinge"),
        MarginClassifier(kernel="rbf", n_components=5, random_state=0),
        CoherenceClassifier(temperature=0.05, kernel="rbf", gamma="mean"),
    ],
    ids=["squared hinge", "landmarks", "cold kernel"],
)
def test_scikit_learn_checks(estimator):
    check_estimator(estimator)

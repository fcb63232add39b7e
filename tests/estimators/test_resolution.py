"""Kernels whose rounding is as large as the scores are refused, and whether they are depends on the problem alone."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel

import softmargin as sm

MODELS = [
    sm.MarginClassifier(loss="hinge"),
    sm.MarginClassifier(loss="logistic"),
    sm.MarginClassifier(loss="squared_hinge"),
    sm.MarginClassifier(loss="least_squares"),
    sm.CoherenceClassifier(),
    sm.RobustSVC(),
    sm.TruncatedLogisticRegression(),
    sm.BalancingSVC(),
    sm.CompositeLeastSquaresClassifier(),
    sm.CompositeMarginClassifier(),
    sm.MulticategorySVC(),
    sm.ProbabilisticSVC(),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{type(model).__name__}-{model.loss}"
                                      if hasattr(model, "loss") else type(model).__name__)  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning")


def draw(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(8, 40)), int(rng.integers(1, 4))
    X = rng.integers(0, 2, (n, p)) if seed % 2 else rng.standard_normal((n, p))
    y = X.sum(axis=1) + rng.standard_normal(n) > X.sum(axis=1).mean()
    y[:2] = False, True
    kernel = {"kernel": "poly", "degree": int(rng.integers(1, 5)), "gamma": float(10 ** rng.uniform(-3, 4))}
    return X + float(rng.choice([0.0, 10.0, 1e3])), y, kernel, rng


def refusal(model, X, y, weight=None):
    try:
        clone(model).fit(X, y, sample_weight=weight)
    except ValueError as error:
        return str(error)
    return None


@every_model
def test_rows_are_refused_in_any_order_repeated_or_weighed_and_with_their_labels_exchanged(model):
    refused = 0
    for seed in range(24):
        X, y, kernel, rng = draw(seed)
        model = clone(model).set_params(**kernel)
        order, times = rng.permutation(len(y)), rng.integers(1, 4, len(y))
        first = refusal(model, X, y) is None
        assert (refusal(model, X[order], y[order]) is None) == first
        assert (refusal(model, X, ~y) is None) == first
        weighed = refusal(model, X, y, times.astype(float)) is None
        assert (refusal(model, np.repeat(X, times, axis=0), np.repeat(y, times)) is None) == weighed
        refused += not first
    assert 0 < refused < 24


@every_model
def test_a_matrix_given_is_refused_where_its_kernel_is(model):
    for seed in range(0, 24, 2):
        X, y, kernel, _ = draw(seed)
        K = polynomial_kernel(X, X, degree=kernel["degree"], gamma=kernel["gamma"], coef0=0.0)
        named = refusal(clone(model).set_params(**kernel), X, y)
        given = refusal(clone(model).set_params(kernel="precomputed"), K, y)
        assert (named is None) == (given is None)


@every_model
def test_the_reason_and_the_remedy_are_named(model):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)) + 1e4, np.arange(30) % 2
    message = refusal(clone(model).set_params(kernel="poly", gamma=1.0), X, y)
    assert "lost in the rounding" in message
    assert "Standardise" in message


def test_rows_that_all_differ_may_cost_whatever_they_cost():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    for weight in (1e4, 1e60):
        fit = sm.MarginClassifier(loss="hinge", kernel="rbf", gamma=20.0).fit(X, y, sample_weight=np.full(40, weight))
        assert fit.solution_.converged
    with pytest.raises(ValueError, match="lost in the rounding"):  # unless equal ones have two labels
        sm.MarginClassifier(loss="hinge", kernel="rbf", gamma=20.0).fit(
            np.vstack([X, X[:1]]), np.append(y, 1 - y[0]), sample_weight=np.full(41, 1e60)
        )


def test_a_linear_kernel_of_large_rows_is_fitted_by_its_features():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 3)) * np.array([1.0, 1e2, 1e5])
    y = X[:, 0] + X[:, 1] / 1e2 + rng.standard_normal(60) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        kernel = sm.MarginClassifier(kernel="linear", C=1e4).fit(X, y)
        features = sm.MarginClassifier(C=1e4).fit(X, y)
    np.testing.assert_allclose(kernel.decision_function(X), features.decision_function(X), atol=1e-2)

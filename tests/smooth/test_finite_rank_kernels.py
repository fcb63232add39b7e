"""Kernels with few dimensions are solved as features, and answer as kernels."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import PolynomialFeatures

from softmargin import (
    CompositeMarginClassifier,
    MarginClassifier,
    RobustSVC,
    TruncatedLogisticRegression,
    TruncatedSoftmaxClassifier,
)
from softmargin.expansions import Kernel, KernelColumns
from softmargin.losses import Logistic
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve

MODELS = [MarginClassifier(), RobustSVC(), TruncatedLogisticRegression(scheme=None)]


def rows(n, p=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, size=(n, p))
    return X, np.where(X[:, 0] ** 2 - X[:, -1] + rng.standard_normal(n) > 1, 1, -1)


@pytest.mark.parametrize("n", [290, 310, 990, 1100])  # the features are taken beyond 300 rows
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_polynomial_is_the_machine_of_its_monomials(model, n):
    X, y = rows(n)
    model = clone(model).set_params(C=0.1, tol=1e-8, max_iter=10_000)
    monomials = PolynomialFeatures(2)
    Z = monomials.fit_transform(X) * np.sqrt([1, 2, 2, 1, 2, 1])  # (x'z + 1)^2
    by_features = model.fit(Z, y).decision_function(Z)
    objective = model.solution_.objective
    model.set_params(kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(X, y)
    assert model.solution_.objective == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), by_features, atol=1e-3 * np.abs(by_features).max())


@pytest.mark.parametrize("n", [290, 310, 990])
@pytest.mark.parametrize("intercept", [{}, {"fit_intercept": False}, {"penalize_intercept": True}], ids=str)
@pytest.mark.parametrize(
    "model",
    [CompositeMarginClassifier(), TruncatedSoftmaxClassifier(level=np.inf), TruncatedSoftmaxClassifier(level=3.0)],
    ids=str,
)
def test_so_is_that_of_several_classes(model, intercept, n):
    X, y = rows(n)
    y = y + (X[:, 1] > 0.5)
    model = clone(model)
    if not intercept.keys() <= model.get_params().keys():
        pytest.skip("a softmax has no penalised intercept")
    model.set_params(C=0.1, tol=1e-8, max_iter=10_000, **intercept)
    Z = PolynomialFeatures(2).fit_transform(X) * np.sqrt([1, 2, 2, 1, 2, 1])
    by_features = model.fit(Z, y).decision_function(Z)
    objective = model.solution_.objective
    model.set_params(kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(X, y)
    assert model.solution_.converged
    assert model.solution_.objective == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), by_features, atol=1e-3 * np.abs(by_features).max())


def test_similarities_and_weights_of_very_different_sizes_are_fitted_for_several_classes():
    rng = np.random.default_rng(0)
    X, y = rng.standard_t(2, size=(400, 6)), rng.integers(0, 3, 400)
    weight = 10 ** rng.uniform(-6, 6, size=400)
    model = TruncatedSoftmaxClassifier(kernel="poly").fit(X, y, sample_weight=weight)
    assert model.solution_.converged


@pytest.mark.parametrize("degree", [1, 3])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 5.0])
def test_what_is_certified_is_what_is_returned(degree, scale):
    X, y = rows(1500, 3)
    expansion = KernelColumns.from_rows(scale * X, Kernel("poly", 1.0, degree, 1.0))
    problem = Problem(Logistic(), expansion, y.astype(float), np.full(len(y), 0.01), ElasticNet(0.0))
    found = solve(problem, tol=1e-6)
    assert found.converged
    assert found.objective == pytest.approx(problem.objective(found.coef, found.intercept), rel=1e-6)
    again = solve(problem, found, tol=1e-7)
    assert again.objective >= found.objective * (1 - 1e-6) - 1e-12
    np.testing.assert_allclose(found.margins, problem.margins(found.coef, found.intercept), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_rows_in_single_precision_are_the_same_rows(model, kernel):
    X, y = rows(1300, 3)
    X = np.clip(X, -4, 4).astype(np.float32)
    model = clone(model).set_params(kernel=kernel)
    wide = model.fit(X.astype(float), y).decision_function(X.astype(float))
    narrow = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(narrow, wide, atol=1e-3 * np.abs(wide).max())


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "huberized_hinge", "coherence"])
@pytest.mark.parametrize("n", [60, 126, 290, 310])
def test_a_linear_kernel_of_few_rows_of_any_size_is_fitted_like_its_features(loss, n):
    """Rounding of large similarities hides from the kernel's own columns what its few dimensions hold."""
    rng = np.random.default_rng(n)
    X = np.abs(rng.standard_t(3, size=(n, 6))) * 10.0 ** np.arange(-1, 5)
    y = X[:, 2] + rng.normal(size=n) > np.median(X[:, 2])
    for C in (1.0, 100.0, 1000.0):
        rows = MarginClassifier(loss=loss, C=C).fit(X, y)
        kernel = MarginClassifier(loss=loss, C=C, kernel="linear").fit(X, y)
        assert kernel.solution_.converged
        assert kernel.solution_.objective == pytest.approx(rows.solution_.objective, rel=1e-5)

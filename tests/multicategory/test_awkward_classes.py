"""Simultaneous classifiers on the class layouts that break naive code: missing folds, and one row per class."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, cross_val_score

from softmargin import CompositeLeastSquaresClassifier, CompositeMarginClassifier, MulticategorySVC
from softmargin.losses.multiclass import HINGES

pytestmark = pytest.mark.filterwarnings('ignore:method="naive"')

MODELS = [
    *(CompositeLeastSquaresClassifier(mix, kernel=kernel) for mix in (0.0, 0.5, 0.8) for kernel in (None, "rbf")),
    CompositeLeastSquaresClassifier("auto", C="auto"),
    CompositeMarginClassifier(),
    *(MulticategorySVC(method) for method in HINGES),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_class_absent_in_a_fold_costs_only_its_own_rows(model):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 20)  # sorted, so that each of three plain folds holds out a whole class
    X = rng.normal(size=(60, 2)) + 6 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    assert cross_val_score(model, X, y, cv=KFold(3), error_score="raise").tolist() == [0, 0, 0]
    train = y != 1
    assert model.fit(X[train], y[train]).classes_.tolist() == [0, 2]
    assert model.score(X[train], y[train]) > 0.9


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_as_many_classes_as_rows_and_more_than_features(model):
    X = 3 * np.eye(6)[:, :4] + 0.1 * np.random.default_rng(1).normal(size=(6, 4))
    y = np.array(list("fedcba"))
    model.fit(X, y)
    F = model.decision_function(X)
    assert F.shape == (6, 6)
    assert np.isfinite(F).all()
    np.testing.assert_allclose(F.sum(axis=1), 0, atol=1e-8)
    if hasattr(model, "predict_proba"):
        P = model.predict_proba(X)
        np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
        np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))


def test_a_large_cost_is_minimised_within_the_default_limits():
    X = np.random.default_rng(0).normal(size=(50, 4))
    for C in (8.0, 512.0):
        assert MulticategorySVC(C=C).fit(X, np.arange(50) % 3).solution_.converged


def test_more_columns_of_zeros_than_rows_leave_the_intercepts():
    model = CompositeMarginClassifier().fit(np.zeros((4, 9)), [0, 1, 2, 0])
    assert set(model.predict(np.zeros((2, 9)))) == {0}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_equal_rows_of_very_unequal_weights_are_fitted(fit_intercept, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 12))
    codes = np.concatenate([[0, 1], rng.integers(2, size=n - 2)])
    weight = 10.0 ** rng.uniform(-6, 6, size=n)
    options = {"kernel": "rbf", "C": 10.0 ** rng.uniform(-3, 0), "class_weight": "balanced"}
    model = CompositeMarginClassifier(fit_intercept=fit_intercept, random_state=0, **options)
    model.fit(np.zeros((n, 1)), codes, sample_weight=weight)
    assert model.solution_.converged
    assert abs(float(model.decision_function([[0.0]])[0])) <= 1e-6 * weight.max()

"""ScoreCalibrator: a scikit-learn citizen that leaves decisions alone."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from softmargin import ScoreCalibrator


@parametrize_with_checks(
    [
        ScoreCalibrator(LogisticRegression(solver="newton-cholesky", tol=1e-12), cv=3),
        ScoreCalibrator(LogisticRegression(solver="newton-cholesky", tol=1e-12), method="platt", cv=3),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    return make_classification(n_samples=300, n_informative=4, flip_y=0.2, random_state=0)


@pytest.mark.parametrize("method", ["coherence", "sollich"])
def test_decisions_are_those_of_the_classifier(data, method):
    X, y = data
    model = ScoreCalibrator(SVC(), method=method).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), SVC().fit(X, y).predict(X))


@pytest.mark.parametrize("method", ["coherence", "platt", "sollich"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_and_probabilities_agree(method, n_classes):
    X, y = make_classification(n_samples=300, n_informative=5, n_classes=n_classes, flip_y=0.3, random_state=1)
    model = ScoreCalibrator(SVC(), method=method).fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))


def test_cross_validated_scores_beat_training_scores(data):
    X, y = data
    train, test = slice(0, 150), slice(150, None)
    fitted = SVC(C=100).fit(X[train], y[train])
    honest = ScoreCalibrator(SVC(C=100), method="platt").fit(X[train], y[train])
    hopeful = ScoreCalibrator(fitted, method="platt", cv="prefit").fit(X[train], y[train])
    assert log_loss(y[test], honest.predict_proba(X[test])) < log_loss(y[test], hopeful.predict_proba(X[test]))


def test_prefit_never_refits(data):
    X, y = data
    fitted = LinearSVC().fit(X, y)
    coef = fitted.coef_.copy()
    model = ScoreCalibrator(fitted, cv="prefit").fit(X[:50], y[:50])
    assert model.estimator_ is fitted
    np.testing.assert_array_equal(fitted.coef_, coef)
    assert not model.at_bound_


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: ScoreCalibrator(LinearSVC(), method="isotonic"), "method"),
        (lambda: ScoreCalibrator(LinearSVC(), cost=-1), "cost"),
        (lambda: ScoreCalibrator(LinearSVC(), temperature_bounds=(1, 0.1)), "temperature_bounds"),
        (lambda: ScoreCalibrator(GaussianNB()), "decision_function"),
    ],
)
def test_bad_parameters_are_named(data, make, word):
    with pytest.raises(ValueError, match=word):
        make().fit(*data)


def test_one_vs_one_scores_are_refused_with_the_remedy():
    X, y = make_classification(n_samples=200, n_informative=5, n_classes=4, random_state=0)
    with pytest.raises(ValueError, match="decision_function_shape='ovr'"):
        ScoreCalibrator(SVC(decision_function_shape="ovo")).fit(X, y)


def test_a_class_with_one_row_asks_for_prefit(data):
    X, y = data
    y = np.where(np.arange(len(y)) == 0, 2, y)
    with pytest.raises(ValueError, match="prefit"):
        ScoreCalibrator(LinearSVC()).fit(X, y)

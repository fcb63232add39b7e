"""ScoreCalibrator: a scikit-learn citizen that leaves decisions alone, whatever the unit of the scores."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from softmargin import ScoreCalibrator

METHODS = ["auto", "platt", "sollich", "coherence"]


class Given(ClassifierMixin, BaseEstimator):
    """A prefit classifier whose scores are its columns, times a unit."""

    def __init__(self, unit=1.0, classes=(0, 1)):
        self.unit, self.classes, self.classes_ = unit, classes, np.array(classes)

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return self.unit * (np.ravel(X) if np.ndim(X) == 2 and np.shape(X)[1] == 1 else np.asarray(X))

    def predict(self, X):
        f = self.decision_function(X)
        return self.classes_[(f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)]


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning:sklearn")
@parametrize_with_checks(
    [
        ScoreCalibrator(LogisticRegression(solver="newton-cholesky", tol=1e-12), cv=3),
        ScoreCalibrator(LogisticRegression(solver="newton-cholesky", tol=1e-12), method="platt", cv=3),
    ]
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the left-out scores", category=UserWarning)  # random labels
        check(estimator)


@pytest.fixture
def data():
    return make_classification(n_samples=300, n_informative=4, flip_y=0.2, random_state=0)


def _sample(n_classes):
    return make_classification(n_samples=300, n_informative=5, n_classes=n_classes, flip_y=0.3, random_state=1)


@pytest.mark.filterwarnings("ignore:the temperature of the link")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("classifier", [SVC(), LinearSVC()], ids=["SVC", "LinearSVC"])
def test_labels_are_those_of_the_classifier_and_of_the_largest_probability(method, n_classes, classifier):
    X, y = _sample(n_classes)
    model = ScoreCalibrator(classifier, method=method).fit(X, y)
    P, labels = model.predict_proba(X), model.predict(X)
    np.testing.assert_array_equal(labels, model.estimator_.predict(X))
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], labels)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.all((P > 0) & (P < 1))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_calibrated_decisions_are_the_largest_probability(n_classes):
    X, y = _sample(n_classes)
    model = ScoreCalibrator(SVC(), decision="calibrated").fit(X, y)
    P, f = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    codes = (f > 0).astype(int) if n_classes == 2 else f.argmax(axis=1)
    np.testing.assert_array_equal(P.argmax(axis=1), codes)


@pytest.mark.parametrize("method", ["auto", "platt", "coherence"])
@pytest.mark.parametrize("unit", [1e-9, 1e-4, 1e6, 1e12])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_unit_of_the_scores_does_not_matter(method, unit, n_classes):
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=200)
    F = np.eye(n_classes)[y] + rng.normal(size=(200, n_classes))
    F = F[:, 1:] - F[:, :1] if n_classes == 2 else F
    one, other = (
        ScoreCalibrator(Given(u, tuple(range(n_classes))), method=method, cv="prefit").fit(F, y) for u in (1.0, unit)
    )
    np.testing.assert_allclose(one.predict_proba(F), other.predict_proba(F), rtol=1e-4, atol=1e-5)
    if method == "coherence":
        assert not np.any(other.at_bound_)


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("classifier", [SVC(), LinearSVC()], ids=["SVC", "LinearSVC"])
def test_several_classes_keep_their_accuracy_and_beat_one_sigmoid_per_class(load, classifier):
    X, y = load(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    machine = make_pipeline(StandardScaler(), classifier)
    ours = ScoreCalibrator(machine).fit(train, y_train)
    theirs = CalibratedClassifierCV(machine).fit(train, y_train)
    assert ours.score(test, y_test) == machine.fit(train, y_train).score(test, y_test)
    assert log_loss(y_test, ours.predict_proba(test)) < log_loss(y_test, theirs.predict_proba(test))


def test_scores_that_separate_the_classes_leave_room_for_doubt():
    f = np.linspace(-2, 2, 40)[:, None]
    model = ScoreCalibrator(Given(), cv="prefit").fit(f, (f > 0).ravel().astype(int))
    P = model.predict_proba(np.array([[-1e9], [-1.0], [1.0], [1e9]]))
    assert P.min() >= 1 / 81
    assert np.all(P.argmax(axis=1) == [0, 0, 1, 1])


@pytest.mark.parametrize("method", ["auto", "coherence"])
def test_scores_that_say_nothing_are_reported(method):
    f = np.linspace(-2, 2, 60)[:, None]
    with pytest.warns(UserWarning, match="better than chance"):
        model = ScoreCalibrator(Given(), method=method, cv="prefit").fit(f, (f < 0).ravel().astype(int))
    assert np.abs(model.predict_proba(f) - 0.5).max() < 0.01


@pytest.mark.filterwarnings("ignore:the temperature of the link")
def test_integer_weights_equal_repeated_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=90)
    F, count = np.eye(3)[y] + rng.normal(size=(90, 3)), rng.integers(0, 4, size=90)
    machine = Given(classes=(0, 1, 2))
    for method in METHODS:
        one = ScoreCalibrator(machine, method=method, cv="prefit").fit(F, y, sample_weight=count)
        many = ScoreCalibrator(machine, method=method, cv="prefit").fit(np.repeat(F, count, 0), np.repeat(y, count))
        np.testing.assert_allclose(one.predict_proba(F), many.predict_proba(F), rtol=1e-5)


def test_weights_reach_the_last_step_of_a_pipeline(data):
    X, y = data
    weight = np.where(y == 1, 5.0, 1.0)
    inside = ScoreCalibrator(make_pipeline(StandardScaler(), SVC()), cv=3).fit(X, y, sample_weight=weight)
    plain = make_pipeline(StandardScaler(), SVC()).fit(X, y, svc__sample_weight=weight)
    np.testing.assert_allclose(inside.decision_function(X), plain.decision_function(X))
    nested = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), SVC()))
    deep = ScoreCalibrator(nested, cv=3).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(deep.decision_function(X), plain.decision_function(X))


def test_a_refit_forgets_the_link_before(data):
    X, y = data
    model = ScoreCalibrator(LinearSVC(), method="platt").fit(X, y)
    assert hasattr(model, "slope_")
    model.set_params(method="coherence").fit(X, y)
    assert hasattr(model, "temperature_")
    assert not hasattr(model, "slope_")


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
    model = ScoreCalibrator(fitted, method="coherence", cv="prefit").fit(X[:50], y[:50])
    assert model.estimator_ is fitted
    np.testing.assert_array_equal(fitted.coef_, coef)
    assert not model.at_bound_


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: ScoreCalibrator(LinearSVC(), method="isotonic"), "method"),
        (lambda: ScoreCalibrator(LinearSVC(), coupling="pairs"), "coupling"),
        (lambda: ScoreCalibrator(LinearSVC(), method="platt", coupling="joint"), "joint"),
        (lambda: ScoreCalibrator(LinearSVC(), decision="coin"), "decision"),
        (lambda: ScoreCalibrator(LinearSVC(), cost=-1), "cost"),
        (lambda: ScoreCalibrator(LinearSVC(), temperature_bounds=(1, 0.1)), "temperature_bounds"),
        (lambda: ScoreCalibrator(GaussianNB()), "decision_function"),
        (lambda: ScoreCalibrator(Given(classes=(5, 6)), cv="prefit"), "labels the classifier does not know"),
    ],
)
def test_bad_parameters_are_named(data, make, word):
    X, y = data
    with pytest.raises(ValueError, match=word):
        make().fit(X[:, :1], y)


def test_one_vs_one_scores_are_refused_with_the_remedy():
    X, y = make_classification(n_samples=200, n_informative=5, n_classes=4, random_state=0)
    with pytest.raises(ValueError, match="decision_function_shape='ovr'"):
        ScoreCalibrator(SVC(decision_function_shape="ovo")).fit(X, y)


def test_a_class_with_one_row_asks_for_prefit(data):
    X, y = data
    y = np.where(np.arange(len(y)) == 0, 2, y)
    with pytest.raises(ValueError, match="prefit"):
        ScoreCalibrator(LinearSVC()).fit(X, y)

"""TunedClassifier takes a pipeline: every step learns from the training rows of a fold alone."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import softmargin
from softmargin import MarginClassifier, RobustSVC, TunedClassifier


@pytest.fixture(scope="module")
def rows():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:150, :8], np.where(y[:150] == 1, "benign", "malignant")


def test_steps_and_classifier_are_tuned_together_and_named_as_the_pipeline_names_them(rows):
    X, y = rows
    steps = Pipeline([("unit", StandardScaler()), ("few", SelectKBest()), ("machine", MarginClassifier())])
    tuned = TunedClassifier(steps, grid={"few__k": [1, 4], "C": [0.01, 1.0]}).fit(X, y)
    assert tuned.criterion_ == "cv"
    assert set(tuned.best_params_) == {"few__k", "machine__C"}
    assert tuned.results_.shape == (4, 4)
    assert tuned.results_["cv"].is_monotonic_increasing
    assert tuned.best_estimator_["few"].k == tuned.best_params_["few__k"]
    assert tuned.score(X, y) > 0.85


def test_the_criterion_is_the_log_loss_of_folds_of_the_whole_pipeline(rows):
    X, y = rows
    steps = make_pipeline(StandardScaler(), SelectKBest(k=2), MarginClassifier(C=0.5))
    tuned = TunedClassifier(steps, grid={"C": [0.5]}, cv=3).fit(X, y)
    own = np.empty(len(y))
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        P = clone(steps).fit(X[train], y[train]).predict_proba(X[test])
        own[test] = P[np.arange(len(test)), (y[test] == "malignant").astype(int)]
    assert tuned.best_score_ == pytest.approx(-np.log(own).mean(), rel=1e-6)


class Peek(TransformerMixin, BaseEstimator):
    """Remembers the label of every row it was fitted to: useless on others, perfect if it is shown them."""

    def fit(self, X, y):
        self.known_ = {tuple(row): 1.0 if label == "benign" else -1.0 for row, label in zip(X, y, strict=True)}
        return self

    def transform(self, X):
        return np.array([[self.known_.get(tuple(row), 0.0)] for row in X])


def test_a_step_that_learns_labels_by_heart_is_not_believed(rows):
    X, y = rows
    tuned = TunedClassifier(make_pipeline(Peek(), MarginClassifier()), grid={"C": [1.0]}).fit(X, y)
    prior = log_loss(y, np.tile([np.mean(y == "benign"), np.mean(y == "malignant")], (len(y), 1)))
    assert tuned.best_score_ > 0.95 * prior


def test_weights_reach_the_classifier_and_zero_ones_are_not_judged(rows):
    X, y = rows
    weight = np.r_[np.ones(140), np.zeros(10)]
    steps = make_pipeline(StandardScaler(), MarginClassifier())
    wrong = y.copy()
    wrong[140:] = np.where(y[140:] == "benign", "malignant", "benign")
    one = TunedClassifier(steps, grid={"C": [1.0]}, criterion="holdout").fit(X, y, sample_weight=weight)
    assert np.isfinite(one.best_score_)
    two = clone(one).fit(X, wrong, sample_weight=weight)
    np.testing.assert_allclose(one.best_estimator_[-1].coef_, two.best_estimator_[-1].coef_, rtol=1e-5)


def test_robust_losses_are_judged_by_what_flipped_labels_do_not_mislead(rows):
    X, y = rows
    steps = make_pipeline(StandardScaler(), RobustSVC())
    tuned = TunedClassifier(steps, grid={"sigma": [np.inf, 2.0], "C": 3}, rule="one_se").fit(X, y)
    assert set(tuned.best_params_) == {"robustsvc__sigma", "robustsvc__C"}
    assert 0 < tuned.best_score_ < 0.5


def test_a_tuned_pipeline_is_saved_and_loaded(rows, tmp_path):
    X, y = rows
    tuned = TunedClassifier(make_pipeline(StandardScaler(), MarginClassifier()), grid={"C": [0.1, 1.0]}).fit(X, y)
    softmargin.save(tuned, tmp_path / "model.softmargin")
    np.testing.assert_allclose(
        softmargin.load(tmp_path / "model.softmargin").predict_proba(X), tuned.predict_proba(X), rtol=1e-12
    )


def test_what_cannot_be_tuned_is_refused_by_name(rows):
    X, y = rows
    with pytest.raises(ValueError, match="pipeline that ends in one"):
        TunedClassifier(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, y)
    with pytest.raises(ValueError, match="criterion='alo' sees no pipeline"):
        TunedClassifier(make_pipeline(StandardScaler(), MarginClassifier()), criterion="alo").fit(X, y)
    with pytest.raises(ValueError, match="few__k"):
        TunedClassifier(make_pipeline(StandardScaler(), MarginClassifier()), grid={"few__k": [1]}).fit(X, y)

"""scikit-learn's callbacks see a fit, its steps and the fitted classifier, alone and inside searches and pipelines."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from estimators.catalogue import CLASSIFIERS, binary, make
from softmargin import CoherenceClassifier, RuleBoostClassifier, ScoreCalibrator, TunedClassifier

callback = pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")


class Recorder:
    """Writes down every task that begins and ends."""

    def __init__(self):
        self.begun, self.ended, self.fitted, self.open = [], [], [], 0

    def setup(self, estimator, context):
        self.open += 1

    def teardown(self, estimator, context):
        self.open -= 1

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.ended.append(context.task_name)
        if hasattr(fitted_estimator, "predict"):
            self.fitted.append(fitted_estimator.predict(X))


class Propagated(Recorder):
    """The same for all estimators below."""

    max_propagation_depth = None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_tells_of_its_fit_and_hands_over_what_was_fitted(name):
    X, y, _ = binary()
    seen = Recorder()
    model = make(name).set_callbacks(seen).fit(X, y)
    assert (seen.begun[0], seen.ended[-1], seen.open) == ("fit", "fit", 0)
    assert sorted(seen.begun) == sorted(seen.ended)
    np.testing.assert_array_equal(seen.fitted[-1], model.predict(X))
    assert not [one for one in vars(model) if "callback_fit" in one]


@pytest.mark.parametrize(
    ("model", "step"),
    [
        (CoherenceClassifier(), "newton step"),
        (CoherenceClassifier(l1_ratio=0.5), "proximal newton step"),
        (RuleBoostClassifier(n_rules=3), "round"),
        (RuleBoostClassifier(learner="trees", n_rules=3), "round"),
        (TunedClassifier(CoherenceClassifier(), grid={"C": [0.1, 1.0]}), "candidate"),
        (ScoreCalibrator(CoherenceClassifier(), cv=2), "newton step"),
    ],
)
def test_steps_are_tasks(model, step):
    X, y, _ = binary()
    seen = Recorder()
    model.set_callbacks(seen).fit(X, y)
    assert step in seen.begun


def test_a_callback_sees_fits_below_a_search():
    X, y, _ = binary()
    seen = Propagated()
    search = GridSearchCV(make_pipeline(StandardScaler(), CoherenceClassifier()), {"coherenceclassifier__C": [1, 10]})
    search.set_callbacks(seen).fit(X, y)
    assert "newton step" in seen.begun
    assert seen.open == 0


def test_scores_are_monitored_and_weights_passed_on():
    X, y, _ = binary()
    weight = np.linspace(0.1, 2.0, len(y))
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = CoherenceClassifier().set_callbacks(monitor).fit(X, y, sample_weight=weight)
    (row,) = monitor.get_logs().data
    assert row["accuracy"] == pytest.approx(model.score(X, y, sample_weight=weight))


def test_a_failed_fit_tears_callbacks_down():
    X, y, _ = binary()
    seen = Recorder()
    with pytest.raises(ValueError, match="C"):
        ScoreCalibrator(CoherenceClassifier(C=-1.0), cv=2).set_callbacks(seen).fit(X, y)
    assert seen.open == 0


def test_results_do_not_depend_on_who_listens():
    X, y, _ = binary()
    one = CoherenceClassifier().set_callbacks(Recorder()).fit(X, y)
    np.testing.assert_array_equal(one.coef_, CoherenceClassifier().fit(X, y).coef_)
    ScoreCalibrator(SVC(), cv=2).set_callbacks(callback.ProgressBar()).fit(X, y)

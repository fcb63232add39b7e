"""What is not meant for an audit, an interval or an influence is refused by the name of its argument."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from softmargin import MarginClassifier, audit_labels
from softmargin.inference import Inference, influence, sensitivity

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] + RNG.normal(size=40) > 0).astype(int)
WORDS = np.array(["a", "b"])[Y]


@pytest.fixture(scope="module")
def model():
    return MarginClassifier().fit(X, Y)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ((X, Y, X[:2], Y[:3]), "y_new must hold one label per row of X_new"),
        ((X, Y, X[:2], Y[:1]), "y_new must hold one label per row of X_new"),
        ((X, Y, X[:2], None), "y_new must hold one label per row of X_new"),
        ((X, Y, X[:1], [7]), "y_new .* got 7"),
        ((X, Y, X[:1], ["1"]), "y_new .* got '1'"),
        ((X, Y[:-1], X[:1], [1]), "y must hold one label per row of X"),
        ((X, WORDS, X[:1], [1]), "y .* got '[ab]'"),
    ],
)
@pytest.mark.parametrize("question", [influence, sensitivity])
def test_rows_need_a_label_each_that_the_model_knows(model, question, given, word):
    with pytest.raises(ValueError, match=word):
        question(model, *given)


def test_new_labels_need_new_rows_and_new_rows_the_columns_of_the_old(model):
    with pytest.raises(ValueError, match="X_new"):
        influence(model, X, Y, None, [1])
    with pytest.raises(ValueError, match="X_new must have the 3 columns"):
        sensitivity(model, X, Y, X[:1, :2], [1])


@pytest.mark.parametrize("question", [influence, sensitivity])
def test_influences_are_those_of_two_classes(question):
    y = np.arange(40) % 3
    with pytest.raises(ValueError, match="two classes"):
        question(MarginClassifier().fit(X, y), X, y, X[:1], [1])


@pytest.mark.parametrize(
    "question",
    [
        lambda model: influence(model, X, Y),
        lambda model: sensitivity(model, X, Y, X[:1], [1]),
        lambda model: Inference(model, X, Y),
    ],
)
def test_questions_are_asked_of_fitted_classifiers(question):
    with pytest.raises(NotFittedError):
        question(MarginClassifier())
    for wrong in (None, 3, MarginClassifier):
        with pytest.raises(ValueError, match="must be a classifier"):
            question(wrong)


@pytest.mark.parametrize(
    ("estimator", "options", "word"),
    [
        (3, {}, "estimator must be"),
        (MarginClassifier, {}, "estimator must be"),
        ([], {}, "estimator must be"),
        ([MarginClassifier(), 3], {}, "estimator must be"),
        ("best", {}, "estimator must be"),
        (MarginClassifier(), {"level": "high"}, "level must be"),
        (MarginClassifier(), {"n_repeats": None}, "n_repeats must be"),
        (MarginClassifier(), {"sample_weight": np.full(40, 1e300)}, "sample_weight"),
        (MarginClassifier(), {"y": np.where(Y, 1.0, np.nan)}, "y contains NaN"),
        (MarginClassifier(), {"X": X[:0], "y": Y[:0]}, "X has no rows"),
    ],
)
def test_arguments_of_an_audit_are_named(estimator, options, word):
    with pytest.raises(ValueError, match=word):
        audit_labels(estimator, **({"X": X, "y": Y} | options))


@pytest.mark.parametrize(
    ("step", "word"),
    [
        (lambda audit: audit.suspects(None), "fdr must be"),
        (lambda audit: audit.suspects("few"), "fdr must be"),
        (lambda audit: audit.apply("x"), "decisions must be"),
        (lambda audit: audit.apply(audit.table), "decisions must be"),
        (lambda audit: audit.apply({"u": "drop"}), "decisions names row 'u'"),
        (lambda audit: audit.apply({1.5: "drop"}), "decisions names row 1.5"),
        (lambda audit: audit.apply({1: [0]}), r"decisions has \[0\]"),
        (lambda audit: audit.refit([]), "estimator must be"),
        (lambda audit: audit.refit(3), "estimator must be"),
    ],
)
def test_arguments_of_what_follows_an_audit_are_named(step, word):
    audit = audit_labels(MarginClassifier(), X, Y, random_state=0)
    with pytest.raises(ValueError, match=word):
        step(audit)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"sample_weight": np.full(40, 1e308)}, "sample_weight"),
        ({"sample_weight": np.zeros(40)}, "at least one"),
        ({"method": []}, "method must be"),
        ({"n_resamples": 1}, "n_resamples must be"),
        ({"n_resamples": None}, "n_resamples must be"),
    ],
)
def test_arguments_of_intervals_are_named(model, options, word):
    with pytest.raises(ValueError, match=word):
        Inference(model, X, Y, **options)

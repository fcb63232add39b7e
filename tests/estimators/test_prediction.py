"""From scores to answers: a few plain rows take a short way, class weights can be taken out of probabilities."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax

from estimators.catalogue import CLASSIFIERS, META, binary, make, several
from softmargin import CoherenceClassifier, MarginClassifier, TruncatedSoftmaxClassifier

NAMES = [name for name in CLASSIFIERS if name not in META | {"AutoClassifier"}]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_one_row_is_answered_as_among_many(name):
    for X, y, _ in (binary(), several()):
        model = make(name).fit(X, y)
        whole = np.repeat(X, 6000 // len(X), axis=0)[:: 6000 // len(X)]
        for method in ("predict", "decision_function", "predict_proba"):
            if hasattr(model, method):
                answers = np.asarray(getattr(model, method)(whole))
                rows = np.concatenate([getattr(model, method)(row[None, :]) for row in X])
                if answers.dtype.kind == "f":
                    np.testing.assert_allclose(rows, answers, atol=1e-9 * max(1, np.abs(answers).max()))
                else:
                    np.testing.assert_array_equal(rows, answers)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_the_short_way_refuses_what_the_long_one_does(name):
    X, y, _ = binary()
    model = make(name).fit(X, y)
    for wrong in (X[:1, :2], X[0], X[:0], np.array([["a"] * X.shape[1]])):
        with pytest.raises(ValueError):
            model.predict(wrong)
    if name != "RuleBoostClassifier":  # rules read missing values
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.predict(np.full((1, X.shape[1]), np.nan))


def test_names_are_still_compared():
    X, y, _ = binary()
    model = MarginClassifier().fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X[:1])


def test_a_score_predicts_after_a_pickle_what_it_did_before():
    X, y, _ = binary()
    model = MarginClassifier(kernel="rbf").fit(X, y)
    state = model.kernel_score_.__getstate__()
    model.predict(X)
    assert model.kernel_score_.__getstate__().keys() == state.keys() == {"kernel", "rows", "coef"}


def rare_classes(n=20_000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    p = expit(1.5 * X[:, 0] - 2.5)
    return X, (rng.random(n) < p).astype(int), p


def test_population_probabilities_undo_class_weights():
    X, y, p = rare_classes()
    truth = np.column_stack([1 - p, p])
    for cls in (MarginClassifier, CoherenceClassifier):
        weighted = cls(class_weight="balanced", C=10).fit(X, y)
        corrected = cls(class_weight="balanced", C=10, probability_prior="population").fit(X, y)
        np.testing.assert_array_equal(weighted.predict(X), corrected.predict(X))
        assert np.mean(np.abs(weighted.predict_proba(X) - truth)) > 0.1
        assert np.mean(np.abs(corrected.predict_proba(X) - truth)) < 0.04
    unweighted = MarginClassifier(probability_prior="population").fit(X, y)
    assert np.mean(np.abs(unweighted.predict_proba(X) - truth)) < 0.02


def test_population_probabilities_of_several_classes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20_000, 2))
    truth = softmax(np.column_stack([X[:, 0] + 2, X[:, 1], -X[:, 0]]), axis=1)
    y = (rng.random(len(X))[:, None] > truth.cumsum(axis=1)).sum(axis=1)
    model = TruncatedSoftmaxClassifier(level=np.inf, class_weight={0: 0.2, 2: 3.0}, probability_prior="population")
    assert np.abs(model.fit(X, y).predict_proba(X) - truth).max() < 0.06
    np.testing.assert_allclose(model.class_weight_, [0.2, 1.0, 3.0])


def test_scales_of_the_coherence_loss_are_units_of_c():
    X, y, _ = binary()
    for temperature, cost in ((0.5, 1.0), (1.0, 2.0)):
        at_zero = temperature * np.logaddexp(0, cost / temperature)
        plain = CoherenceClassifier(temperature=temperature, cost=cost, scale="V", C=3.0, tol=1e-10).fit(X, y)
        for scale, factor in (("C", cost / at_zero), ("L", 1 / at_zero)):
            other = CoherenceClassifier(temperature=temperature, cost=cost, scale=scale, C=3.0 / factor, tol=1e-10)
            np.testing.assert_allclose(other.fit(X, y).coef_, plain.coef_, atol=1e-6)
            np.testing.assert_allclose(other.predict_proba(X), plain.predict_proba(X), atol=1e-6)


def test_coherence_without_cost_is_logistic_regression():
    X, y, _ = binary()
    logistic = MarginClassifier(C=2.0, tol=1e-10).fit(X, y)
    coherence = CoherenceClassifier(cost=0, scale="V", C=2.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(coherence.coef_, logistic.coef_, atol=1e-6)
    np.testing.assert_allclose(coherence.predict_proba(X), logistic.predict_proba(X), atol=1e-6)
    with pytest.raises(ValueError, match="cost must be positive for scale='C'"):
        CoherenceClassifier(cost=0).fit(X, y)


@pytest.mark.parametrize("kernel", [None, "linear", "poly", "rbf", "matern", "laplacian"])
@pytest.mark.parametrize("size", [1e150, 1e300, 1.7e308])
def test_rows_however_far_out_have_finite_scores_or_are_refused(kernel, size):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    model = MarginClassifier(kernel=kernel, C=10.0).fit(X, y)
    far = size * np.sign(X)
    for answer in (model.decision_function, model.predict_proba):
        try:
            assert np.isfinite(answer(far)).all()
        except ValueError as error:
            refusal = str(error)
            assert "scale" in refusal.lower()

"""Rules of chunks are the rules of the same rows in memory, on the same bins."""

import numpy as np
import pytest
from sklearn.base import clone

import softmargin
from softmargin import RuleBoostClassifier, chunks


def draw(n=3000, classes=("no", "yes")):
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(n, 6)) * 4)  # few values, all of them in the sample: the bins of both are the same
    X[:, 2] = 1.0
    score = X[:, 0] + 0.3 * X[:, 1] * X[:, 3] - np.abs(X[:, 4]) + 3 * rng.logistic(size=n)
    codes = np.digitize(score, np.quantile(score, np.linspace(0, 1, len(classes) + 1)[1:-1]))
    return X, np.array(classes)[codes], rng.integers(1, 4, size=n).astype(float)


def chunked(X, y, weight=None, size=700, **options):
    def make():
        for first in [*range(0, len(X), size), len(X)]:  # the last one is empty
            rows = slice(first, first + size)
            yield (X[rows], y[rows]) if weight is None else (X[rows], y[rows], weight[rows])

    return chunks.from_arrays(make, n_jobs=1, **options)


MODELS = {
    "corrective": RuleBoostClassifier(n_rules=6),
    "exponential": RuleBoostClassifier("exponential", n_rules=4, smoothing=1.0),
    "single": RuleBoostClassifier(n_rules=4, update="single", smoothing=0.0),
    "cyclic": RuleBoostClassifier(n_rules=4, update="cyclic", recur=2),
    "short steps": RuleBoostClassifier(n_rules=4, learning_rate=0.5),
    "no intercept": RuleBoostClassifier(n_rules=4, fit_intercept=False),
    "three literals": RuleBoostClassifier(n_rules=3, max_literals=3),
    "class weights": RuleBoostClassifier(n_rules=4, class_weight={"yes": 2.0}),
    "no rule": RuleBoostClassifier(n_rules=0),
}


def same_rules(one, other):
    assert one.rule_list_ == other.rule_list_
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(one.edges_, other.edges_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(one.rule_support_, other.rule_support_)
    np.testing.assert_allclose(one.rule_precision_, other.rule_precision_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_rules_are_found_with_the_same_coefficients(name, weighted):
    X, y, weight = draw()
    weight = weight if weighted else None
    whole = clone(MODELS[name]).fit(X, y, weight)
    cX, cy = chunked(X, y, weight)
    parts = clone(MODELS[name]).fit(cX, cy)
    same_rules(parts, whole)
    np.testing.assert_allclose(parts.predict_proba(cX), whole.predict_proba(X), atol=1e-7)


def test_several_classes_share_their_rules():
    X, y, _ = draw(classes=("a", "b", "c"))
    whole = RuleBoostClassifier(n_rules=6).fit(X, y)
    parts = RuleBoostClassifier(n_rules=6).fit(*chunked(X, y))
    same_rules(parts, whole)


def test_nothing_kept_between_passes_gives_the_same_digits():
    X, y, _ = draw()
    cX, cy = chunked(X, y)
    kept = RuleBoostClassifier(n_rules=6).fit(cX, cy)
    cX.memory_limit = 0
    again = RuleBoostClassifier(n_rules=6).fit(cX, cy)
    np.testing.assert_array_equal(kept.coef_, again.coef_)


def test_more_values_than_bins_are_cut_at_quantiles_of_the_sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 4))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.logistic(size=9000) > 0).astype(int)
    parts = RuleBoostClassifier(n_rules=10).fit(*chunked(X, y, size=3000))
    whole = RuleBoostClassifier(n_rules=10).fit(X, y)
    assert parts.solution_.converged
    assert parts.solution_.objective == pytest.approx(whole.solution_.objective, rel=0.03)


def test_a_model_of_chunks_is_saved_and_read_like_any_other(tmp_path):
    X, y, _ = draw()
    model = RuleBoostClassifier(n_rules=5).fit(*chunked(X, y))
    softmargin.save(model, tmp_path / "rules.softmargin")
    again = softmargin.load(tmp_path / "rules.softmargin")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert len(model.rules_) == 5
    assert model.rules_["support"].between(0, 1).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"learner": "trees"}, "learner='rules'"),
        ({"search": "exact"}, "search='beam'"),
        ({"criterion": "exact"}, "criterion='edge'"),
        ({"early_stopping": True}, "early_stopping=False"),
        ({"loss": ["logistic", "exponential"]}, "one loss"),
    ],
)
def test_what_needs_rows_in_memory_is_refused_by_name(changes, words):
    X, y, _ = draw(300)
    with pytest.raises(ValueError, match=words):
        RuleBoostClassifier(**changes).fit(*chunked(X, y))

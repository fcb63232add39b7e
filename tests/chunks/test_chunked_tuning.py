"""Tuning on chunks: costs are judged in shared passes by rows held out, and the winner is fitted to all rows."""

import numpy as np
import pytest
from sklearn.model_selection import PredefinedSplit

from softmargin import CoherenceClassifier, MarginClassifier, ScoreCalibrator, TunedClassifier, audit_labels, chunks
from softmargin.expansions import Chunk, FoldWeights, RowWeights

SIZE = 800


def draw(n=4000, classes=("no", "yes"), p=6):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, p)) * np.geomspace(0.3, 3, p)
    score = X @ (np.linspace(1, -1, p) / np.geomspace(0.3, 3, p)) + 1.5 * rng.logistic(size=n)
    codes = np.digitize(score, np.quantile(score, np.linspace(0, 1, len(classes) + 1)[1:-1]))
    return X, np.array(classes)[codes], rng.integers(1, 3, size=n).astype(float)


def chunked(X, y, weight=None):
    def make():
        for first in range(0, len(X), SIZE):
            rows = slice(first, first + SIZE)
            yield (X[rows], y[rows]) if weight is None else (X[rows], y[rows], weight[rows])

    return chunks.from_arrays(make, n_jobs=1)


def folds_of(X, n_folds=5):
    """The folds that chunks draw, for the same judgement of rows in memory."""
    weights = FoldWeights.of_rows(RowWeights(), n_folds, 0, True)
    return np.concatenate([weights.folds(Chunk(X[k : k + SIZE], first=k)) for k in range(0, len(X), SIZE)])


MODELS = {
    "logistic": MarginClassifier(),
    "balanced": MarginClassifier(class_weight="balanced"),
    "coherence": CoherenceClassifier(temperature=0.5),
    "hinge": MarginClassifier(loss="hinge"),
    "lasso": MarginClassifier(l1_ratio=1.0),
}


@pytest.mark.parametrize("name", MODELS)
def test_costs_are_judged_as_in_memory_on_the_same_folds(name):
    X, y, weight = draw()
    grid = {"C": [1e-4, 1e-3, 1e-2, 1e-1]}
    splits = PredefinedSplit(np.where(folds_of(X) == 0, 0, -1))
    whole = TunedClassifier(MODELS[name], grid=grid, criterion="cv", cv=splits).fit(X, y, weight)
    cX, cy = chunked(X, y, weight)
    parts = TunedClassifier(MODELS[name], grid=grid).fit(cX, cy)
    assert parts.criterion_ == "holdout"
    one, other = (model.results_.sort_values("C") for model in (parts, whole))
    np.testing.assert_allclose(one["holdout"], other["cv"], rtol=2e-2)
    assert parts.best_params_ == whole.best_params_
    np.testing.assert_allclose(parts.decision_function(cX), whole.decision_function(X), atol=0.02)


def test_folds_and_several_classes():
    X, y, _ = draw(classes=("a", "b", "c"))
    grid = {"C": [1e-3, 1e-1]}
    whole = TunedClassifier(MarginClassifier(), grid=grid, criterion="cv", cv=PredefinedSplit(folds_of(X, 3))).fit(X, y)
    parts = TunedClassifier(MarginClassifier(), grid=grid, criterion="cv", cv=3).fit(*chunked(X, y))
    np.testing.assert_allclose(parts.results_.sort_values("C")["cv"], whole.results_.sort_values("C")["cv"], rtol=1e-3)
    assert parts.best_params_ == whole.best_params_


def test_thirty_costs_share_their_passes():
    X, y, _ = draw()
    cX, cy = chunked(X, y)
    passes = []
    total = cX.source.total
    cX.source.total = lambda task: passes.append(type(task).__name__) or total(task)
    MarginClassifier().fit(cX, cy)
    one_fit = len(passes)
    model = TunedClassifier(MarginClassifier()).fit(cX, cy)
    assert len(model.results_) == 30
    assert len(passes) - one_fit <= 20


def test_what_chunks_cannot_be_judged_by_is_refused():
    X, y, _ = draw(500)
    with pytest.raises(ValueError, match="criterion='holdout' or 'cv'"):
        TunedClassifier(MarginClassifier(), criterion="alo").fit(*chunked(X, y))


def test_links_are_fitted_to_rows_of_chunks_held_out():
    X, y, weight = draw(6000)
    cX, cy = chunked(X, y, weight)
    parts = ScoreCalibrator(MarginClassifier(loss="squared_hinge", C=0.1)).fit(cX, cy)
    whole = ScoreCalibrator(MarginClassifier(loss="squared_hinge", C=0.1)).fit(X, y, weight)
    np.testing.assert_allclose(parts.predict_proba(cX), whole.predict_proba(X), atol=0.04)
    np.testing.assert_array_equal(parts.predict(cX), whole.predict(X))
    given = ScoreCalibrator(parts.estimator_, cv="prefit").fit(cX, cy)
    np.testing.assert_allclose(given.predict_proba(X), parts.predict_proba(X), atol=0.04)


def test_labels_are_audited_by_folds_of_chunks():
    X, y, _ = draw(3000)
    X[:, -1] = np.where(y == "yes", 2.0, -2.0) + 0.3 * X[:, -1]
    wrong = np.random.default_rng(0).choice(len(y), 60, replace=False)
    noisy = y.copy()
    noisy[wrong] = np.where(y[wrong] == "yes", "no", "yes")
    found = audit_labels(MarginClassifier(C=0.1), *chunked(X, noisy), cv=3)
    assert np.isin(found["row"][:60], wrong).mean() > 0.7
    assert np.sort(found["row"]).tolist() == list(range(len(y)))
    whole = audit_labels(MarginClassifier(C=0.1), X, noisy, cv=PredefinedSplit(folds_of(X, 3)))
    one, other = (report.table.set_index("row")["trust"].sort_index() for report in (found, whole))
    np.testing.assert_allclose(one, other, atol=1e-3)

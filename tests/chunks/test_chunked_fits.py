"""Rows in chunks are fitted like rows in memory: same objective, same certificate, same predictions."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from softmargin import (
    CoherenceClassifier,
    CompositeLeastSquaresClassifier,
    MarginClassifier,
    ProbabilisticSVC,
    RobustSVC,
    chunks,
    losses,
)

N = 4000


def draw(classes=("no", "yes"), n=N, p=5):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, p)) @ np.diag(np.geomspace(0.3, 3, p)) + 0.5
    score = X @ np.linspace(1, -1, p) + rng.logistic(size=n)
    codes = np.digitize(score, np.quantile(score, np.linspace(0, 1, len(classes) + 1)[1:-1]))
    return X, np.array(classes)[codes], 0.5 + rng.random(n)


def chunked(X, y, weight=None, sizes=(900, 1, 0, 1100), **options):
    """Chunks of these sizes, repeated until the rows end; one of them is empty, one has a single class."""

    def make():
        first, k = 0, 0
        while first < X.shape[0]:
            rows = slice(first, first + sizes[k % len(sizes)])
            yield (X[rows], y[rows]) if weight is None else (X[rows], y[rows], weight[rows])
            first, k = first + sizes[k % len(sizes)], k + 1

    return chunks.from_arrays(make, **options)


MODELS = {
    "logistic": MarginClassifier(tol=1e-9),
    "no intercept": MarginClassifier(tol=1e-9, fit_intercept=False),
    "hinge": MarginClassifier(loss="hinge", tol=1e-5),
    "balanced hinge": MarginClassifier(loss=losses.BalancedHinge(2.0), tol=1e-5),
    "squared hinge": MarginClassifier(loss="squared_hinge", tol=1e-9),
    "coherence": CoherenceClassifier(temperature=0.3, tol=1e-9),
    "elastic net": MarginClassifier(C=0.01, l1_ratio=0.5, tol=1e-8),
    "lasso": MarginClassifier(C=0.005, l1_ratio=1.0, tol=1e-7),
    "class weights": MarginClassifier(class_weight={"no": 3.0}, tol=1e-9),
    "balanced classes": MarginClassifier(class_weight="balanced", tol=1e-9),
    "welsch": RobustSVC(sigma=2.0, tol=1e-9),
    "cauchy": RobustSVC(loss="cauchy", tol=1e-9),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_chunked_fit_is_the_fit_in_memory(name, weighted):
    X, y, weight = draw()
    weight = weight if weighted else None
    model = MODELS[name]
    whole = clone(model).fit(X, y, weight)
    cX, cy = chunked(X, y, weight)
    parts = clone(model).fit(cX, cy)
    assert parts.solution_.converged
    assert parts.solution_.gap <= model.tol
    assert parts.solution_.objective == pytest.approx(whole.solution_.objective, rel=4 * model.tol)
    far = 2 * np.sqrt(2 * model.tol * abs(whole.solution_.objective))  # a gap of g is a distance of sqrt(2g) at most
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=max(far, 1e-5))
    np.testing.assert_array_equal(parts.classes_, whole.classes_)
    np.testing.assert_allclose(parts.decision_function(cX), parts.decision_function(X), rtol=1e-12)
    np.testing.assert_array_equal(parts.predict(cX), parts.predict(X))


@pytest.mark.parametrize("limit", [None, 0, 60_000])
def test_what_the_cache_keeps_changes_nothing(limit):
    X, y, _ = draw()
    fits = [MarginClassifier().fit(*chunked(X, y, cache_limit=one)) for one in (None, limit)]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)


def test_any_number_of_threads_gives_the_same_digits():
    X, y, _ = draw()
    fits = [MarginClassifier().fit(*chunked(X, y, n_jobs=jobs)) for jobs in (1, 3)]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)


def test_several_classes_and_sparse_rows():
    X, y, _ = draw(("a", "b", "c"))
    S = sparse.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    whole = MarginClassifier(tol=1e-9).fit(S, y)
    cX, cy = chunked(S, y)
    parts = MarginClassifier(tol=1e-9).fit(cX, cy)
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-4)
    np.testing.assert_allclose(parts.predict_proba(cX), whole.predict_proba(S), atol=1e-4)


def test_landmarks_of_chunks_are_rows_of_theirs():
    X, y, _ = draw()
    cX, cy = chunked(X, y)
    model = MarginClassifier(kernel="rbf", gamma=0.2, n_components=40, random_state=0, tol=1e-8).fit(cX, cy)
    assert model.solution_.converged
    assert len(model.support_) == 40
    np.testing.assert_array_equal(model.kernel_score_.rows, X[model.support_])
    whole = MarginClassifier(kernel="rbf", gamma=0.2, n_components=40, random_state=0).fit(X, y)
    assert np.mean(model.predict(cX) == y) > np.mean(whole.predict(X) == y) - 0.02


def test_more_columns_than_a_hessian_has_room_for():
    rng = np.random.default_rng(0)
    X = sparse.random_array((600, 6000), density=0.01, random_state=rng, format="csr")
    y = np.where(X[:, :40].sum(axis=1) > np.median(X[:, :40].sum(axis=1)), 1, 0)
    parts = MarginClassifier().fit(*chunked(X, y, sizes=(200,)))
    whole = MarginClassifier(tol=1e-8).fit(X, y)
    assert parts.solution_.converged
    assert parts.solution_.objective == pytest.approx(whole.solution_.objective, rel=2e-6)


def test_single_precision_stays_single():
    X, y, _ = draw()
    cX, cy = chunked(X.astype(np.float32), y)
    model = MarginClassifier().fit(cX, cy)
    assert model.coef_.dtype == np.float32
    assert model.solution_.converged


def test_faults_name_themselves():
    X, y, weight = draw()
    bad = X.copy()
    bad[1500, 2] = np.nan
    with pytest.raises(ValueError, match=r"Rows 901 to 2000 hold a value that is missing"):
        MarginClassifier().fit(*chunked(bad, y))
    with pytest.raises(ValueError, match="weight that is negative"):
        MarginClassifier().fit(*chunked(X, y, -weight))
    with pytest.raises(ValueError, match="one class only"):
        MarginClassifier().fit(*chunked(X, np.full(N, "no")))
    with pytest.raises(ValueError, match="needs landmarks"):
        MarginClassifier(kernel="rbf").fit(*chunked(X, y))
    with pytest.raises(ValueError, match="fits rows in memory only"):
        ProbabilisticSVC().fit(*chunked(X, y))
    cX, cy = chunked(X, y)
    with pytest.raises(ValueError, match="labels that came with these chunked rows"):
        MarginClassifier().fit(cX, y)
    with pytest.raises(ValueError, match="name it where the chunks are made"):
        MarginClassifier().fit(cX, cy, weight)
    with pytest.raises(ValueError, match="without chunks"):
        chunks.from_arrays(lambda: iter(()))
    with pytest.raises(ValueError, match="values for 4000 rows"):
        MarginClassifier().fit(*chunks.from_arrays(lambda: iter([(X, y[:-1])])))


def test_fitting_arrays_again_forgets_the_chunks():
    X, y, _ = draw()
    model = MarginClassifier().fit(*chunked(X, y))
    model.fit(X[:, :3], y)
    fresh = MarginClassifier().fit(X[:, :3], y)
    np.testing.assert_array_equal(model.coef_, fresh.coef_)


@pytest.mark.parametrize("intercept", [{}, {"penalize_intercept": True}, {"fit_intercept": False}])
@pytest.mark.parametrize("mix", [0.5, 0.8])
def test_composite_least_squares_is_the_closed_form_of_all_rows(mix, intercept):
    X, y, weight = draw(("a", "b", "c"))
    cX, cy = chunked(X, y, weight)
    whole = CompositeLeastSquaresClassifier(mix, C=0.1, **intercept).fit(X, y, weight)
    parts = CompositeLeastSquaresClassifier(mix, C=0.1, **intercept).fit(cX, cy)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(parts.predict_proba(cX), whole.predict_proba(X), atol=1e-7)
    assert parts.solution_.objective == pytest.approx(whole.solution_.objective, rel=1e-9)
    assert parts.solution_.converged
    with pytest.raises(ValueError, match="leave-one-out looks at every row"):
        CompositeLeastSquaresClassifier(C="auto").fit(cX, cy)


class Interrupted:
    """Chunks of a table that count their passes and raise an interrupt in one of them."""

    def __init__(self, X, y, at=None):
        self.X, self.y, self.at, self.passes = X, y, at, 0

    def __call__(self):
        self.passes += 1
        if self.passes == self.at:
            raise KeyboardInterrupt
        return ((self.X[k::4], self.y[k::4]) for k in range(4))


@pytest.mark.parametrize("model", [MarginClassifier(tol=1e-9), MarginClassifier(loss="hinge"), RobustSVC(tol=1e-8)])
def test_an_interrupted_fit_goes_on_where_it_was(model):
    X, y, _ = draw()
    whole = Interrupted(X, y)
    expected = clone(model).fit(*chunks.from_arrays(whole, cache_limit=0))
    source = Interrupted(X, y, at=whole.passes)
    rows, labels = chunks.from_arrays(source, cache_limit=0)
    with pytest.raises(KeyboardInterrupt):
        clone(model).fit(rows, labels)
    assert len(rows.unfinished) == 1
    source.passes, source.at = 0, None
    again = clone(model).fit(rows, labels)
    assert source.passes < whole.passes
    assert not rows.unfinished
    assert again.solution_.objective == pytest.approx(expected.solution_.objective, rel=4 * model.tol)
    clone(model).set_params(C=3.0).fit(rows, labels)  # another problem begins by itself
    assert not rows.unfinished


def test_passes_tell_their_speed(caplog):
    X, y, _ = draw()
    with caplog.at_level("INFO", logger="softmargin"):
        MarginClassifier(verbose=1).fit(*chunked(X, y))
    assert "rows/s" in caplog.text


@pytest.mark.parametrize("loss", ["logistic", "huberized_hinge", "hinge"])
@pytest.mark.parametrize("shape", [(9, 334), (30, 40), (2, 5)])
def test_more_columns_than_rows(loss, shape):
    X = np.random.default_rng(0).normal(size=shape)
    y = np.arange(len(X)) % 2
    model = MarginClassifier(loss=loss, tol=1e-5)
    found = model.fit(*chunked(X, y, sizes=(20,))).solution_
    assert found.objective == pytest.approx(model.fit(X, y).solution_.objective, rel=1e-4)

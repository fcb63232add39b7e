"""Every estimator that fits by passes finds in chunks, in Parquet files and on Dask what it finds in memory."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from softmargin import (
    BalancingSVC,
    CoherenceClassifier,
    CompositeLeastSquaresClassifier,
    MarginClassifier,
    RobustSVC,
    RuleBoostClassifier,
    ScoreCalibrator,
    TruncatedLogisticRegression,
    TunedClassifier,
    audit_labels,
    chunks,
    losses,
)

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
da = pytest.importorskip("dask.array")

ROWS, SIZE = 2400, 500


def draw(classes=("no", "yes")):
    rng = np.random.default_rng(11)
    X = np.round(3 * rng.normal(size=(ROWS, 4))) / 2  # few values: rules are cut alike everywhere
    score = X @ [1, -1, 0.5, 0] + 1.5 * rng.logistic(size=ROWS)
    codes = np.digitize(score, np.quantile(score, np.linspace(0, 1, len(classes) + 1)[1:-1]))
    return X, np.array(classes)[codes], rng.integers(1, 4, size=ROWS).astype(float)


def from_arrays(folder, X, y, weight):
    parts = [slice(first, first + SIZE) for first in range(0, ROWS, SIZE)]
    return chunks.from_arrays(lambda: ((X[rows], y[rows], weight[rows]) for rows in parts))


def from_files(folder, X, y, weight):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, weight=weight)
    for number, first in enumerate(range(0, ROWS, SIZE)):
        frame[first : first + SIZE].to_parquet(folder / f"{number}.parquet")
    return chunks.from_parquet(folder, target="y", weight="weight", rows_per_chunk=SIZE)


def from_dask(folder, X, y, weight):
    return chunks.from_dask(*(da.from_array(part, chunks=(SIZE, *part.shape[1:])) for part in (X, y, weight)))


SOURCES = {"arrays": from_arrays, "files": from_files, "dask": from_dask}


def convex_losses():
    """Every convex loss of the registry, at its defaults."""
    return [name for name in losses.available() if losses.get(name).convex]


MODELS = {name: MarginClassifier(loss=name, C=0.1) for name in convex_losses()}
MODELS |= {
    f"{name}, elastic net": MarginClassifier(loss=name, C=0.01, l1_ratio=0.5)
    for name in convex_losses()
    if losses.get(name).smooth
}
MODELS |= {f"robust {name}": RobustSVC(loss=name, C=0.1) for name in ("welsch", "cauchy", "geman_mcclure")}
MODELS |= {
    "temperature": CoherenceClassifier(temperature=0.3),
    "balancing": BalancingSVC(balance=2.0, C=0.1, tol=1e-6),
    "truncated": TruncatedLogisticRegression(C=0.1, level=4.0, scheme=1, tol=1e-8),
    "composite": CompositeLeastSquaresClassifier(C=0.1),
    "class weights": MarginClassifier(class_weight={"yes": 2.0}),
    "rules": RuleBoostClassifier(n_rules=4),
}


def fitted_both(model, source, folder, classes=("no", "yes")):
    X, y, weight = draw(classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # constants of robust fits
        whole = clone(model).fit(X, y, weight)
    rows, labels = SOURCES[source](folder, X, y, weight)
    parts = clone(model).fit(rows, labels)
    return X, rows, whole, parts, pd.DataFrame(X, columns=list("abcd")) if source == "files" else X


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", MODELS)
def test_a_fit_by_passes_is_the_fit_in_memory(name, source, tmp_path):
    X, rows, whole, parts, named = fitted_both(MODELS[name], source, tmp_path)
    assert parts.solution_.converged
    tol = getattr(MODELS[name], "tol", 1e-6)
    assert parts.solution_.gap <= max(tol, 1e-6)
    value = whole.solution_.objective
    assert parts.solution_.objective == pytest.approx(value, rel=4 * max(tol, 1e-9))
    far = 2 * np.sqrt(2 * tol * abs(value)) * np.abs(X).sum(axis=1).max()
    np.testing.assert_allclose(parts.decision_function(rows), whole.decision_function(X), atol=max(far, 1e-5))
    np.testing.assert_array_equal(parts.predict(rows), parts.predict(named))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ["logistic", "hinge", "robust welsch", "composite", "truncated", "rules"])
def test_several_classes(name, source, tmp_path):
    X, rows, whole, parts, named = fitted_both(MODELS[name], source, tmp_path, ("a", "b", "c"))
    np.testing.assert_array_equal(parts.classes_, ["a", "b", "c"])
    assert np.mean(parts.predict(rows) == whole.predict(X)) > 0.99
    np.testing.assert_array_equal(parts.predict(rows), parts.predict(named))


@pytest.mark.parametrize("scheme", [1, 2, 3])
def test_probabilities_of_truncated_fits_are_completed_by_passes(scheme, tmp_path):
    model = TruncatedLogisticRegression(C=0.1, level=3.0, scheme=scheme, tol=1e-8)
    X, rows, whole, parts, _ = fitted_both(model, "arrays", tmp_path)
    one_weight = 0.051  # between neighbours of scheme 3
    np.testing.assert_allclose(parts.predict_proba(rows), whole.predict_proba(X), atol=one_weight)


@pytest.mark.parametrize("source", SOURCES)
def test_landmarks_are_rows_and_their_fit_is_certified(source, tmp_path):
    model = MarginClassifier(kernel="rbf", gamma=0.2, n_components=30, random_state=0, tol=1e-6)
    X, rows, whole, parts, _ = fitted_both(model, source, tmp_path)
    assert parts.solution_.converged
    known = {tuple(row) for row in X}
    assert all(tuple(row) in known for row in parts.kernel_score_.rows)
    assert np.mean(parts.predict(rows) == whole.predict(X)) > 0.9


@pytest.mark.parametrize("source", SOURCES)
def test_costs_links_and_audits(source, tmp_path):
    X, y, weight = draw()
    rows, labels = SOURCES[source](tmp_path, X, y, weight)
    tuned = TunedClassifier(MarginClassifier(), grid={"C": [1e-4, 1e-2, 1.0]}).fit(rows, labels)
    assert tuned.best_params_["C"] > 1e-4
    expected = MarginClassifier(**tuned.best_params_).fit(X, y, weight)
    np.testing.assert_allclose(tuned.decision_function(rows), expected.decision_function(X), atol=0.01)
    linked = ScoreCalibrator(MarginClassifier(loss="squared_hinge", C=0.1)).fit(rows, labels)
    judged = MarginClassifier(C=0.1).fit(X, y, weight).predict_proba(X)
    np.testing.assert_allclose(linked.predict_proba(rows), judged, atol=0.1)
    found = audit_labels(MarginClassifier(C=0.1), rows, labels, cv=2)
    assert np.sort(found["row"]).tolist() == list(range(ROWS))
    sure = (judged.max(axis=1) > 0.9) & (np.array(["no", "yes"])[judged.argmax(axis=1)] != y)
    trust = found.table.set_index("row")["trust"].sort_index().to_numpy()
    assert trust[sure].mean() < trust[~sure].mean()


class Passes:
    """Counts the passes of a source, and raises an interrupt in one of them."""

    def __init__(self, source):
        self.total, self.count, self.at = source.total, 0, None
        source.total = self

    def __call__(self, task):
        self.count += 1
        if self.count == self.at:
            raise KeyboardInterrupt
        return self.total(task)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ["logistic", "logistic, elastic net", "hinge", "robust welsch", "truncated"])
def test_a_fit_interrupted_anywhere_is_resumed_to_the_same_end(name, source, tmp_path):
    data = draw()
    rows, labels = SOURCES[source](tmp_path, *data)
    passes = Passes(rows.source)
    expected = clone(MODELS[name]).fit(rows, labels)
    needed = passes.count
    for at in {1, needed}:
        passes.count, passes.at = 0, at
        with pytest.raises(KeyboardInterrupt):
            clone(MODELS[name]).fit(rows, labels)
        assert len(rows.unfinished) == 1
        passes.count, passes.at = 0, None
        again = clone(MODELS[name]).fit(rows, labels)
        assert passes.count <= needed or name == "hinge"  # whose corner is rounded anew
        assert not rows.unfinished
        close = 4 * max(MODELS[name].tol, 1e-9)
        assert again.solution_.objective == pytest.approx(expected.solution_.objective, rel=close)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ["logistic", "logistic, elastic net", "hinge", "robust welsch"])
def test_passes_tell_their_gap_and_speed(name, source, tmp_path, caplog):
    with caplog.at_level("INFO", logger="softmargin"):
        clone(MODELS[name]).set_params(verbose=1).fit(*SOURCES[source](tmp_path, *draw()))
    assert "relative gap" in caplog.text
    assert "rows/s" in caplog.text


def test_what_asks_for_a_look_at_single_rows_is_refused_by_name(tmp_path):
    X, y, weight = draw()
    rows, labels = from_arrays(tmp_path, X, y, weight)
    with pytest.raises(ValueError, match="balance='bounded' fits rows in memory only"):
        BalancingSVC(balance="bounded").fit(rows, labels)
    with pytest.raises(ValueError, match="leverage needs rows in memory"):
        TruncatedLogisticRegression(leverage="hat").fit(rows, labels)
    with pytest.raises(ValueError, match=r"loss=Psi\(\) cannot be fitted .* on rows outside memory.*in memory"):
        MarginClassifier(loss="psi").fit(rows, labels)


def test_a_fit_of_chunks_forgets_what_an_earlier_one_said_of_its_rows(tmp_path):
    X, y, weight = draw()
    model = TruncatedLogisticRegression(C=0.1, scheme=None).fit(X, y)
    assert len(model.outliers_) == ROWS
    model.fit(*from_arrays(tmp_path, X, y, weight))
    assert not hasattr(model, "outliers_")
    assert not hasattr(model, "sample_trust_")

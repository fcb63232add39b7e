"""Dask collections are fitted where they are; a worker that dies in the middle changes nothing."""

import os
import signal

import numpy as np
import pytest
from sklearn.base import clone

from softmargin import MarginClassifier, RobustSVC, RuleBoostClassifier, chunks

da = pytest.importorskip("dask.array")


def draw(n=3000, p=4):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, p))
    return X, np.where(X[:, 0] - X[:, 1] + rng.logistic(size=n) > 0, "b", "a"), 1 + rng.random(n)


def lazy(*arrays, rows=700):
    return [da.from_array(array, chunks=(rows, *array.shape[1:])) for array in arrays]


@pytest.mark.parametrize("model", [MarginClassifier(tol=1e-9), MarginClassifier(loss="hinge"), RobustSVC(tol=1e-8)])
def test_arrays_given_to_fit_are_fitted_where_they_are(model):
    X, y, weight = draw()
    dX, dy, dw = lazy(X, y, weight)
    whole = type(model)(**model.get_params()).fit(X, y, weight)
    model.fit(dX, dy, dw)
    assert model.solution_.objective == pytest.approx(whole.solution_.objective, rel=4 * model.tol)
    scores = model.decision_function(dX)
    assert isinstance(scores, da.Array)
    np.testing.assert_allclose(scores.compute(), model.decision_function(X), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(dX).compute(), model.predict(X))
    if model.loss == "logistic":  # the others have no link
        np.testing.assert_allclose(model.predict_proba(dX).compute(), model.predict_proba(X), rtol=1e-12)


def test_the_same_rules_are_found_where_the_rows_are():
    X, y, weight = draw()
    X = np.round(3 * X)
    parts = RuleBoostClassifier(n_rules=3).fit(*lazy(X, y, weight))
    whole = RuleBoostClassifier(n_rules=3).fit(X, y, weight)
    assert parts.rule_list_ == whole.rule_list_
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-6)
    np.testing.assert_array_equal(parts.predict(lazy(X)[0]).compute(), whole.predict(X))


def test_frames_keep_their_names():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y, _ = draw()
    frame = pd.DataFrame(X, columns=list("abcd"))
    lazily = dd.from_pandas(frame.assign(y=y), npartitions=4)
    model = MarginClassifier(tol=1e-9).fit(lazily[list("abcd")], lazily["y"])
    whole = MarginClassifier(tol=1e-9).fit(frame, y)
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-4)
    np.testing.assert_array_equal(model.predict(lazily[list("abcd")]).compute(), whole.predict(frame))


def test_chunks_must_match():
    X, y, _ = draw()
    dX, dy = lazy(X, y)
    with pytest.raises(ValueError, match="the same, with rechunk or repartition"):
        MarginClassifier().fit(dX, dy.rechunk(1000))
    with pytest.raises(ValueError, match="must be Dask too"):
        MarginClassifier().fit(dX, y)
    assert chunks.from_dask(dX, dy)[0].shape == X.shape


@pytest.mark.parametrize("model", [MarginClassifier(tol=1e-9), RuleBoostClassifier(n_rules=3)])
def test_a_worker_killed_in_the_middle_of_a_fit_is_survived(model, monkeypatch):
    distributed = pytest.importorskip("distributed")
    X, y, _ = draw()
    X = np.round(3 * X)
    passes = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        rows, labels = chunks.from_dask(*lazy(X, y, rows=600))
        assert rows.shape == X.shape  # one pass: partitions are on the workers
        victim = next(iter(client.run(os.getpid).values()))
        total = type(rows.source).total

        def killing(source, task):
            passes.append(task)
            if len(passes) == (1 if isinstance(model, MarginClassifier) else 5):
                os.kill(victim, signal.SIGKILL)
            return total(source, task)

        monkeypatch.setattr(type(rows.source), "total", killing)
        fitted = clone(model).fit(rows, labels)
    whole = clone(model).fit(X, y)
    assert len(passes) >= 5 or isinstance(model, MarginClassifier)
    np.testing.assert_allclose(fitted.coef_, whole.coef_, atol=1e-4)
    np.testing.assert_array_equal(fitted.predict(X), whole.predict(X))

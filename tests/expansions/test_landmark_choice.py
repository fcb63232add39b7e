"""``n_components="auto"``: the exact kernel of few rows, enough landmarks of many, and what they leave."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

import softmargin
from softmargin import MarginClassifier, chunks, load, save
from softmargin.expansions import Kernel, KernelColumns, build, expand, memory
from softmargin.expansions.landmarks import choice

RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 2))
Y = (np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * RNG.normal(size=900) > 0).astype(int)
RBF = Kernel("rbf", gamma=0.5)
ESTIMATORS = [
    name
    for name in softmargin.__all__
    if "n_components" in getattr(getattr(softmargin, name), "_get_param_names", lambda: ())()
]


@pytest.fixture
def many(monkeypatch):
    """A few hundred rows are many."""
    monkeypatch.setattr(choice, "EXACT_ROWS", 100)
    monkeypatch.setattr(build, "EXACT_ROWS", 100)


def test_few_rows_have_their_exact_kernel():
    assert isinstance(expand(X, RBF, n_components="auto"), KernelColumns)
    model = MarginClassifier(kernel="rbf", n_components="auto").fit(X, Y)
    exact = MarginClassifier(kernel="rbf").fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), exact.decision_function(X))
    assert model.n_components_ == 900
    assert model.landmark_error_ == 0


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("gamma", [0.02, 0.5, 20.0])
def test_the_error_is_the_share_of_the_trace_that_landmarks_leave(gamma):
    found = expand(X, Kernel("rbf", gamma=gamma), n_components="auto", random_state=0)
    K = rbf_kernel(X, gamma=gamma)
    left = float(np.trace(K) - found.diagonal().sum()) / float(np.trace(K))
    assert found.error == pytest.approx(left, rel=0.5, abs=1e-7)
    assert found.shape[1] <= choice.most_landmarks(900)
    if found.shape[1] < choice.most_landmarks(900) - 20:
        assert found.error <= 2 * choice._ENOUGH


@pytest.mark.usefixtures("many")
def test_less_memory_makes_fewer_landmarks_and_a_larger_error(monkeypatch):
    rich = choice.choose_landmarks(X, Kernel("rbf", gamma=20.0), 0)
    monkeypatch.setattr(memory, "available_bytes", lambda: 400_000)
    monkeypatch.setattr(memory, "_SMALL", 0)
    poor = choice.choose_landmarks(X, Kernel("rbf", gamma=20.0), 0)
    assert len(poor.rows) < len(rich.rows)
    assert poor.error > rich.error


@pytest.mark.usefixtures("many")
def test_neither_order_nor_repetition_changes_the_landmarks():
    order = RNG.permutation(900)
    first, shuffled, repeated = (
        choice.choose_landmarks(rows, RBF, 3).rows for rows in (X, X[order], np.repeat(X, 3, axis=0))
    )
    rows = {tuple(row) for row in X[first]}
    assert (
        rows == {tuple(row) for row in X[order][shuffled]} == {tuple(row) for row in np.repeat(X, 3, axis=0)[repeated]}
    )


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_kernel_estimator_chooses_landmarks(name, tmp_path):
    kind = getattr(softmargin, name)
    options = {"kernel": "rbf", "gamma": 0.5, "n_components": "auto"}
    if "random_state" in kind._get_param_names():
        options["random_state"] = 0
    model = kind(**options).fit(X[:300], Y[:300])
    assert model.n_components_ == choice.most_landmarks(300) or model.landmark_error_ <= 2 * choice._ENOUGH
    assert 0 <= model.landmark_error_ < 0.1
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.n_components_ == model.n_components_
    refit = clone(model).set_params(kernel=None).fit(X[:300], Y[:300])
    assert not hasattr(refit, "landmark_error_")
    assert not hasattr(model.set_params(n_components=9).fit(X[:300], Y[:300]), "landmark_error_")


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("kind", ["sparse", "single", "precomputed", "classes", "poly"])
def test_landmarks_of_any_rows(kind):
    options = {"kernel": "rbf", "gamma": 0.5, "n_components": "auto", "random_state": 0}
    rows, labels = X, Y
    if kind == "sparse":
        rows = sparse.csr_array(X)
    elif kind == "single":
        rows = X.astype(np.float32)
    elif kind == "precomputed":
        rows, options["kernel"] = rbf_kernel(X, gamma=0.5), "precomputed"
    elif kind == "poly":
        options |= {"kernel": "poly", "coef0": 1.0}
    else:
        labels = np.digitize(X[:, 0], [-0.5, 0.5])
    model = MarginClassifier(**options).fit(rows, labels)
    assert model.n_components_ < 900
    exact = MarginClassifier(**{**options, "n_components": None}).fit(rows, labels)
    assert model.score(rows, labels) == pytest.approx(exact.score(rows, labels), abs=0.01)


@pytest.mark.usefixtures("many")
def test_integer_weights_are_repeated_rows():
    times = RNG.integers(0, 3, size=900)
    model = MarginClassifier(kernel="rbf", gamma=0.5, n_components="auto", random_state=0, tol=1e-9)
    weighted = clone(model).fit(X, Y, sample_weight=times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(Y, times))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-3)


def test_chunks_choose_among_the_rows_of_their_sample():
    cX, cy = chunks.from_arrays(lambda: ((X[k : k + 300], Y[k : k + 300]) for k in range(0, 900, 300)))
    model = MarginClassifier(kernel="rbf", gamma=0.5, n_components="auto", random_state=0).fit(cX, cy)
    assert model.n_components_ == len(model.support_)
    assert 0 <= model.landmark_error_ < 1e-3
    assert model.score(X, Y) > 0.9


def test_the_refusal_of_all_pairs_names_auto(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 200_000)
    monkeypatch.setattr(memory, "_SMALL", 0)
    with pytest.raises(MemoryError, match='n_components="auto"'):
        MarginClassifier(kernel="rbf").fit(X, Y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_single_precision_draws_the_landmarks_of_the_same_numbers(form):
    rows = X.astype(np.float32)
    model = MarginClassifier(kernel="rbf", n_components=20, random_state=0)
    single = model.fit(form(rows), Y).support_.copy()
    double = model.fit(form(rows.astype(np.float64)), Y).support_
    np.testing.assert_array_equal(single, double)

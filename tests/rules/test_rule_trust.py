"""What a rule model says of itself is true: certificates, refits, odd sizes, weights and columns."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from reference.monomials import best_edge, literal_matrix
from softmargin import RuleBoostClassifier, SeparableWarning, losses
from softmargin.expansions import cover

pd = pytest.importorskip("pandas")


def noisy(n=200, d=4, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(1)
    score = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def edges_left(model, X, y):
    """The gradient of the smoothed risk relative to the weights, from the predictions alone."""
    columns = np.column_stack(
        [np.ones(len(X))] + [2.0 * r.holds(model._prediction_set(X)) - 1 for r in model.rule_list_]
    )
    smoothing = min(30.0, len(X) / 10) if model.smoothing == "auto" else float(model.smoothing)
    scores = model.decision_function(X)
    worst = 0.0
    for k, f in enumerate(scores.T if scores.ndim == 2 else [scores]):
        signs = np.where(y == model.classes_[k if scores.ndim == 2 else 1], 1.0, -1.0)
        slope, coef = model.loss_.slope(signs * f), model.coef_[k]
        gradient = columns.T @ (signs * slope)
        gradient[1:] += smoothing * (model.loss_.slope(coef) - model.loss_.slope(-coef))
        worst = max(worst, np.abs(gradient).max() / np.abs(slope).sum())
    return worst


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["corrective", "single", "cyclic"]),
    st.sampled_from(["logistic", "exponential", "modified_huber", losses.BalancedConvex(losses.Matsushita())]),
    st.sampled_from([0.5, 3.0, "auto"]),
    st.booleans(),
    st.sampled_from([1.0, 0.3]),
    st.sampled_from([2, 3]),
)
def test_converged_means_that_no_edge_is_left(seed, update, loss, smoothing, early, rate, classes):
    X, y = noisy(seed=seed, classes=classes)
    model = RuleBoostClassifier(
        loss, n_rules=6, update=update, smoothing=smoothing, early_stopping=early, learning_rate=rate, random_state=seed
    ).fit(X, y)
    solution = model.solution_
    assert solution.converged == (solution.gap <= model.tol)
    joint = update != "single" and rate == 1
    assert ("step" in solution.certificate) != joint
    if joint and not early:
        assert edges_left(model, X, y) <= 2 * solution.gap + 1e-12
    assert solution.converged
    assert np.all(np.diff(solution.history) <= 1e-9 * np.abs(solution.history[0]))


SETTINGS = [
    {"loss": "logistic"},
    {"loss": "exponential", "update": "single"},
    {"loss": ["logistic", "exponential"], "update": "single", "tuning": "F"},
    {"max_literals": 3, "early_stopping": True, "random_state": 0},
    {"l1": 5.0},
    {"class_weight": "balanced", "fit_intercept": False},
]


@settings(max_examples=8, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(range(len(SETTINGS))), st.integers(2, 3), st.integers(1, 3)), min_size=2, max_size=4
    )
)
def test_a_refit_equals_a_fresh_fit(steps):
    default = RuleBoostClassifier(n_rules=4).get_params()
    model = RuleBoostClassifier()
    for number, classes, kind in steps:
        X, y = noisy(classes=classes, d=3 + kind)
        X = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]) if kind == 2 else X
        X = X.assign(word=np.where(y > 0, "a", "b")) if kind == 2 else X
        weight = np.arange(len(y)) % 3 if kind == 3 else None
        model.set_params(**default | SETTINGS[number]).fit(X, y, sample_weight=weight)
        fresh = RuleBoostClassifier(**default | SETTINGS[number]).fit(X, y, sample_weight=weight)
        assert set(vars(model)) == set(vars(fresh))
        assert model.rule_list_ == fresh.rule_list_
        for name in ("coef_", "intercept_", "edges_", "rule_support_", "rule_precision_", "classes_"):
            np.testing.assert_array_equal(getattr(model, name), getattr(fresh, name), err_msg=name)
        np.testing.assert_array_equal(model.predict_proba(X), fresh.predict_proba(X))


@pytest.mark.parametrize("search", ["beam", "exact", "exhaustive"])
@pytest.mark.parametrize("loss", ["logistic", losses.LeastSquares(), losses.BalancedConvex(losses.Gini())])
def test_an_exclusive_or_is_learnt_in_two_rules(search, loss):
    X = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)] * 10)
    y = (X[:, 0] != X[:, 1]).astype(int)
    for order in (slice(None), slice(None, None, -1)):
        model = RuleBoostClassifier(loss, n_rules=4, search=search).fit(X[order], y[order])
        assert model.score(X, y) == 1


@pytest.mark.parametrize("loss", [losses.LeastSquares(), losses.BalancedConvex(losses.Gini()), "modified_huber"])
def test_an_exact_search_stops_only_where_no_rule_has_an_edge(loss):
    X, y = noisy(40)
    X = X[:, :2].round()
    model = RuleBoostClassifier(loss, n_rules=500, search="exact", smoothing=0, min_edge=1e-4).fit(X, y)
    assert model.solution_.status == "min_edge"
    signs = np.where(y == 1, 1.0, -1.0)
    g = -signs * model.loss_.slope(signs * model.decision_function(X))
    assert best_edge(literal_matrix(list(X.T)), g[:, None], 2) <= 1.01e-4 * np.abs(g).sum()


@pytest.mark.parametrize("place", [0, 1, 2, 5])
def test_constant_and_empty_columns_never_change_the_model(place):
    X, y = noisy(150, d=5)
    base = RuleBoostClassifier(n_rules=8, n_jobs=1).fit(X, y)
    for silent in (1.0, np.nan, -1e300):
        wide = np.insert(X, place, silent, axis=1)
        model = RuleBoostClassifier(n_rules=8, n_jobs=1).fit(wide, y)
        np.testing.assert_array_equal(model.coef_, base.coef_)
        np.testing.assert_array_equal(model.decision_function(wide), base.decision_function(X))
        assert np.all(model.edges_ <= 1)


@pytest.mark.parametrize("n", [2, 3])
def test_two_or_three_rows_are_enough_and_one_class_is_refused(n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = RuleBoostClassifier().fit(X, np.arange(n)).predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(p.argmax(axis=1), np.arange(n))
    for y in (np.ones(n), np.full(n, "a")):
        with pytest.raises(ValueError, match="one class only"):
            RuleBoostClassifier().fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        RuleBoostClassifier().fit(X, np.arange(n), sample_weight=np.eye(n)[0])


@pytest.mark.parametrize("scale", [1e-90, 1e-9, 1e9, 1e30, 1e90])
def test_weights_of_any_size_give_a_finite_model_with_a_true_certificate(scale):
    X, y = noisy(100)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = RuleBoostClassifier(n_rules=10).fit(X, y, sample_weight=np.full(100, scale) * 0.01)
    assert np.isfinite(model.coef_).all()
    assert model.solution_.converged or any(issubclass(w.category, ConvergenceWarning) for w in seen)
    assert all(issubclass(w.category, (ConvergenceWarning, SeparableWarning)) for w in seen)
    with pytest.raises(ValueError, match="divide the weights"):
        RuleBoostClassifier().fit(X, y, sample_weight=np.full(100, 1e307))


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, np.float32, np.longdouble, object])
def test_numbers_of_every_type_are_read_alike(dtype):
    X, y = noisy()
    X = np.abs(10 * X).round()
    base = RuleBoostClassifier(n_rules=5).fit(X, y)
    model = RuleBoostClassifier(n_rules=5).fit(X.astype(dtype), y)
    np.testing.assert_array_equal(model.decision_function(X.astype(dtype)), base.decision_function(X))


def test_frames_of_every_kind_are_read_alike():
    X, y = noisy()
    whole = np.abs(10 * X[:, :2]).round().astype(int)
    flag, word = X[:, 2] > 0, np.where(X[:, 3] > 0, "up", "down")
    frame = pd.DataFrame({"a": whole[:, 0], "b": whole[:, 1], "flag": flag, "word": word})
    base = RuleBoostClassifier(n_rules=6).fit(frame, y)
    others = [
        frame.astype({"a": "Int64", "b": "Float64", "flag": "boolean", "word": "string"}),
        frame.astype({"a": "UInt8", "b": object, "flag": object, "word": "category"}),
        frame.astype({"flag": "category"}),
        frame.convert_dtypes(),
    ]
    for other in others:
        model = RuleBoostClassifier(n_rules=6).fit(other, y)
        np.testing.assert_array_equal(model.decision_function(other), base.decision_function(frame))
    pl = pytest.importorskip("polars")
    polar = pl.from_pandas(frame)
    for other in (polar, polar.with_columns(pl.col("word").cast(pl.Categorical), pl.col("a").cast(pl.UInt16))):
        model = RuleBoostClassifier(n_rules=6).fit(other, y)
        np.testing.assert_array_equal(model.decision_function(other), base.decision_function(frame))


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinity_is_refused_and_not_a_number_is_missing(bad):
    X, y = noisy(60)
    X[3, 1] = np.nan
    model = RuleBoostClassifier(n_rules=5).fit(X, y)
    assert cover(model.rule_list_, model._prediction_set(X)).shape == (60, len(model.rule_list_))
    X[4, 1] = bad
    with pytest.raises(ValueError, match="infinity"):
        RuleBoostClassifier().fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(X)
    with pytest.raises(ValueError, match="infinity"):
        RuleBoostClassifier().fit(pd.DataFrame(X, columns=list("abcd")).assign(word="a"), y)

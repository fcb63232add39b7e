"""What every exported classifier promises, whatever it fits: one set of claims for all of them.

Estimators are found in ``softmargin.__all__``, so a new one is tested here the moment it is exported. Each claim is a
relation between two fits (rows repeated, moved, renamed, rescaled) or between two answers of one fit.
"""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import softmargin

# labels drawn at random say nothing, and a classifier may say so
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{said}:UserWarning")
    for said in (
        "The fitted score is constant",
        "The constant classifier has a lower objective",
        ".* gives up every row of one class",
        "the left-out scores do not rise",
    )
] + [pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning:sklearn")]

CLASSIFIERS = {
    name: value
    for name, value in ((name, getattr(softmargin, name)) for name in softmargin.__all__)
    if isinstance(value, type) and issubclass(value, ClassifierMixin)
}
META = {name for name, cls in CLASSIFIERS.items() if "estimator" in cls.__init__.__annotations__}
# Folds and leave-one-out depend on the number and order of rows, so refits are compared with nothing left to choose.
WITHOUT_FOLDS = {
    "AutoClassifier": {"time_limit": 1e-9},  # its first machine, which leave-one-out judges
    "RuleBoostClassifier": {"n_rules": 100},
    "ScoreCalibrator": {"method": "sollich"},
    "TunedClassifier": {"grid": {"C": [1.0]}},
}
SMALL = {"AutoClassifier": {"time_limit": 1e-9}, "RuleBoostClassifier": {"n_rules": 5}}  # for a hundred fits
TIGHT = {"tol": 1e-9, "max_iter": 10_000}
REACHED = {"AdditiveKernelClassifier": {"tol": 1e-6}}  # weights of components have no more digits than half of a double
LABELS = np.array(["no", "yes"])


def make(name, limits=None, **params):
    """The estimator at its defaults (a meta-estimator around a plain one), to a tight tolerance where it has one."""
    cls = CLASSIFIERS[name]
    estimator = cls(softmargin.MarginClassifier(tol=1e-9)) if name in META else cls()
    known = estimator.get_params(deep=False)
    cheap = {"random_state": 0, "effort": "fast"}
    wanted = (limits or TIGHT | REACHED.get(name, {})) | cheap
    settings = {key: value for key, value in wanted.items() if key in known}
    return estimator.set_params(**settings, **params)


def kernelised():
    return [name for name, cls in CLASSIFIERS.items() if name not in META and "kernel" in cls().get_params(deep=False)]


VARIANTS = [(name, {}) for name in CLASSIFIERS] + [(name, {"kernel": "rbf", "gamma": 0.3}) for name in kernelised()]
every_variant = pytest.mark.parametrize(
    ("name", "params"), VARIANTS, ids=[f"{name}{'-' + params['kernel'] if params else ''}" for name, params in VARIANTS]
)
every_classifier = pytest.mark.parametrize("name", list(CLASSIFIERS))


def two_classes(n=70, p=4, seed=0):
    """Overlapping classes, so that no fit is separable, with string labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = LABELS[(X[:, 0] - 0.5 * X[:, 1] + 0.9 * rng.normal(size=n) > 0).astype(int)]
    return X, y


def three_classes(n=90, seed=1):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 3
    X = rng.normal(size=(n, 3)) + 1.5 * np.eye(3)[codes]
    return X, np.array(["a", "b", "c"])[codes]


def scores(model, X):
    return np.asarray(model.decision_function(X), dtype=float)


def same(first, second, tolerance=2e-5):
    """Equal up to the solver's tolerance, relative to the spread of the scores."""
    scale = max(1.0, float(np.abs(first).max()))
    np.testing.assert_allclose(second, first, atol=tolerance * scale, rtol=0)


def no_folds(name):
    return WITHOUT_FOLDS.get(name, {})


@every_classifier
def test_passes_scikit_learns_own_checks(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", category=sklearn.exceptions.SkipTestWarning)
        params = SMALL.get(name, no_folds(name) if name in META else {})
        estimator = CLASSIFIERS[name](softmargin.MarginClassifier()) if name in META else CLASSIFIERS[name]()
        check_estimator(estimator.set_params(**params))


@every_variant
def test_probabilities_agree_with_labels(name, params):
    for X, y in (two_classes(), three_classes()):
        model = make(name, **params).fit(X, y)
        assert list(model.classes_) == sorted(set(y))
        f = scores(model, X)
        codes = (f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)
        np.testing.assert_array_equal(model.predict(X), model.classes_[codes])
        if hasattr(model, "predict_proba"):
            p = model.predict_proba(X)
            assert p.shape == (len(y), len(model.classes_))
            assert p.min() >= 0
            np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
            np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
        assert model.score(X, y) > 0.6


@every_variant
def test_integer_weights_equal_repeated_rows(name, params):
    X, y = two_classes()
    times = np.random.default_rng(2).integers(1, 4, size=len(y))
    params = params | no_folds(name)
    weighted = make(name, **params).fit(X, y, sample_weight=times)
    repeated = make(name, **params).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    same(scores(repeated, X), scores(weighted, X))


@every_variant
def test_zero_weight_equals_no_row(name, params):
    X, y = two_classes()
    weight = np.random.default_rng(3).choice([0.0, 1.0, 0.5], size=len(y))
    X_wild = np.where(weight[:, None] == 0, 50.0, X)
    params = params | no_folds(name)
    weighted = make(name, **params).fit(X_wild, y, sample_weight=weight)
    kept = make(name, **params).fit(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    same(scores(kept, X), scores(weighted, X))


@every_variant
def test_row_order_does_not_matter(name, params):
    X, y = two_classes()
    order = np.random.default_rng(4).permutation(len(y))
    params = params | no_folds(name)
    same(scores(make(name, **params).fit(X, y), X), scores(make(name, **params).fit(X[order], y[order]), X))


@every_variant
def test_labels_are_only_names(name, params):
    X, y = two_classes()
    reference = make(name, **params).fit(X, y)
    for names in (np.array([False, True]), np.array([-1, 1]), np.array([7, 70]), np.array(["a", "b"], dtype=object)):
        renamed = make(name, **params).fit(X, names[(y == "yes").astype(int)])
        assert renamed.classes_.dtype == names.dtype
        same(scores(reference, X), scores(renamed, X), 1e-12)


@every_variant
def test_swapped_classes_swap_the_scores(name, params):
    X, y = two_classes()
    model = make(name, **params).fit(X, y)
    swapped = make(name, **params).fit(X, np.where(y == "yes", "a-yes", "no"))
    same(-scores(model, X), scores(swapped, X), 1e-4)


@every_classifier
def test_data_frames_are_accepted_and_named(name):
    X, y = two_classes()
    columns = list("abcd")
    reference = make(name).fit(X, y)
    for frame in (pd.DataFrame(X, columns=columns), pl.DataFrame(X, schema=columns)):
        model = make(name).fit(frame, y)
        assert list(model.feature_names_in_) == columns
        same(scores(reference, X), scores(model, frame), 1e-12)


@every_variant
def test_sparse_and_dense_rows_give_the_same_fit(name, params):
    X, y = two_classes()
    X = np.where(np.abs(X) < 0.4, 0.0, X)
    if not get_tags(make(name, **params)).input_tags.sparse:
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            make(name, **params).fit(sparse.csr_array(X), y)
        return
    reference = make(name, **params).fit(X, y)
    for kind in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix):
        model = make(name, **params).fit(kind(X), y)
        same(scores(reference, X), scores(model, kind(X)))


@every_variant
def test_single_precision_is_close_to_double(name, params):
    X, y = two_classes()
    X = X.astype(np.float32)
    reference = make(name, **params).fit(X.astype(np.float64), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # tol=1e-9 is out of reach of float32
        model = make(name, **params).fit(X, y)
    same(scores(reference, X.astype(np.float64)), scores(model, X), 5e-3)


@pytest.mark.parametrize("kernel", [None, "linear", "poly", "rbf"])
@pytest.mark.parametrize("name", kernelised())
def test_single_precision_keeps_the_scores_of_terms_that_cancel(name, kernel):
    """Far from the origin the terms of an unbounded kernel are a million times the score that they add up to."""
    X, y = two_classes()
    X = (X + (100 if kernel == "poly" else 1000)).astype(np.float32)  # further off, machines are refused
    limits = {"tol": 1e-4}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        reference = make(name, limits, kernel=kernel).fit(X.astype(np.float64), y)
        model = make(name, limits, kernel=kernel).fit(X, y)
    wide = scores(reference, X.astype(np.float64))
    size = float(np.abs(wide).max())
    for narrow in (scores(model, X), scores(reference, X)):  # fitted in single precision, or only asked in it
        np.testing.assert_allclose(narrow, wide, atol=0.01 * size, rtol=0)


@every_variant
def test_a_fitted_model_survives_a_pickle(name, params):
    X, y = two_classes()
    model = make(name, **params).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(scores(model, X), scores(again, X))
    fresh = clone(model)
    assert not hasattr(fresh, "classes_")
    np.testing.assert_array_equal(scores(model, X), scores(fresh.fit(X, y), X))


@every_classifier
def test_works_in_a_pipeline_a_grid_and_cross_validation(name):
    X, y = two_classes()
    model = make(name)
    pipeline = make_pipeline(StandardScaler(), model)
    key = next((key for key in model.get_params() if key in ("C", "estimator__C", "n_rules")), None)
    grid = {} if key is None else {f"{type(model).__name__.lower()}__{key}": [1, 10]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.55
    method = "predict_proba" if hasattr(search.best_estimator_, "predict_proba") else "decision_function"
    assert len(cross_val_predict(search.best_estimator_, X, y, cv=3, method=method)) == len(y)


@every_classifier
def test_sample_weights_are_routed(name):
    X, y = two_classes()
    weight = np.random.default_rng(5).uniform(0.5, 2, size=len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = make(name).set_fit_request(sample_weight=True)
        if name in META:
            model.estimator.set_fit_request(sample_weight=True)
        routed = make_pipeline(FunctionTransformer(), model).fit(X, y, sample_weight=weight)
    same(scores(make(name).fit(X, y, sample_weight=weight), X), scores(routed, X), 1e-9)


@every_classifier
def test_diagrams_link_to_the_reference(name, monkeypatch):
    monkeypatch.delenv("SOFTMARGIN_DOCS", raising=False)
    assert "sklearn" not in make(name)._get_doc_link()
    monkeypatch.setenv("SOFTMARGIN_DOCS", "https://docs.example/")
    assert make(name)._get_doc_link() == f"https://docs.example/generated/softmargin.{name}.html"
    assert f"softmargin.{name}.html" in make(name)._repr_html_()


@every_variant
def test_two_rows_are_enough(name, params):
    X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array(["no", "yes"])
    if name in META and not no_folds(name):
        pytest.skip("cross-validation needs more rows")
    params = params | no_folds(name)
    if name == "ScoreCalibrator":
        params |= {"cv": "prefit", "estimator": softmargin.MarginClassifier().fit(X, y)}
    model = make(name, **params).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)


@every_variant
def test_contradicting_duplicates_and_constant_columns_are_harmless(name, params):
    X, y = two_classes(40)
    X = np.column_stack([X, np.full(len(X), 3.0), np.zeros(len(X))])
    flipped = np.where((np.arange(len(y)) < 8) ^ (y == "yes"), "yes", "no")
    X, y = np.vstack([X, X]), np.concatenate([y, flipped])
    model = make(name, **params).fit(X, y)
    assert np.isfinite(scores(model, X)).all()
    assert model.score(X, y) > 0.6


@every_variant
@pytest.mark.parametrize("scale", [1e8, 1e-8])
def test_huge_and_tiny_features_stay_finite(name, params, scale):
    X, y = two_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        params = params | ({"gamma": "scale"} if "gamma" in params else {})
        model = make(name, limits={"max_iter": 100}, **params).fit(X * scale, y)
        f = scores(model, X * scale)
    assert np.isfinite(f).all()
    assert set(model.predict(X * scale)) <= set(y)
    if hasattr(model, "predict_proba"):
        assert np.isfinite(model.predict_proba(X * scale)).all()


@every_classifier
@pytest.mark.parametrize(
    ("weight", "named"),
    [(np.zeros(70), "weight"), (-np.ones(70), "weight"), (np.full(70, np.nan), "weight|NaN"), (np.ones(3), "weight")],
    ids=["all zero", "negative", "NaN", "wrong length"],
)
def test_bad_weights_are_refused(name, weight, named):
    X, y = two_classes()
    with pytest.raises(ValueError, match=named):
        make(name).fit(X, y, sample_weight=weight)


@every_classifier
def test_one_class_is_refused(name):
    X, y = two_classes()
    with pytest.raises(ValueError, match="class"):
        make(name).fit(X, np.full(len(y), "no"))
    weight = (y == "no").astype(float)
    with pytest.raises(ValueError, match="class"):
        make(name).fit(X, y, sample_weight=weight)


@every_classifier
def test_parameters_out_of_range_are_named(name):
    X, y = two_classes()
    bad = {"C": (0.0, -1.0, np.nan), "tol": (0.0, -1.0), "max_iter": (0,), "l1_ratio": (-0.1, 1.5)}
    known = make(name).get_params(deep=False)
    for key, values in bad.items():
        for value in values if key in known else ():
            with pytest.raises(ValueError, match=key):
                make(name).set_params(**{key: value}).fit(X, y)

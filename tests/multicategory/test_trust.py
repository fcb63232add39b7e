"""Simultaneous classifiers on data that break certificates: offsets, scales, few rows, many classes; interrupts."""

import signal
import threading
import time
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from softmargin import (
    CompositeLeastSquaresClassifier,
    CompositeMarginClassifier,
    MulticategorySVC,
    TruncatedSoftmaxClassifier,
)
from softmargin.losses.multiclass import HINGES

pytestmark = pytest.mark.filterwarnings('ignore:method="naive"')

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 3)), np.arange(30) % 3
DATA = {
    "zeros, more columns than rows": (np.zeros((5, 8)), np.arange(5) % 3),
    "zeros": (np.zeros((9, 2)), np.arange(9) % 3),
    "two rows": (RNG.normal(size=(2, 3)), np.arange(2)),
    "a row per class": (RNG.normal(size=(12, 3)), np.arange(12)),
    "constant columns": (np.c_[np.ones(30), X[:, :1], 7 * np.ones(30), X[:, 1:], -3 * np.ones(30)], Y),
    "repeated columns": (np.c_[X, X], Y),
    "offset 1e5": (X + 1e5, Y),
    "offset 1e7, wide": (RNG.normal(size=(6, 38)) + 1e7, np.arange(6) % 3),
    "offset 1e9, wide": (RNG.normal(size=(6, 38)) + 1e9, np.arange(6) % 3),
    "offset 1e9": (X + 1e9, Y),
    "tiny": (X * 1e-6, Y),
    "vanishing": (X * 1e-160, Y),
}
MODELS = [
    *(CompositeLeastSquaresClassifier(mix=mix) for mix in (0.0, 0.5, 0.8, 1.0)),
    CompositeLeastSquaresClassifier(mix="auto", C="auto", Cs=4),
    *(MulticategorySVC(method) for method in HINGES),
    CompositeMarginClassifier(),
    CompositeMarginClassifier("exponential", mix=0.2),
    TruncatedSoftmaxClassifier(),
]


def checked(model, X, y):
    """Fit, and hold the fit to what every certificate promises."""
    solution = model.fit(X, y).solution_
    assert np.isfinite(solution.gap)
    assert np.isfinite(solution.coef).all()
    assert np.isfinite(model.decision_function(X)).all()
    assert not solution.converged or solution.gap <= getattr(model, "tol", 1e-6)
    return solution


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_awkward_data_with_a_free_intercept_are_certified(model, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", 'method="naive"')
        assert checked(model, *DATA[name]).converged


@pytest.mark.parametrize("intercept", [{"penalize_intercept": True}, {"fit_intercept": False}])
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_awkward_data_are_certified_or_warned_about_or_refused(model, name, intercept):
    """Without a free intercept an offset of 1e9 leaves no digits for the rest: how few depends on the machine."""
    model = model.__class__(**(model.get_params() | intercept))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            solution = checked(model, *DATA[name])
        except ValueError as error:
            assert name.startswith("offset")
            assert "scale the features" in str(error)  # noqa: PT017
            return
    assert solution.converged or any(issubclass(one.category, ConvergenceWarning) for one in seen)


@pytest.mark.parametrize("size", [1e40, 1e160])
@pytest.mark.parametrize("model", MODELS[:4] + MODELS[5:], ids=str)
def test_hopeless_scales_are_refused(model, size):
    with pytest.raises(ValueError, match="Standardise the columns"):
        model.fit(X * size, Y)


@pytest.mark.parametrize(
    ("method", "classes", "seed", "C"),
    [
        ("reinforced", 2, 18, 1.0),
        ("weston_watkins", 2, 4, 0.1),
        ("weston_watkins", 4, 12, 0.0254),
        ("crammer_singer", 4, 16, 0.0162),
        ("lee_lin_wahba", 3, 5, 0.02),
    ],
)
def test_every_route_chooses_the_same_of_many_intercepts(method, classes, seed, C):
    rng = np.random.default_rng(seed)
    data, order = rng.normal(size=(11, 3)), rng.permutation(11)
    y = np.r_[np.arange(classes), rng.integers(0, classes, 11 - classes)]
    model = MulticategorySVC(method, C=C, tol=1e-9, max_iter=100_000)
    scores = model.fit(data, y).decision_function(data)
    others = [
        model.fit(data[order], y[order]).decision_function(data),
        model.fit(sparse.csr_array(data), y).decision_function(data),
        model.set_params(kernel="linear").fit(data, y).decision_function(data),
    ]
    for other in others:
        np.testing.assert_allclose(other, scores, atol=1e-5)


def test_wide_rows_of_large_numbers_are_certified():
    rng = np.random.default_rng(0)
    data = 5e3 * rng.lognormal(size=(40, 900))
    assert checked(CompositeLeastSquaresClassifier(), data, np.arange(40) % 3).converged


@pytest.mark.filterwarnings("ignore:The number of unique classes is greater")
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_two_hundred_classes(kernel):
    y = np.r_[np.arange(200), RNG.integers(0, 200, 40)]
    data = RNG.normal(size=(240, 4))
    for model in (
        CompositeLeastSquaresClassifier(mix=0.8, kernel=kernel),
        MulticategorySVC("reinforced", kernel=kernel),
    ):
        assert checked(model, data, y).converged


@pytest.mark.parametrize(
    "model",
    [
        MulticategorySVC("weston_watkins", C=1e4, max_iter=10**6, tol=1e-12),
        MulticategorySVC("crammer_singer", kernel="rbf", C=1e6, max_iter=10**6, tol=1e-13),
        CompositeMarginClassifier(kernel="rbf", C=1e3, tol=1e-14, max_iter=10**6),
        TruncatedSoftmaxClassifier(kernel="rbf", C=1e3, tol=1e-14, max_iter=10**6),
    ],
    ids=str,
)
def test_interrupts_are_served(model):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 5, 1500)
    data = rng.normal(size=(1500, 30))
    main = threading.main_thread().ident
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    began = time.process_time()

    def fit_for_ever():
        while True:  # a fit that ends early is made again
            model.fit(data, y)

    timer.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(KeyboardInterrupt):
            fit_for_ever()
    assert time.process_time() - began < 10  # a loop that never looks would take minutes


@pytest.mark.parametrize("seed", [0, 3])
def test_the_rows_that_a_truncated_softmax_keeps_do_not_hang_on_whether_rows_repeat_or_have_weights(seed):
    rng = np.random.default_rng(seed)
    y, X = rng.integers(3, size=400), rng.normal(size=(400, 2))
    X += np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[y]
    times = rng.integers(2, 4, size=400)  # as rows they are more than a thousand
    weighted = TruncatedSoftmaxClassifier(kernel="rbf", C=30.0, level=1.0)
    repeated = clone(weighted).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    weighted.fit(X, y, sample_weight=times)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)

"""BLAS threads: one inside small fits, as many as before afterwards, in whatever order threads enter and leave."""

import threading

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from threadpoolctl import threadpool_info, threadpool_limits

from softmargin import MarginClassifier, ScoreCalibrator, TunedClassifier, paths
from softmargin._threads import in_threads, one_blas_thread
from softmargin.paths.exact.tracer import Tracer
from softmargin.tuning._judges import PathJudge


def blas_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS has one thread only")
        yield


@pytest.mark.usefixtures("two_threads")
def test_blocks_nest_and_restore_even_after_an_error():
    with one_blas_thread():
        assert blas_threads() == {1}
        with pytest.raises(RuntimeError), one_blas_thread(10, 10):
            raise RuntimeError
        assert blas_threads() == {1}
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_threads")
def test_large_products_keep_their_threads():
    with one_blas_thread(1e5, 1e4):
        assert blas_threads() == {2}


def test_blocks_of_several_threads_overlap_in_any_order_and_restore():
    before = blas_threads()
    first_in, second_in = threading.Event(), threading.Event()
    seen = []

    def first():
        with one_blas_thread():
            first_in.set()
            second_in.wait(10)
            seen.append(blas_threads())

    def second():
        first_in.wait(10)
        with one_blas_thread():
            second_in.set()
            one.join(10)

    one, two = threading.Thread(target=first), threading.Thread(target=second)
    one.start()
    two.start()
    two.join(10)
    assert seen == [{1}]
    assert blas_threads() == before


@pytest.mark.usefixtures("two_threads")
def test_a_small_fit_runs_on_one_thread():
    seen = []

    def kernel(A, B):
        seen.append(blas_threads())
        return A @ B.T

    X = np.random.default_rng(0).normal(size=(30, 2))
    MarginClassifier(kernel=kernel).fit(X, X[:, 0] > 0)
    assert {1} in seen
    assert blas_threads() == {2}


class Watched(ClassifierMixin, BaseEstimator):
    """A classifier that notes how many threads its products may use."""

    def fit(self, X, y):
        self.classes_, self.seen_ = np.unique(y), blas_threads()
        return self

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


@pytest.mark.usefixtures("two_threads")
def test_whatever_a_fit_does_beside_solving_runs_on_one_thread_too():
    """Judging candidates, calibrating, following a path and scoring rows: as many small products as fits make."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = X[:, 0] > 0
    assert ScoreCalibrator(Watched(), cv=3).fit(X, y).estimator_.seen_ == {1}
    seen = []

    def kernel(A, B):
        seen.append(blas_threads())
        return A @ B.T

    model = MarginClassifier(kernel=kernel).fit(X, y)
    seen.clear()
    model.decision_function(X)
    assert seen[-1] == {1}
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_threads")
def test_candidates_and_paths_are_followed_on_one_thread(monkeypatch):
    seen = []

    def noting(function):
        def call(*arguments, **options):
            seen.append(blas_threads())
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(Tracer, "__init__", noting(Tracer.__init__))
    monkeypatch.setattr(PathJudge, "_summary", staticmethod(noting(PathJudge._summary)))
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = X[:, 0] + X[:, 1] ** 2 > 0.5
    paths.weight_path(X, y, kernel="rbf")
    assert seen
    assert all(one == {1} for one in seen)
    before = len(seen)
    TunedClassifier(MarginClassifier(), grid=3, criterion="cv").fit(X, y)
    assert len(seen) > before
    assert all(one == {1} for one in seen)
    assert blas_threads() == {2}


def test_tasks_run_on_threads_in_order():
    assert in_threads(lambda i: i * i, range(5), 2) == [0, 1, 4, 9, 16]

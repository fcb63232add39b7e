"""A refitted estimator is a fresh one: nothing of an earlier fit answers for the next."""

import dataclasses
import inspect
import pickle
import sys
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from estimators.catalogue import CLASSIFIERS, DATA, META, binary, make, settings

every_classifier = pytest.mark.parametrize("name", list(CLASSIFIERS))


def public(model):
    """Every fitted attribute a user can read, by name."""
    names = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def same(first, second, where):
    """Raise where two fitted values differ in anything."""
    if first is second:  # modules and functions that both refer to
        return
    assert type(first) is type(second), where
    if isinstance(first, BaseEstimator):
        same(first.get_params(deep=False), second.get_params(deep=False), f"{where} parameters")
        same(public(first), public(second), where)
    elif dataclasses.is_dataclass(first):
        for field in dataclasses.fields(first):
            same(getattr(first, field.name), getattr(second, field.name), f"{where}.{field.name}")
    elif isinstance(first, dict):
        assert first.keys() == second.keys(), where
        for key in first:
            same(first[key], second[key], f"{where}[{key!r}]")
    elif isinstance(first, (list, tuple)):
        assert len(first) == len(second), where
        for k, pair in enumerate(zip(first, second, strict=True)):
            same(*pair, f"{where}[{k}]")
    elif isinstance(first, pd.DataFrame):
        timed = [name for name in first if name == "seconds"]
        pd.testing.assert_frame_equal(first.drop(columns=timed), second.drop(columns=timed))
    elif sparse.issparse(first):
        np.testing.assert_array_equal(first.toarray(), second.toarray(), err_msg=where)
    elif isinstance(first, (np.ndarray, np.generic, float)):
        np.testing.assert_array_equal(first, second, err_msg=where)
    elif isinstance(first, (str, int, type(None))):
        assert first == second, where
    elif hasattr(first, "__dict__"):
        same(vars(first), vars(second), where)


def fitted(model, data):
    X, y, weight = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some combinations are meant to be hard
        model.fit(X, y) if weight is None else model.fit(X, y, sample_weight=weight)
    return model


@every_classifier
@pytest.mark.parametrize("seed", range(4))
def test_any_sequence_of_fits_ends_like_a_fresh_one(name, seed):
    random = np.random.default_rng([seed, len(name)])
    model, changes = make(name), settings(name)
    for _ in range(3):
        change = changes[random.integers(len(changes))]
        data = DATA[random.integers(len(DATA))]()
        model.set_params(**change)
        try:
            fitted(model, data)
        except ValueError:  # a combination that is refused is refused afresh too
            with pytest.raises(ValueError):
                fitted(make(name).set_params(**model.get_params(deep=False)), data)
            continue
        fresh = fitted(make(name).set_params(**model.get_params(deep=False)), data)
        same(fresh, model, name)
        X = data[0]
        for method in ("predict", "decision_function", "predict_proba"):
            assert hasattr(model, method) == hasattr(fresh, method)
            if hasattr(model, method):
                np.testing.assert_array_equal(getattr(model, method)(X), getattr(fresh, method)(X), err_msg=method)


def interrupted(model, X, y, share):
    """Fit, and be interrupted after a share of the Python calls that a whole fit makes."""
    calls, last = 0, np.inf

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"
        if calls > last:
            sys.setprofile(None)
            raise KeyboardInterrupt

    for _ in range(2):  # the first fit fills caches
        fresh, calls = clone(model), 0
        sys.setprofile(count)
        try:
            fitted(fresh, (X, y, None))
        finally:
            sys.setprofile(None)
    calls, last = 0, share * calls
    sys.setprofile(count)
    try:
        fitted(model, (X, y, None))
    finally:
        sys.setprofile(None)


FAILURES = {
    "one class": lambda model, X, y: model.fit(X, 0 * y),
    "negative weights": lambda model, X, y: model.fit(X, y, sample_weight=-np.ones(len(y))),
    "no weight": lambda model, X, y: model.fit(X, y, sample_weight=np.zeros(len(y))),
    "infinite weights": lambda model, X, y: model.fit(X, y, sample_weight=np.full(len(y), np.inf)),
    "a number for each row": lambda model, X, y: model.fit(X, X[:, 0]),
    "no labels": lambda model, X, y: model.fit(X, None),
    "labels of other rows": lambda model, X, y: model.fit(X, y[:-1]),
    "infinite features": lambda model, X, y: model.fit(np.where(X > 1, np.inf, X), y),
    "features beyond squares": lambda model, X, y: fitted(model, (X * 1e160, y, None)),
    "a parameter": lambda model, X, y: wrong(model).fit(X, y),
    "interrupted early": lambda model, X, y: interrupted(model, X, y, 0.2),
    "interrupted late": lambda model, X, y: interrupted(model, X, y, 0.8),
}
MAY_SUCCEED = {"features beyond squares"}


def wrong(model):
    """The model with a value that its first parameter cannot have."""
    return model.set_params(**{next(iter(model.get_params(deep=False))): -1})


def calls_of(model, X, y):
    """Every public method that reads a fit, as a call without arguments."""
    given = {"X": X, "y": y, "row": 0, "table": "t", "dialect": "sqlite"}
    settled = {name for name in dir(BaseEstimator) if not name.startswith("_")} | {"fit", "set_callbacks"}
    for name in dir(model):
        method = inspect.getattr_static(type(model), name, None)
        free = isinstance(method, (classmethod, staticmethod)) or name == "fisher_consistent_region"
        if free or name.startswith("_") or name in settled or name.endswith("_request"):
            continue
        if callable(getattr(model, name, None)):
            needed = [p for p in inspect.signature(getattr(model, name)).parameters.values() if p.default is p.empty]
            named = [p.name for p in needed if p.kind is not p.VAR_KEYWORD]
            yield partial(getattr(model, name), **{key: given[key] for key in named})


@every_classifier
@pytest.mark.parametrize("refit", [False, True], ids=["first fit", "refit"])
@pytest.mark.parametrize("failure", FAILURES)
def test_after_a_failed_fit_an_estimator_is_not_fitted(name, failure, refit):
    X, y, _ = binary()
    model = make(name)
    params = model.get_params(deep=False)
    if refit:
        fitted(model, (X, y, None))
    try:
        FAILURES[failure](model, X, y)
    except (KeyboardInterrupt, ValueError, TypeError):
        pass
    else:
        assert failure in MAY_SUCCEED
        return
    model.set_params(**params)
    assert not public(model)
    assert vars(model).keys() == vars(make(name)).keys()
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    for call in calls_of(model, X, y):
        with pytest.raises(NotFittedError):
            call()
    again = fitted(model, (X, y, None))
    same(fitted(make(name), (X, y, None)), again, name)


@every_classifier
def test_a_users_own_attributes_survive(name):
    model = make(name)
    model.note = "mine"
    assert fitted(model, binary()).note == "mine"


# a mixture holds kernels, and a sum of splines is one: their support rows are the model
NOT_LINEAR = {"AutoClassifier", "AdditiveKernelClassifier"}


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name not in META | NOT_LINEAR])
def test_a_pickle_of_a_linear_model_does_not_grow_with_the_rows(name):
    sizes = []
    for n in (300, 2300):  # a truth value for each row would be seen
        model = fitted(make(name), binary(n))
        per_row = sum(
            value.nbytes for key, value in vars(model).items() if key in ("sample_trust_", "outliers_")
        )  # results for users, one number for each of their rows
        sizes.append(len(pickle.dumps(model)) - per_row)
    assert sizes[1] < sizes[0] + 1500


@every_classifier
def test_a_pickled_solution_keeps_its_certificate(name):
    model = fitted(make(name), binary())
    if not hasattr(model, "solution_"):
        pytest.skip("a meta-estimator: its inner classifier has the solution")
    again = pickle.loads(pickle.dumps(model)).solution_
    assert (again.gap, again.objective, again.converged) == (
        model.solution_.gap,
        model.solution_.objective,
        model.solution_.converged,
    )

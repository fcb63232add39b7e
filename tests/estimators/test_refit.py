"""A refitted estimator is a fresh one: nothing of an earlier fit answers for the next."""

import dataclasses
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

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


@every_classifier
def test_a_refused_fit_leaves_no_half_state(name):
    X, y, _ = binary()
    model = fitted(make(name), (X, y, None))
    before = None if name in META else model.decision_function(X)
    with pytest.raises(ValueError):
        model.fit(X, np.zeros(len(y)))
    assert not hasattr(model, "solution_")
    if before is not None:
        np.testing.assert_array_equal(fitted(model, (X, y, None)).decision_function(X), before)


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
    for n in (300, 1200):
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

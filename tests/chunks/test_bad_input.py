"""Sources and settings of chunks that are not meant are refused by name, before a row is read."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from softmargin import BalancingSVC, MulticategorySVC, ScoreCalibrator, TunedClassifier, audit_labels, chunks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = (X[:, 0] + RNG.normal(size=200) > 0).astype(int)

WRONG = {
    "rows_per_chunk": (0, -1, math.nan, [], 2.5),
    "memory_limit": (0, -1, math.nan, 1e6),
    "cache_limit": (-1, math.nan, "x"),
    "cache_directory": (3,),
    "n_jobs": (0, math.nan, "x", 1.5),
    "features": ("a", 3, [3]),
    "target": (3, ["t"]),
    "weight": (3,),
    "path": (None, 3, [3]),
}


def parts():
    return ((X[i : i + 50], Y[i : i + 50]) for i in range(0, 200, 50))


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in WRONG for value in WRONG[name]])
def test_settings_of_files_are_named(tmp_path, name, value):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=f"{name} must be"):
        chunks.from_parquet(**({"path": tmp_path, "target": "t"} | {name: value}))


@pytest.mark.parametrize("name", ["cache_limit", "cache_directory", "n_jobs"])
def test_settings_of_iterators_are_named(name):
    for value in WRONG[name]:
        with pytest.raises(ValueError, match=f"{name} must be"):
            chunks.from_arrays(parts, **{name: value})


@pytest.mark.parametrize("make", [None, 3, lambda: None, lambda: [], lambda: [3]])
def test_what_makes_no_chunks_is_refused(make):
    with pytest.raises(ValueError, match="make"):
        chunks.from_arrays(make)


@pytest.mark.parametrize("rows", [None, 3, X])
def test_what_is_no_dask_collection_is_refused(rows):
    with pytest.raises(ValueError, match="X must be a Dask array"):
        chunks.from_dask(rows)


@pytest.mark.parametrize(
    "fit",
    [
        lambda *rows: ScoreCalibrator(SVC()).fit(*rows),
        lambda *rows: ScoreCalibrator(MulticategorySVC()).fit(*rows),
        lambda *rows: TunedClassifier(MulticategorySVC()).fit(*rows),
        lambda *rows: MulticategorySVC().fit(*rows),
        lambda *rows: audit_labels(LogisticRegression(), *rows),
    ],
)
def test_classifiers_that_want_arrays_say_so(fit):
    with pytest.raises(ValueError, match="rows in memory only: give it arrays"):
        fit(*chunks.from_arrays(parts))


@pytest.mark.parametrize("balance", [math.inf, "bounded"])
def test_margins_that_are_constraints_are_for_rows_in_memory(balance):
    with pytest.raises(ValueError, match=f"balance={balance!r}"):
        BalancingSVC(balance=balance).fit(*chunks.from_arrays(parts))
    near = BalancingSVC(balance=1e3).fit(*chunks.from_arrays(parts))
    exact = BalancingSVC(balance=math.inf).fit(X, Y)
    np.testing.assert_allclose(near.coef_, exact.coef_, atol=1e-2)

"""How the time of a fit grows: every estimator at doubling rows, columns, classes and cost C.

Processor seconds of one fit (without those that the system takes to make fresh pages of memory), on Gaussian clouds
with 10% wrong labels and on parts of real tables; the better of two runs, each repeated until it takes a twentieth of a
second. The exponent is that of the last doubling. A cliff is a doubling that costs ten times as much, or a size dearer
than twice the next; both are named. With as many columns as rows classes can be told apart by a plane: machines with a
corner are then easier to fit, whatever the method.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks._harness import Absent, markdown_table, table
from benchmarks._real import binary, doubling, limited, several
from softmargin import (
    BalancingSVC,
    CoherenceClassifier,
    CompositeLeastSquaresClassifier,
    CompositeMarginClassifier,
    MarginClassifier,
    MulticategorySVC,
    ProbabilisticSVC,
    RobustSVC,
    RuleBoostClassifier,
    ScoreCalibrator,
    TruncatedLogisticRegression,
    TruncatedSoftmaxClassifier,
    TunedClassifier,
)

LONGEST = 2.0  # seconds after which a series ends
_SMALL = 2e-3  # seconds below which ratios are noise
_ENOUGH = 0.05  # seconds that can be told apart by the clock of the processor


def _estimators() -> dict[str, Callable[[], Any]]:
    rbf: dict[str, Any] = {"kernel": "rbf"}
    return {
        "logistic": lambda: MarginClassifier(),
        "logistic, l1": lambda: MarginClassifier(l1_ratio=1.0),
        "logistic, rbf": lambda: MarginClassifier(**rbf),
        "hinge": lambda: MarginClassifier(loss="hinge"),
        "hinge, rbf": lambda: MarginClassifier(loss="hinge", **rbf),
        "coherence, rbf": lambda: CoherenceClassifier(**rbf),
        "RobustSVC": lambda: RobustSVC(),
        "RobustSVC, rbf": lambda: RobustSVC(**rbf),
        "TruncatedLogisticRegression": lambda: TruncatedLogisticRegression(),
        "TruncatedLogisticRegression, rbf": lambda: TruncatedLogisticRegression(**rbf),
        "BalancingSVC": lambda: BalancingSVC(),
        "BalancingSVC, rbf": lambda: BalancingSVC(**rbf),
        "ProbabilisticSVC": lambda: ProbabilisticSVC(),
        "ProbabilisticSVC, rbf": lambda: ProbabilisticSVC(**rbf),
        "MulticategorySVC": lambda: MulticategorySVC(),
        "MulticategorySVC, rbf": lambda: MulticategorySVC(**rbf),
        "composite least squares": lambda: CompositeLeastSquaresClassifier(),
        "composite least squares, rbf, auto": lambda: CompositeLeastSquaresClassifier("auto", C="auto", **rbf),
        "composite logistic, rbf": lambda: CompositeMarginClassifier(**rbf),
        "truncated softmax": lambda: TruncatedSoftmaxClassifier(),
        "RuleBoostClassifier": lambda: RuleBoostClassifier(n_rules=20),
        "ScoreCalibrator(hinge)": lambda: ScoreCalibrator(MarginClassifier(loss="hinge")),
        "TunedClassifier(logistic)": lambda: TunedClassifier(MarginClassifier()),
    }


def _cloud(n: int, p: int = 10, k: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    codes = np.arange(n) % k
    centres = rng.normal(size=(k, p)) * 1.5 / np.sqrt(p) * 2
    X = centres[codes] + rng.normal(size=(n, p))
    wrong = rng.random(n) < 0.1
    return X, np.where(wrong, rng.integers(k, size=n), codes)


def _busy() -> float:
    return os.times().user


def _seconds(make: Callable[[], Any], X: Any, y: np.ndarray) -> float:
    best = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            fits, start, spent = 0, _busy(), 0.0
            while spent < _ENOUGH:
                make().fit(X, y)
                fits, spent = fits + 1, _busy() - start
            best = min(best, spent / fits)
            if best > LONGEST:
                break
    return best


def _series(make: Callable[[Any], Callable[[], Any]], values: list[Any], data: Callable[[Any], Any]) -> list[float]:
    found: list[float] = []
    for value in values:
        try:
            found.append(limited(lambda v=value: _seconds(make(v), *data(v)), 5 * LONGEST)())
        except Absent:
            break
        if found[-1] > LONGEST:
            break
    return found


def _cliffs(values: list[Any], found: list[float]) -> str:
    named = []
    for (low, early), (high, late) in pairwise(zip(values, found, strict=False)):
        if late > 10 * max(early, _SMALL):
            named.append(f"{low:g} to {high:g}: x{late / early:.0f}")
        if early > 2 * max(late, _SMALL):
            named.append(f"{low:g} dearer than {high:g}: x{early / late:.1f}")
    return "; ".join(named)


def _table(head: str, values: list[Any], make: Any, data: Callable[[Any], Any], chosen: Any = None) -> str:
    rows = []
    for name, new in _estimators().items():
        if chosen is not None and not chosen(new()):
            continue
        found = _series(lambda value, new=new: make(new, value), values, data)
        known = [float(value) for value in values[: len(found)]]
        exponents = [power for _, power in doubling(known, found)]
        shown = [*found, *["-"] * (len(values) - len(found))]
        rows.append([name, *shown, f"{exponents[-1]:.1f}" if exponents else "", _cliffs(values, found)])
    return markdown_table([head, *(f"{value:g}" for value in values), "exponent", "cliffs"], rows)


@table
def rows(quick: bool) -> str:
    """Rows, 10 columns, two classes"""
    values = [250, 500] if quick else [250, 500, 1000, 2000, 4000, 8000]
    return _table("n", values, lambda new, n: new, lambda n: _cloud(n))


@table
def real_rows(quick: bool) -> str:
    """Rows of real tables: parts of adult (104 columns, two classes)"""
    return _real_rows("adult", True, quick)


@table
def real_rows_of_letters(quick: bool) -> str:
    """Rows of real tables: parts of letter (16 columns, 26 classes)"""
    return _real_rows("letter", False, quick)


def _real_rows(name: str, two: bool, quick: bool) -> str:
    read = binary if two else several
    values = [250, 500] if quick else [500, 1000, 2000, 4000, 8000]
    try:
        read(name, 10)
    except Absent as reason:
        return str(reason)
    return _table("n", values, lambda new, n: new, lambda n: read(name, n))


@table
def columns(quick: bool) -> str:
    """Columns, 400 rows, two classes"""
    values = [10, 20] if quick else [25, 50, 100, 200, 400, 800, 1600]
    return _table("p", values, lambda new, p: new, lambda p: _cloud(150 if quick else 400, p))


@table
def classes(quick: bool) -> str:
    """Classes, 800 rows, 10 columns"""
    values = [2, 4] if quick else [2, 4, 8, 16, 32]
    return _table("k", values, lambda new, k: new, lambda k: _cloud(200 if quick else 800, 10, k))


@table
def costs(quick: bool) -> str:
    """Cost C, 500 rows, 10 columns, two classes"""
    values = [0.1, 10.0] if quick else [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
    X, y = _cloud(150 if quick else 500)
    return _table("C", values, lambda new, C: lambda: new().set_params(C=C), lambda C: (X, y), _has_cost)


def _has_cost(model: Any) -> bool:
    return isinstance(getattr(model, "C", None), float)

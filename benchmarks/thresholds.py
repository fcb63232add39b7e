"""Where one algorithm takes over from another: both ways are timed on either side of every threshold.

A threshold is a constant of the library that chooses between two ways of computing the same thing. Each is set, for the
length of a fit, to values that force one way and the other; the table shows processor seconds (the best of some runs,
two at least) and whether the choice made by its value is the faster one. "Close" means within a quarter: there the
choice hardly matters.

Which way is faster depends on the data as well as on the size. Columns that share factors are hard, independent ones
easy: a Gram matrix of wide tables is kept for the former, and loses on the latter, which are shown beside them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks._harness import Absent, markdown_table, table
from benchmarks._real import limited
from softmargin import MarginClassifier, MulticategorySVC, RobustSVC, RuleBoostClassifier

_CLOSE = 1.25
LONGEST = 10.0  # processor seconds after which a fit is given up
LEAST_RUNS, MOST_RUNS, ENOUGH = 2, 15, 0.5  # runs of either way, and seconds after which no more are asked for
Fit = Callable[[], Any]


@dataclass(frozen=True)
class Threshold:
    """A constant, the values that force either way, and a fit for each of some sizes around it."""

    module: str
    name: str
    below: tuple[str, float]  # the way below the threshold and the value that forces it
    above: tuple[str, float]
    fit: Callable[[int], Fit]
    sizes: tuple[int, ...]
    size: Callable[[int], float] = float  # what the constant is compared with, from what the table calls size

    @property
    def value(self) -> float:
        return float(getattr(import_module(self.module), self.name))


@contextmanager
def _forced(one: Threshold, value: float) -> Iterator[None]:
    module = import_module(one.module)
    kept = getattr(module, one.name)
    setattr(module, one.name, value)
    try:
        yield
    finally:
        setattr(module, one.name, kept)


def _cloud(n: int, p: int, k: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    scores = X[:, : min(p, 10)] @ rng.normal(size=(min(p, 10), k)) + rng.normal(size=(n, k))
    return X, scores.argmax(axis=1)


def _factors(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns that share a twentieth of their number of factors, as the columns of wide tables do."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(n, p // 20))
    X = factors @ rng.normal(size=(p // 20, p)) + 0.3 * rng.normal(size=(n, p))
    return X / X.std(axis=0), (factors[:, 0] + rng.logistic(size=n) > 0).astype(int)


def _fits(model: Callable[[], Any], data: Callable[[int], tuple[np.ndarray, np.ndarray]]) -> Callable[[int], Fit]:
    def prepared(size: int) -> Fit:
        X, y = data(size)
        return lambda: model().fit(X, y)

    return prepared


def _factor(n: int) -> Fit:
    from softmargin.solvers import shifted_cholesky

    Z = np.random.default_rng(0).normal(size=(n, n))
    A = Z @ Z.T + n * np.eye(n)
    return lambda: shifted_cholesky(A.copy())


THRESHOLDS = (
    Threshold(
        "softmargin.solvers.thresholds",
        "_DENSE_LIMIT",
        ("factors where products are many", np.inf),
        ("products alone", 0),
        _fits(lambda: MarginClassifier(C=100.0), lambda p: _factors(2 * p, p)),
        (750, 1500, 2200, 3001),
    ),
    Threshold(
        "softmargin.solvers.ridge.conjugate_gradient",
        "MANY_COLUMNS",
        ("factors", np.inf),
        ("products first", 0),
        _fits(MarginClassifier, lambda p: _factors(2 * p, p)),
        (100, 201, 1000),
    ),
    Threshold(
        "softmargin.solvers.ridge.newton_systems",
        "MANY_ROWS",
        ("Newton from zero", np.inf),
        ("start from a sample", 4000),  # the sample itself has fewer
        _fits(MarginClassifier, lambda n: _cloud(n, 20)),
        (4000, 8001, 80_000),
    ),
    Threshold(
        "softmargin.solvers.ridge.newton_systems",
        "CHEAP_FACTOR",
        ("a factor every step", np.inf),
        ("factors kept", 0),
        _fits(MarginClassifier, lambda p: _cloud(12 * p, p)),
        (100, 140, 400),
        lambda p: 12 * p**3,
    ),
    Threshold(
        "softmargin.solvers.ridge.newton_systems",
        "SINGLE_PRECISION",
        ("double", np.inf),
        ("single", 0),
        _fits(lambda: MarginClassifier(kernel="rbf"), lambda n: _cloud(n, 10)),
        (300, 600, 1500),
        lambda n: n**3,
    ),
    Threshold(
        "softmargin.expansions.landmarks.features",
        "MANY_PAIRS",
        ("Hessians", np.inf),
        ("conjugate gradients", 0),
        lambda m: _fits(
            lambda: MarginClassifier(kernel="rbf", n_components=m, random_state=0), lambda _: _cloud(30_000, 20)
        )(m),
        (250, 350, 1000),
        lambda m: 30_000 * m**2,
    ),
    Threshold(
        "softmargin.solvers.nonconvex.dual_bounds",
        "_MANY",
        ("Newton on margins", np.inf),
        ("dual working sets", 0),
        _fits(lambda: RobustSVC(kernel="rbf"), lambda n: _cloud(n, 5)),
        (1000, 2000, 4000),
    ),
    Threshold(
        "softmargin.solvers.elastic_net.quadratic_model",
        "_GRAM_COLUMNS",
        ("Gram matrix", np.inf),
        ("residuals", 0),
        _fits(lambda: MarginClassifier(l1_ratio=1.0, C=10.0), lambda p: _factors(p // 2, p)),
        (500, 1000, 2000),
    ),
    Threshold(
        "softmargin.solvers.elastic_net.quadratic_model",
        "_GRAM_COLUMNS",
        ("Gram matrix of independent columns", np.inf),
        ("residuals", 0),
        _fits(lambda: MarginClassifier(l1_ratio=0.5, C=1.0), lambda p: _cloud(p // 2, p)),
        (1000, 2000, 4000),
    ),
    Threshold(
        "softmargin.solvers.svm.linear",
        "GRAM_ROWS",
        ("Gram matrix", np.inf),
        ("rows of features", 0),
        _fits(lambda: MarginClassifier(loss="hinge"), lambda n: _cloud(n, 2500)),
        (1000, 2000, 4000),
    ),
    Threshold(
        "softmargin.solvers.svm.linear",
        "COLUMNS",
        ("interior point", np.inf),
        ("working sets", 0),
        _fits(lambda: MarginClassifier(loss="hinge"), lambda p: _factors(4 * p, p)),
        (500, 1000, 1500),
    ),
    Threshold(
        "softmargin.solvers.multiclass.block_ascent",
        "_INTERIOR_WORK",
        ("interior point may take over", np.inf),
        ("block ascent alone", 0),
        _fits(lambda: MulticategorySVC(C=100.0), lambda p: _cloud(600, p, 4)),
        (5, 20, 80),
        lambda p: 600 * (3 * p) ** 2,
    ),
    Threshold(
        "softmargin.solvers.linalg",
        "_WHOLE",
        ("one call", np.inf),
        ("blocks", 0),
        _factor,
        (1000, 2000, 4000),
    ),
    Threshold(
        "softmargin.solvers.rules.search",
        "_THREADED",
        ("one thread", np.inf),
        ("two threads", 0),
        _fits(lambda: RuleBoostClassifier(n_rules=20, n_jobs=2, early_stopping=False), lambda n: _cloud(n, 10)),
        (5_000, 20_001, 80_000),
        lambda n: 10 * n,
    ),
)


def _seconds(one: Threshold, fit: Fit, value: float) -> float:
    """Elapsed time of a fit where threads are the question, of the processor otherwise; infinite if it takes long."""
    clock = time.perf_counter if "thread" in one.above[0] else time.process_time
    with _forced(one, value), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = clock()
        try:
            limited(fit, LONGEST)()
        except Absent:
            return np.inf
        return clock() - start


def _both(one: Threshold, fit: Fit, quick: bool) -> list[float]:
    """The best times of both ways, which take turns until they have had their share of runs and seconds."""
    best, spent, runs = [np.inf, np.inf], 0.0, 0
    while runs < (1 if quick else LEAST_RUNS) or (runs < MOST_RUNS and spent < ENOUGH and not quick):
        for way, (_, value) in enumerate((one.below, one.above)):
            seconds = _seconds(one, fit, value)
            best[way], spent = min(best[way], seconds), spent + min(seconds, LONGEST)
        runs += 1
        if spent > LONGEST / 2:
            break
    return best


def measure(one: Threshold, sizes: tuple[int, ...], quick: bool = False) -> list[list[Any]]:
    """A row of the table for each size."""
    rows = []
    for size in sizes:
        times = _both(one, one.fit(size), quick)
        chosen = int(one.size(size) > one.value)
        ratio = times[chosen] / max(times[1 - chosen], 1e-9)
        verdict = "faster" if ratio <= 1 else "close" if ratio <= _CLOSE else f"slower by {ratio:.2g}"
        way = (one.below, one.above)[chosen][0]
        shown = [f"> {LONGEST:g}" if np.isinf(seconds) else seconds for seconds in times]
        rows.append([f"`{one.name}` = {one.value:g}", size, *shown, way, verdict])
    return rows


@table
def both_ways(quick: bool) -> str:
    """Every threshold, both ways"""
    rows = []
    for one in THRESHOLDS:
        head = f"`{one.module.removeprefix('softmargin.')}`: {one.below[0]} up to it, {one.above[0]} beyond"
        rows.append([head, "", "", "", "", ""])
        rows += measure(one, (one.sizes[0] // 4,) if quick else one.sizes, quick)
    return markdown_table(["threshold", "size", "below", "beyond", "chosen", "which is"], rows)

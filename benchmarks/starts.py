"""How many starts does a nonconvex fit need?

Each problem has the 100 or 300 training rows its set was cut to; it is fitted with ``n_init`` of 1, 2, 5 and 10, and
with 30, whose objective is the reference. A fit counts as global where its objective is within 1e-4 of that reference.
"Above" is the mean excess over the reference in per cent, "error" the mean share of wrong labels on the rows that were
left out, "seconds" the time of all fits together. psi-learning is fitted for the weights 1/8, .., 7/8 of a family,
where a neighbour's solution is a start of its own. Ten per cent of the training labels are flipped for the robust
machines.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks._harness import markdown_table, table
from softmargin import RobustSVC, TruncatedLogisticRegression, datasets, losses
from softmargin.datasets import DataNotFound
from softmargin.estimators._weight_family import GridFamily, WeightGrid
from softmargin.expansions import Kernel, expand

REAL = ("bupa_liver", "pima_diabetes", "ionosphere", "breast_w", "haberman", "saheart", "sonar", "banana")
STARTS, REFERENCE, ENOUGH = (1, 2, 5, 10), 30, 1e-4


class Rows(NamedTuple):
    """Training rows and rows left out, labels in {-1, +1}."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def _problems(n: int, flips: float, quick: bool) -> Iterator[Rows]:
    """Four simulated sets and eight real ones."""
    made = {
        "square": datasets.make_square,
        "sine": datasets.make_sine,
        "moons": lambda size, random_state: datasets.make_moons(size, noise=0.3, random_state=random_state),
        "noisy moons": lambda size, random_state: datasets.make_moons(size, noise=0.6, random_state=random_state),
    }
    for name in list(made)[: 1 if quick else None]:
        X, y, _ = made[name](n + 2000, random_state=1)
        yield _cut(name, X, y, n, flips)
    for name in REAL[: 1 if quick else None]:
        try:
            data = datasets.load(name, standardize=True, download=False)
        except DataNotFound:
            continue
        yield _cut(name, np.asarray(data.X, dtype=float), data.y, n, flips)


def _cut(name: str, X: np.ndarray, y: np.ndarray, n: int, flips: float) -> Rows:
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    X, signs = X[order], np.where(y == np.unique(y)[1], 1.0, -1.0)[order]
    n = min(n, 2 * len(signs) // 3)
    noisy = np.where(rng.random(n) < flips, -signs[:n], signs[:n])
    return Rows(name, X[:n], noisy, X[n:], signs[n:])


class Tally:
    """Objectives, errors and seconds by number of starts."""

    def __init__(self) -> None:
        self.objectives: dict[int, list[float]] = {}
        self.errors: dict[int, list[float]] = {}
        self.seconds: dict[int, float] = {}

    def add(self, n_init: int, fit: Callable[[], tuple[list[float], list[float]]]) -> None:
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            objectives, errors = fit()
        self.seconds[n_init] = self.seconds.get(n_init, 0.0) + time.process_time() - began
        self.objectives.setdefault(n_init, []).extend(objectives)
        self.errors.setdefault(n_init, []).extend(errors)

    def table(self) -> str:
        best = np.min([self.objectives[k] for k in self.objectives], axis=0)
        rows = []
        for k, found in self.objectives.items():
            above = np.array(found) / best - 1
            share = f"{np.sum(above <= ENOUGH)} of {len(above)}"
            rows.append([k, share, 100 * float(above.mean()), float(np.mean(self.errors[k])), self.seconds[k]])
        return markdown_table(["n_init", "global", "above, %", "error", "seconds"], rows)


def _counts(quick: bool) -> tuple[int, ...]:
    return (1, 3) if quick else (*STARTS, REFERENCE)


@table
def psi(quick: bool) -> str:
    """psi-learning, 100 rows, linear and Gaussian kernel, C = 1."""
    tally = Tally()
    for rows in _problems(100, 0.0, quick):
        for kernel in (None, Kernel.resolve("rbf", rows.X, rows.y, gamma="median")):
            for n_init in _counts(quick):
                tally.add(n_init, lambda r=rows, k=kernel, n=n_init: _psi_family(r, k, n))
    return tally.table()


def _psi_family(rows: Rows, kernel: Kernel | None, n_init: int) -> tuple[list[float], list[float]]:
    found: list[float] = []

    class Recording(GridFamily):
        def _fit_psis(self, *given: Any) -> Iterator[Any]:
            for one in super()._fit_psis(*given):
                found.append(one[-1])
                yield one

    weights = np.ones(len(rows.y))
    family = Recording(expand(rows.X, kernel), rows.y, weights, WeightGrid(8, "psi", n_init=n_init))
    wrong = np.mean(np.sign(family.score(rows.X_test)) != rows.y_test)
    return found, [float(wrong)] * len(found)


def _robust(make: Callable[..., Any], n: int, quick: bool) -> str:
    tally = Tally()
    for rows in _problems(n, 0.1, quick):
        for kernel in (None, "rbf"):
            for C in (0.1, 1.0, 10.0):
                for n_init in _counts(quick):
                    model = make(kernel=kernel, C=C, n_init=n_init, random_state=0)
                    tally.add(n_init, lambda m=model, r=rows: _fit(m, r))
    return tally.table()


def _fit(model: Any, rows: Rows) -> tuple[list[float], list[float]]:
    model.fit(rows.X, rows.y)
    return [model.solution_.objective], [1 - model.score(rows.X_test, rows.y_test)]


@table
def truncated_few(quick: bool) -> str:
    """Truncated logistic regression, 100 rows."""
    return _robust(lambda **given: TruncatedLogisticRegression(scheme=None, **given), 100, quick)


@table
def truncated_more(quick: bool) -> str:
    """Truncated logistic regression, 300 rows."""
    return _robust(lambda **given: TruncatedLogisticRegression(scheme=None, **given), 300, quick)


@table
def welsch_few(quick: bool) -> str:
    """RobustSVC with Welsch's loss, sigma = 1, 100 rows."""
    return _robust(lambda **given: RobustSVC(loss=losses.Welsch(sigma=1.0), **given), 100, quick)

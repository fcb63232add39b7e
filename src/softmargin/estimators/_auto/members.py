"""The classifiers that AutoClassifier mixes, each judged by probabilities of rows it has not seen.

A logistic machine on some features (:func:`fit_logistic`) is fitted along a path of ``C`` and judged by approximate
leave-one-out, so choosing ``C`` and knowing the left-out probabilities cost one path of fits. With more functions than
the rows can pin down, as kernels have, that is a promise too good: their last steps of ``C`` are judged by folds. The
width of a kernel is chosen before that (:func:`choose_width`) by the leave-one-out error of least squares, which one
eigendecomposition gives for every ``C`` and every class at once. Other classifiers (:func:`fit_folded`) are judged by
folds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from softmargin.expansions import Expansion, Kernel, Table, expand
from softmargin.losses import Logistic
from softmargin.penalties import ElasticNet
from softmargin.probability import couple, two_columns
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers import solve
from softmargin.tuning import auto_costs, influence_scores, left_out_scores

__all__ = [
    "FittedMember",
    "Judging",
    "Labels",
    "LogisticScore",
    "choose_width",
    "fit_folded",
    "fit_logistic",
    "probability",
]

Array = NDArray[np.floating[Any]]

_WIDTHS = 2.0 ** np.array([-5.0, -3.5, -2.0, -0.5, 1.0, 2.5])  # gamma in units of one over the mean distance squared
_RIDGES = np.geomspace(1e-4, 1e2, 7)  # in units of the mean eigenvalue
_TOL, _FINE_TOL = 1e-4, 1e-12  # probabilities to about four digits; all digits where they cost nothing
_FEWEST = 60  # rows from which folds judge
_DOUBTED = 2  # steps of C below the one that approximate leave-one-out likes best, which folds may prefer
_FEW = 1000  # rows up to which they do
_MANY = 4000  # rows beyond which parameters are chosen on a sample of so many


@dataclass(frozen=True)
class Labels:
    """Class codes and weights of the training rows."""

    codes: NDArray[np.intp]
    weight: Array
    n_classes: int
    seed: int
    n_jobs: int | None = None

    @property
    def signs(self) -> list[Array]:
        """Labels in {-1, +1}: one vector for two classes, one per class beyond."""
        positive = [1] if self.n_classes == 2 else range(self.n_classes)
        return [np.where(self.codes == code, 1.0, -1.0) for code in positive]

    def log_loss(self, P: Array) -> float:
        """The weighted mean log loss of probabilities of the rows."""
        own = np.maximum(P[np.arange(len(self.codes)), self.codes], np.finfo(float).tiny)
        return float(-(self.weight @ np.log(own)) / self.weight.sum())

    def error(self, P: Array) -> float:
        """The weighted share of rows whose most probable class is another one."""
        return float(self.weight @ (P.argmax(axis=1) != self.codes) / self.weight.sum())

    def sample(self, most: int = _MANY) -> NDArray[np.intp]:
        """All rows, or a random part of many with some of each class."""
        n = len(self.codes)
        if n <= most:
            return np.arange(n)
        order = np.random.RandomState(self.seed).permutation(n)
        first = [order[self.codes[order] == code][:20] for code in range(self.n_classes)]
        return np.unique(np.concatenate([order[:most], *first]))

    @property
    def foldable(self) -> bool:
        """Whether folds would be large enough to judge anything."""
        return len(self.codes) >= _FEWEST and int(np.bincount(self.codes).min()) >= 2

    def folds(self, most: int) -> NDArray[np.intp]:
        """The fold of each row, stratified; as many as asked for, or as the rarest class has rows."""
        count = min(most, int(np.bincount(self.codes).min()))
        fold = np.empty(len(self.codes), dtype=np.intp)
        splitter = StratifiedKFold(count, shuffle=True, random_state=self.seed)
        for k, (_, rows) in enumerate(splitter.split(fold, self.codes)):
            fold[rows] = k
        return fold

    def take(self, rows: NDArray[np.intp]) -> Labels:
        """The labels of some rows."""
        return replace(self, codes=self.codes[rows], weight=self.weight[rows])


@dataclass
class FittedMember:
    """A fitted classifier with the probabilities it gives to rows left out."""

    name: str
    form: str
    parameters: dict[str, Any]
    log_loss: float
    error: float
    seconds: float
    predict: Any = field(repr=False)
    left_out: Any = field(repr=False, default=None)  # probabilities (n, k) while members are compared


@dataclass(frozen=True)
class LogisticScore:
    """Class probabilities of logistic scores, one function per class (one for two classes)."""

    score: Any
    intercept: Array

    def __call__(self, X: Any) -> Array:
        f = np.asarray(self.score(X), dtype=np.float64) + self.intercept
        return probability(f)


@dataclass(frozen=True)
class ModelScore:
    """Class probabilities of a fitted classifier."""

    model: Any

    def __call__(self, table: Table) -> Array:
        return self.model.predict_proba(table)


def probability(f: Array) -> Array:
    parts = Logistic().probability(f)
    return two_columns(parts.ravel(), f.ravel()) if f.shape[1] == 1 else couple(parts, f)


@dataclass(frozen=True)
class Judging:
    """How many values of ``C`` are tried, and the fold of each row where folds have the last word."""

    n_costs: int
    folds: NDArray[np.intp] | None = None


def fit_logistic(name: str, form: str, expansion: Expansion, labels: Labels, judging: Judging) -> FittedMember:
    """Logistic regression on an expansion, one score per class, ``C`` by left-out log loss."""
    started = time.perf_counter()
    problems = [Problem(Logistic(), expansion, y, labels.weight, ElasticNet(0.0)) for y in labels.signs]
    costs = auto_costs(problems[0], judging.n_costs)
    rows = labels.sample()
    parts = (
        [problem.take(rows, np.ones(len(rows))) for problem in problems] if len(rows) < len(labels.codes) else problems
    )
    judged = _left_out(parts, costs, labels.take(rows))
    best = int(np.argmin([labels.take(rows).log_loss(P) for P in judged]))
    if judging.folds is not None:
        judged = _folded(problems, costs[max(0, best - _DOUBTED) : best + 1], judging.folds)
        first, best = best - len(judged) + 1, int(np.argmin([labels.log_loss(P) for P in judged]))
        left_out, best = judged[best], first + best
    else:
        left_out = judged[best] if parts is problems else _left_out(problems, costs[best : best + 1], labels)[0]
    found = [_solve(problem.scaled(costs[best]), None) for problem in problems]
    score = LogisticScore(
        expansion.scorer(np.column_stack([solution.coef for solution in found])),
        np.array([solution.intercept for solution in found]),
    )
    seconds = time.perf_counter() - started
    parameters = {"C": float(costs[best])}
    return FittedMember(
        name, form, parameters, labels.log_loss(left_out), labels.error(left_out), seconds, score, left_out
    )


def _solve(problem: Problem, start: Solution | None) -> Solution:
    return solve(problem, start, tol=_TOL if len(problem.y) > _FEW else _FINE_TOL, max_iter=500)


def _left_out(problems: list[Problem], costs: Array, labels: Labels) -> list[Array]:
    """Approximate leave-one-out probabilities at each cost; a row of weight two is left out once."""
    jobs = (delayed(influence_scores)(problem, costs, _solve, labels.weight) for problem in problems)
    scores = Parallel(n_jobs=labels.n_jobs, prefer="threads")(jobs)
    return [probability(f) for f in np.stack(scores, axis=-1)]


def _folded(problems: list[Problem], costs: Array, folds: NDArray[np.intp]) -> list[Array]:
    """Probabilities at each cost by fits to the other folds."""
    parts = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(int(folds.max()) + 1)]
    scores = [left_out_scores(problem, costs, _solve, parts) for problem in problems]
    return [probability(f) for f in np.stack(scores, axis=-1)]


def choose_width(X: Any, labels: Labels, kernel: str, n_components: int) -> tuple[float, Expansion]:
    """The kernel width of smallest least-squares leave-one-out error, and the landmarks of all rows at it."""
    rows = labels.sample()
    few, part = X[rows], labels.take(rows)
    unit = Kernel.resolve(kernel, few, part.codes, gamma="mean", weight=part.weight).gamma
    errors = []
    for width in _WIDTHS:
        expansion = _landmarks(few, part, kernel, unit * width, n_components)
        errors.append(_least_squares_error(np.asarray(expansion.rows(), dtype=np.float64), part))
    gamma = float(unit * _WIDTHS[int(np.argmin(errors))])
    return gamma, _landmarks(X, labels, kernel, gamma, n_components)


def _landmarks(X: Any, labels: Labels, kernel: str, gamma: float, n_components: int) -> Expansion:
    made = Kernel.resolve(kernel, X, labels.codes, gamma=gamma)
    return expand(X, made, n_components=min(n_components, X.shape[0]), random_state=labels.seed)


def _least_squares_error(Z: Array, labels: Labels) -> float:
    """The smallest leave-one-out squared error of ridge regressions on class indicators, over the ridge."""
    share = labels.weight / labels.weight.sum()
    Y = np.eye(labels.n_classes)[labels.codes]
    Z, Y = Z - share @ Z, Y - share @ Y
    values, vectors = linalg.eigh((Z.T * labels.weight) @ Z)
    values = np.maximum(values, 0.0)
    U = Z @ vectors
    target, squares = (U.T * labels.weight) @ Y, np.square(U)
    unit = float(values.mean()) or 1.0
    errors = []
    for ridge in _RIDGES * unit:
        shrunk = 1 / (values + ridge)
        leverage = np.minimum(1 / labels.weight.sum() + squares @ shrunk, 1 - 1e-6)
        residual = (Y - U @ (shrunk[:, None] * target)) / (1 - leverage)[:, None]
        errors.append(float(share @ np.square(residual).sum(axis=1)))
    return min(errors)


def fit_folded(name: str, model: Any, table: Table, labels: Labels, folds: NDArray[np.intp]) -> FittedMember:
    """Any classifier of tables, judged by folds and fitted to all rows."""
    started = time.perf_counter()
    left_out = np.zeros((len(labels.codes), labels.n_classes))
    for k in range(int(folds.max()) + 1):
        train, test = np.flatnonzero(folds != k), np.flatnonzero(folds == k)
        part = clone(model).fit(table[train], labels.codes[train], sample_weight=labels.weight[train])
        left_out[np.ix_(test, part.classes_)] = part.predict_proba(table[test])
    left_out = np.maximum(left_out, 1e-12)
    whole = clone(model).fit(table, labels.codes, sample_weight=labels.weight)
    seconds = time.perf_counter() - started
    return FittedMember(
        name, "columns", {}, labels.log_loss(left_out), labels.error(left_out), seconds, ModelScore(whole), left_out
    )

"""Elastic-net solutions of any smooth convex loss at many values of C, from the first at which a coefficient moves.

With all coefficients zero the intercept alone is fitted; the slopes ``g`` of the data term there give the smallest C of
interest in closed form, ``C_min = min_j l_j / |Phi_j'g|`` (for C = 1 in ``g``): the solution is zero up to it. The path
runs from there to ``C_min / eps``, each value started from the one before. Without l1 cost (``l1_ratio=0``) nothing is
ever zero; the same formula for an l1_ratio of 1e-3 then gives the first C.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from softmargin._constraints import check_rows, check_training_rows, class_codes
from softmargin._parameters import POSITIVE
from softmargin.expansions import Kernel, canonical_sparse, expand
from softmargin.losses import Loss, get
from softmargin.paths.arguments import check_given
from softmargin.paths.grid.continuation import continuation
from softmargin.penalties import ElasticNet
from softmargin.probability import row_weights
from softmargin.problem import Problem
from softmargin.solvers import Solution, check_scale, solve
from softmargin.solvers.ridge import center

__all__ = ["MarginPath", "first_move", "margin_path"]

Array = NDArray[np.floating[Any]]

_ROUNDING = 8  # units of the last digit, of the product of two lengths, that an inner product may be off by


@dataclass
class MarginPath:
    """Solutions at increasing values of C.

    Attributes
    ----------
    Cs : array of shape (n_Cs,)
        The values of C, increasing.
    coefs : array of shape (n_Cs, n_coef)
        Coefficients of the features, or of the kernel columns.
    intercepts, objectives, gaps, n_iter : arrays of shape (n_Cs,)
        The intercept, the objective, its certified relative gap and the steps taken at each value.
    classes : array of shape (2,)
        The labels; positive scores mean ``classes[1]``.
    tol : float
        The gap that was asked for.
    """

    Cs: Array
    coefs: Array
    intercepts: Array
    objectives: Array
    gaps: Array
    n_iter: NDArray[np.intp]
    classes: NDArray[Any]
    score: Callable[[Any], Array] = field(repr=False)
    tol: float = 1e-6
    n_columns: int | None = field(default=None, repr=False)  # of the rows that scores are of

    def decision_function(self, X: Any) -> Array:
        """Scores of the rows of ``X`` at every C, shape (n_rows, n_Cs)."""
        formats = ("csr", "csc")
        X = check_rows("X", canonical_sparse(X), self.n_columns, accept_sparse=formats, dtype=[np.float64, np.float32])
        return self.score(X) + self.intercepts

    def at(self, C: float) -> Solution:
        """The solution at the value of the grid nearest to ``C`` (in ratio), with its certified gap."""
        POSITIVE.check("C", C)
        k = int(np.argmin(np.abs(np.log(self.Cs) - np.log(C))))
        return Solution(
            self.coefs[k],
            float(self.intercepts[k]),
            None,
            float(self.objectives[k]),
            float(self.gaps[k]),
            int(self.n_iter[k]),
            bool(self.gaps[k] <= self.tol),
        )


def first_move(problem: Problem) -> tuple[float, Solution]:
    """The largest C whose solution is zero, for a problem with weights at C = 1, and that null solution."""
    n, p = problem.expansion.shape
    margins = problem.margins_of(np.zeros(n), 0.0)
    intercept, _, term = center(problem, margins, problem.evaluate(margins))
    pull = problem.expansion.transpose(problem.y * term.slope)
    cost = problem.penalty.thresholds(p) if problem.penalty.l1_ratio > 0 else np.full(p, 1e-3)
    size = -pull if problem.penalty.positive else np.abs(pull)
    with np.errstate(over="ignore"):
        lengths = np.sqrt(problem.expansion.squared_norms()) * float(np.linalg.norm(term.slope))
    rounding = _ROUNDING * float(np.finfo(problem.expansion.dtype).eps) * lengths  # all that pulls a constant column
    moving = (size > rounding) & (cost > 0)
    C = float(np.min(cost[moving] / size[moving], initial=np.inf))
    null = Solution(
        np.zeros(p), intercept, -problem.y * term.slope, term.cost, 0.0, 0, True, "duality gap", [term.cost]
    )
    return (C if np.isfinite(C) else 1.0), null


def margin_path(
    X: Any,
    y: Any,
    *,
    loss: str | Loss = "logistic",
    Cs: int | Any = 100,
    eps: float = 1e-2,
    l1_ratio: float = 1.0,
    factors: Any = None,
    positive: bool = False,
    kernel: Any = None,
    gamma: Any = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> MarginPath:
    """Solve ``C sum_i s_i phi(y_i f_i) + (1 - l1_ratio)/2 |b|^2 + l1_ratio |b|_1`` at many values of C.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, p)
    y : array-like of shape (n,)
        Two classes, any labels.
    loss : str or Loss, default="logistic"
        Any smooth convex loss.
    Cs : int or array-like, default=100
        How many values, spaced geometrically from the largest C with all coefficients zero to ``1 / eps`` times it; or
        the values themselves.
    eps : float, default=1e-2
    l1_ratio : float, default=1.0
    factors : array-like of shape (p,), optional
        Multipliers of the l1 cost of each coefficient.
    positive : bool, default=False
        Forbid negative coefficients.
    kernel, gamma, degree, coef0
        As in :class:`softmargin.MarginClassifier`; ``None`` means the columns of ``X`` are the features.
    fit_intercept : bool, default=True
    sample_weight : array-like of shape (n,), optional
    tol : float, default=1e-6
        The certified gap, relative to the objective, at every C.
    max_iter : int, default=1000

    Returns
    -------
    MarginPath

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from softmargin.paths import margin_path
    >>> X, y = make_classification(n_samples=80, n_features=30, random_state=0)
    >>> path = margin_path(X, y, loss="huberized_hinge", Cs=20, l1_ratio=0.9)
    >>> path.coefs.shape
    (20, 30)
    >>> int((path.coefs[0] != 0).sum()), bool(path.gaps.max() <= 1e-6)
    (0, True)
    """
    check_given(locals())
    formats = ("csr", "csc")
    X, y = check_training_rows(
        canonical_sparse(X), y, accept_sparse=formats, dtype=[np.float64, np.float32], accept_large_sparse=False
    )
    classes, codes = class_codes("y", y)
    if len(classes) != 2:
        raise ValueError(f"margin_path needs exactly two classes in y; got {len(classes)}: {classes[:5].tolist()}.")
    loss = get(loss) if isinstance(loss, str) else loss
    if not (loss.convex and loss.smooth):
        raise ValueError(f"margin_path needs a smooth convex loss; got {loss!r}. For the hinge use paths.cost_path.")
    weights, n_columns = row_weights(sample_weight, X.shape[0]), X.shape[1]
    if not weights.all():
        rows = np.flatnonzero(weights)
        X, codes, weights = X[rows], codes[rows], weights[rows]
    if len(np.unique(codes)) < 2:
        raise ValueError("sample_weight leaves rows of one class only; each class needs a row of positive weight.")
    resolved = None
    if kernel is not None:
        resolved = Kernel.resolve(kernel, X, codes, gamma=gamma, weight=weights, degree=degree, coef0=coef0)
    expansion = expand(X, resolved)
    penalty = ElasticNet(l1_ratio, factors, bool(positive))
    problem = Problem(loss, expansion, np.where(codes == 1, 1.0, -1.0), weights, penalty, fit_intercept=fit_intercept)
    first, null = first_move(problem)
    solutions, values = _solve_all(problem, _values(Cs, first, eps), first, null, tol, max_iter)
    coefs = np.array([s.coef for s in solutions])
    return MarginPath(
        values,
        coefs,
        np.array([s.intercept for s in solutions]),
        np.array([s.objective for s in solutions]),
        np.array([s.gap for s in solutions]),
        np.array([s.n_iter for s in solutions]),
        classes,
        expansion.scorer(coefs.T),
        tol,
        n_columns,
    )


def _solve_all(
    problem: Problem, values: Array, first: float, null: Solution, tol: float, max_iter: int
) -> tuple[list[Solution], Array]:
    """Zero up to the first C, then by continuation (l1 on dense columns) or one value after the other."""
    costly = problem.penalty.thresholds(problem.expansion.shape[1]) > 0
    zero = (values <= first * (1 + 1e-12)) & costly.all()
    solutions = [_null_at(null, C) for C in values[zero]]
    rest = values[~zero]
    dense = not problem.expansion.is_sparse
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        if dense and problem.penalty.l1_ratio > 0 and len(rest):
            below = min(first, rest[0])
            check_scale(replace(problem, weights=rest[0] * problem.weights))  # what the door of the solvers refuses
            solutions += continuation(
                problem, np.append(below, rest), _null_at(null, below), tol=tol, max_iter=max_iter
            )[1:]
        else:
            start = solutions[-1] if solutions else None
            for C in rest:
                at = replace(problem, weights=C * problem.weights)
                start = solve(at, start, tol=tol, max_iter=max_iter)
                solutions.append(start)
    failed = [(C, s.gap) for C, s in zip(values, solutions, strict=True) if not s.converged]
    if failed:
        warnings.warn(
            f"margin_path missed tol={tol:g} at {len(failed)} of {len(values)} values of C, first at "
            f"C={failed[0][0]:.3g} (gap {failed[0][1]:.2g}). Scale the features, raise max_iter or tol, "
            "or stop at a smaller C.",
            ConvergenceWarning,
            stacklevel=3,
        )
    for other in caught:
        if not issubclass(other.category, ConvergenceWarning):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    return solutions, values


def _null_at(null: Solution, C: float) -> Solution:
    assert null.dual is not None
    return replace(null, dual=C * null.dual, objective=C * null.objective, coef=null.coef.copy())


def _values(Cs: Any, first: float, eps: float) -> Array:
    if np.ndim(Cs) == 0:
        return np.asarray(first * np.geomspace(1.0, 1.0 / eps, int(Cs)))
    return np.sort(np.asarray(Cs, dtype=np.float64).ravel())

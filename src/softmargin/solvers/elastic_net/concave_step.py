"""Newton's step of a smooth loss with a concave penalty, within the support and the signs of its coefficients.

Elastic nets that touch the penalty one after the other leave out how it bends, so near a minimum each of them is nearer
by the same factor only. There, with the support settled, the problem is smooth in the coefficients of the support and

    (M'diag(h)M + ridge + diag(l1 p''(|b|))) step = -gradient

goes to the minimum at once, wherever that matrix is positive definite: at a minimum it is. It leads to a point
whose elastic net is then solved and judged as any other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin.penalties import Penalty
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.elastic_net.quadratic_model import Columns, Curvature, Target
from softmargin.solvers.linalg import add_to_diagonal, definite_cholesky

__all__ = ["bends", "concave_step"]

Array = NDArray[np.floating[Any]]

_MOST = 2000  # columns of the support beyond which a factor costs more than rounds of elastic nets
_APART = 1e-6  # sizes, beside themselves, whose slopes tell how a penalty bends
_DEFINITE = 1e-10  # of each curvature: what a factor must leave to be more than rounding


def concave_step(problem: Problem, at: Solution, value: float) -> Solution | None:
    """Where the step from ``at``, of objective ``value``, leads; None where there is none, or not downwards."""
    penalty, expansion, support = problem.penalty, problem.expansion, np.flatnonzero(at.coef)
    if not 0 < len(support) <= _MOST:
        return None
    columns = Columns(expansion, support, penalty.ridge, problem.fit_intercept)
    if sparse.issparse(columns.M):
        return None
    scores = expansion.apply(at.coef)
    term = problem.evaluate(problem.margins_of(scores, at.intercept))
    g, sign = problem.y * term.slope, np.sign(at.coef[support])
    costs = penalty.linearize(at.coef).thresholds(len(at.coef))[support]
    gradient = columns.gradient(g, at.coef, scores) + costs * sign
    found = _newton(columns.curvature(term.curvature), bends(penalty, at.coef)[support], gradient, float(g.sum()))
    if found is None or not np.all(np.sign(at.coef[support] + found.coef) == sign):
        return None
    coef, intercept = at.coef.copy(), at.intercept + found.shift
    coef[support] += found.coef
    return replace(at, coef=coef, intercept=intercept) if problem.objective(coef, intercept) < value else None


def _newton(curvature: Curvature, bends: Array, gradient: Array, drift: float) -> Target | None:
    """The step to the minimum of the model, None where it has none; ``drift`` is the slope of the intercept."""
    if curvature.moment is not None and not curvature.mass > 0:
        return None
    H = curvature.data
    if np.ndim(curvature.ridge) == 0:
        add_to_diagonal(H, curvature.ridge)
    else:
        H = H + curvature.ridge
    add_to_diagonal(H, bends - _DEFINITE * np.diagonal(H))
    factor = definite_cholesky(H)
    if factor is None:
        return None
    if curvature.moment is None:
        return Target(factor(-gradient), 0.0)
    step = factor(curvature.moment * (drift / curvature.mass) - gradient)
    return Target(step, -(drift + float(curvature.moment @ step)) / curvature.mass)


def bends(penalty: Penalty, coef: Array) -> Array:
    """``l1 f p''(|b|)``, from slopes on both sides."""
    size = np.abs(coef)
    apart = _APART * np.maximum(size, np.finfo(np.float64).tiny)
    bends = (penalty.relative_slopes(size + apart) - penalty.relative_slopes(size - apart)) / (2 * apart)
    return penalty.l1_ratio * (bends if penalty.factors is None else bends * penalty.factors)

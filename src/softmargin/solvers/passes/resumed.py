"""An interrupted fit of chunked rows goes on where it was.

A pass over 10^9 rows takes minutes, and a key or a dead cluster may end a fit between two of them. Every point that a
solver by passes accepts is kept beside the rows; a fit that does not end leaves the last one there, under a name made
of everything that defines the problem (loss, penalty, labels, weights, folds, landmarks). The next fit of the same
problem to the same rows begins there instead of at a sample, and takes the passes that were left. A fit that ends
leaves nothing.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

import joblib
import numpy as np

from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.engine import Run

__all__ = ["keep_point", "resumed"]


def keep_point(problem: Problem, coef: Any, intercept: float) -> None:
    """Remember where a fit is, if its rows are such that it may be resumed."""
    if hasattr(problem.expansion, "point"):
        problem.expansion.point = (coef, intercept)


def resumed(run: Run) -> Run:
    """The run of an engine that begins where an interrupted one of the same problem ended."""

    @wraps(run)
    def resuming(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        rows = getattr(problem.expansion, "data", None)
        name = None if rows is None else _name(problem)
        if rows is None or name is None:
            return run(problem, start, tol, max_iter, verbose)
        if start is None and name in rows.unfinished:
            coef, intercept = rows.unfinished[name]
            start = Solution(coef, intercept, None, np.inf, np.inf, 0, False)
        try:
            solution = run(problem, start, tol, max_iter, verbose)
        except BaseException:
            if problem.expansion.point is not None:  # type: ignore[attr-defined]
                rows.unfinished[name] = problem.expansion.point  # type: ignore[attr-defined]
            raise
        rows.unfinished.pop(name, None)
        return solution

    return resuming


def _name(problem: Problem) -> str | None:
    """What tells problems of the same rows apart; None where a part of it cannot be written down."""
    about = (problem.expansion.identity, problem.loss, problem.penalty, problem.vectors, problem.fit_intercept)  # type: ignore[attr-defined]
    try:
        return str(joblib.hash(about))
    except Exception:  # a loss made of local functions cannot be pickled
        return None

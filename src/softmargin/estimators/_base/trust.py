"""What a robust fit says about its rows: how far each label is believed, and whether the fit says anything at all.

Trust is a number in [0, 1] per row, nondecreasing in the margin of the label given:

* redescending losses (Welsch, Cauchy, ...): the weight of the row in the equivalent squared-hinge fit;
* logistic relatives (truncated, Pregibon, Bianco-Yohai, Copas): ``expit(u)``, the probability the score gives that
  label, which also ranks the rows among those kept and among those given up;
* hinge relatives: ``1 / (1 + (1 - u)_+)``, 1 beyond the margin and 1/2 on the boundary;
* others: the weight of the majoriser.

With several classes a row is believed as far as the least convinced of its one-against-rest fits believes it.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils import _safe_indexing

from softmargin.estimators._base.classifier import TrainingSet
from softmargin.losses import Hinge, Logistic, Loss
from softmargin.losses._half_quadratic import HalfQuadratic
from softmargin.problem import Problem
from softmargin.solvers import INITS, Solution, constant_fit, majorizer

__all__ = ["gather_robustness", "judge_left_out", "note_robustness", "robust_engine", "row_trust"]


_CONSTANT = 1e-9  # a spread of scores below this, relative to their size and to the margin 1, is rounding


def robust_engine(estimator: Any, problem: Problem) -> Any:
    """The solver of an estimator with parameters ``init``, ``n_init`` and ``random_state``."""
    if estimator.init not in INITS:
        raise ValueError(f"init must be one of {INITS}; got {estimator.init!r}.")
    if not estimator.n_init >= 1:
        raise ValueError(f"n_init must be at least 1; got {estimator.n_init!r}.")
    if estimator.init == "anneal" and not hasattr(problem.loss, "sigma"):
        raise ValueError(
            f"init='anneal' starts from gentler values of sigma, which {problem.loss!r} does not have; use 'base' or "
            "'zero', or n_init for more starts."
        )
    if problem.loss.convex:
        return "auto"
    return majorizer(estimator.init, estimator.n_init, estimator.random_state)


def row_trust(loss: Loss, margins: Any) -> np.ndarray:
    """How far a label at each margin is believed, in [0, 1]."""
    u = np.asarray(margins, dtype=np.float64)
    if isinstance(loss, HalfQuadratic):
        return np.asarray(loss.weight(u))
    made = loss.majorize(u)
    if isinstance(made.loss, Logistic):
        return expit(u)
    if isinstance(made.loss, Hinge):
        return 1 / (1 + np.maximum(1 - u, 0))
    return np.clip(made.weights, 0, 1)


def note_robustness(estimator: Any, data: TrainingSet, problem: Problem, solution: Solution) -> None:
    """Keep trust, objective, status and the constant classifier's objective; warn where that one is cheaper."""
    margins = solution.margins
    margins = problem.margins(solution.coef, solution.intercept) if margins is None else margins
    estimator.sample_trust_ = data.expand(row_trust(problem.loss, margins), np.nan)
    estimator.objective_, estimator.status_ = solution.objective, solution.status
    estimator.constant_objective_ = constant_fit(problem).objective
    scores = problem.y * margins
    if solution.status == "ok" and np.ptp(scores) <= _CONSTANT * max(1.0, float(np.abs(scores).max())):
        estimator.status_ = "constant"
        warnings.warn(
            f"The fitted score is constant: every row gets the same label. For {problem.loss!r} a larger sigma or "
            "level, or a larger C, lets the rows be heard.",
            UserWarning,
            stacklevel=6,
        )
    elif solution.status == "ok" and solution.objective > estimator.constant_objective_ * (1 + 1e-9):
        warnings.warn(
            f"The constant classifier has a lower objective ({estimator.constant_objective_:.6g}) than this fit "
            f"({solution.objective:.6g}): for {problem.loss!r} a larger sigma or level, or a larger C, is safer.",
            UserWarning,
            stacklevel=6,
        )


def gather_robustness(estimator: Any) -> None:
    """The same for several classes, from their one-against-rest fits."""
    parts = estimator.estimators_
    if not hasattr(parts[0], "sample_trust_"):
        return
    estimator.sample_trust_ = np.min([one.sample_trust_ for one in parts], axis=0)
    for name in ("objective_", "status_", "constant_objective_"):
        setattr(estimator, name, [getattr(one, name) for one in parts])
    for one in parts:
        del one.sample_trust_


def judge_left_out(estimator: Any, X: Any, y: Any) -> None:
    """The trust in rows of zero weight, which the fit did not see, by their scores."""
    rows = np.flatnonzero(np.isnan(estimator.sample_trust_))
    if len(rows) == 0:
        return
    labels, classes = np.asarray(_safe_indexing(y, rows)), estimator.classes_
    scores = estimator.decision_function(_safe_indexing(X, rows))
    scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    own = labels[:, None] == classes[None, :]
    trust = row_trust(estimator.loss_, np.where(own, scores, -scores)).min(axis=1)
    estimator.sample_trust_[rows] = np.where(own.any(axis=1), trust, 0.0)

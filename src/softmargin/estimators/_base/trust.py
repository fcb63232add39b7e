"""What a robust fit says about its rows: how far each label is believed, and whether the fit says anything at all.

Trust is a number in [0, 1] per row, nondecreasing in the margin of the label given; the loss says which
(:meth:`softmargin.losses.Loss.trust`).

With several classes a row is believed as far as the least convinced of its one-against-rest fits believes it.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from softmargin.estimators._base.training_set import TrainingSet
from softmargin.expansions import with_rows
from softmargin.problem import Problem
from softmargin.solvers import INITS, OnRound, Solution, Starts, constant_fit, majorizer

__all__ = ["gather_robustness", "judge_left_out", "note_robustness", "robust_engine"]


def robust_engine(estimator: Any, problem: Problem, scores: Any = None, on_round: OnRound | None = None) -> Any:
    """The solver of an estimator with parameters ``init``, ``n_init`` and ``random_state``.

    ``scores`` of the rows replace ``init``; ``on_round`` sees the margins and coefficients where each round ends.
    """
    if estimator.init not in INITS:
        raise ValueError(f"init must be one of {INITS}; got {estimator.init!r}.")
    if not estimator.n_init >= 1:
        raise ValueError(f"n_init must be at least 1; got {estimator.n_init!r}.")
    if estimator.init == "anneal" and not hasattr(problem.loss, "sigma"):
        raise ValueError(
            f"init='anneal' starts from gentler values of sigma, which {problem.loss!r} does not have; use 'base' or "
            "'zero', or n_init for more starts."
        )
    if problem.loss.convex or not problem.expansion.is_resident:
        return "auto"
    return majorizer(Starts(estimator.init, estimator.n_init, estimator.random_state, scores), on_round)


def note_robustness(estimator: Any, data: TrainingSet, problem: Problem, solution: Solution) -> None:
    """Keep trust, objective, status and the constant classifier's objective; warn where that one is cheaper."""
    margins = solution.margins
    margins = problem.margins(solution.coef, solution.intercept) if margins is None else margins
    estimator.sample_trust_ = data.expand(np.asarray(problem.loss.trust(margins)), np.nan)
    estimator.objective_, estimator.status_ = solution.objective, solution.status
    estimator.constant_objective_ = constant_fit(problem).objective
    if solution.status == "constant":
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
    known = np.isin(labels, classes)
    loss = estimator.loss_.of_classes(np.searchsorted(classes, np.where(known, labels, classes[0])))
    scores = estimator.decision_function(_safe_indexing(with_rows(X), rows))
    scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    own = labels[:, None] == classes[None, :]
    trust = np.asarray(loss.trust(np.where(own, scores, -scores).astype(np.float64))).min(axis=1)
    estimator.sample_trust_[rows] = np.where(own.any(axis=1), trust, 0.0)

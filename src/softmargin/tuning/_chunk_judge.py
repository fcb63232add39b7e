"""How candidates that differ in ``C`` are judged on chunked rows: by rows held out, in passes that all of them share.

Chunks draw the fold of each row (:class:`~softmargin.expansions.FoldWeights`), so leaving a fold out is a matter of
weights. Smooth ridge problems are solved for all costs together (:mod:`softmargin.solvers.passes.many_costs`), others
one after another from the solution before; to a tolerance that tells costs apart, as the winner is fitted again. One
more pass scores the held-out rows under every candidate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from softmargin.expansions import FoldWeights
from softmargin.losses import Loss
from softmargin.solvers import has_smooth_ridge, sample_problem, solve_costs
from softmargin.tuning._judges import _Judge
from softmargin.tuning._left_out_scores import auto_costs
from softmargin.tuning._scoring import row_costs

__all__ = ["ChunkJudge", "chunk_criterion"]

Array = NDArray[np.floating[Any]]

_SHARED_COSTS, _COSTS = 30, 10  # tried in shared passes, and one after another
_TOL = 1e-4  # relative gap at which a candidate is judged


@dataclass(frozen=True)
class HeldCosts:
    """The term of the judging pass: sums over the held-out rows of weights, squares and costs under each candidate."""

    scoring: str
    loss: Loss
    intercepts: Array  # (candidates, functions)

    def __call__(self, scores: Array, codes: NDArray[np.intp], weights: Array) -> tuple[None, tuple[Any, ...]]:
        seen = weights > 0
        w, codes = weights[seen], codes[seen]
        by_candidate = scores[seen].reshape(len(w), *self.intercepts.shape) + self.intercepts
        sums = np.zeros((3, len(self.intercepts)))
        for k in range(len(self.intercepts)) if len(w) else ():
            f = by_candidate[:, k, 0] if self.intercepts.shape[1] == 1 else by_candidate[:, k]
            cost = row_costs(self.scoring, self.loss, codes, f, w)
            sums[:, k] = w @ cost, np.square(w) @ cost, np.square(w) @ np.square(cost)
        return None, (sums, np.array([w.sum(), np.square(w).sum()]))


def chunk_criterion(criterion: str, one_problem: bool) -> str:
    """The criterion of chunked rows: one held-out fold where nothing else is asked for."""
    if not one_problem or criterion not in ("auto", "holdout", "cv"):
        raise ValueError(
            "Chunked rows are judged by criterion='holdout' or 'cv', for classifiers that are one problem (P) such as "
            f"MarginClassifier; got criterion={criterion!r}. Use one of those, or tune on a sample of the rows."
        )
    return "holdout" if criterion == "auto" else criterion


class ChunkJudge(_Judge):
    """One problem (P) on rows elsewhere, along its costs."""

    def _judge(self, data: Any, X: Any, y: Any, weight: Any) -> Any:
        template = clone(self.template).set_params(C=1.0)
        fitted = template._training_set(X, y, weight)  # with the class weights of this candidate
        fitted.shared = self.expansion = template._prepare(fitted)
        codes = [1] if len(self.classes) == 2 else range(len(self.classes))
        signs = [fitted.signs(code) for code in codes]
        n_folds = self.options.cv if isinstance(self.options.cv, int) else 5
        seed = self.options.seed if isinstance(self.options.seed, int) else 0
        first = template._problem(fitted, signs[0])
        shared = has_smooth_ridge(first)
        costs = self._costs(lambda n: _auto_costs(first, n or (_SHARED_COSTS if shared else _COSTS)))
        sums, masses = np.zeros((3, len(costs))), np.zeros(2)
        for fold in range(1 if self.criterion == "holdout" else n_folds):
            outside = FoldWeights.of_rows(fitted.weight, n_folds, fold, False, seed)
            inside = FoldWeights.of_rows(data.weight, n_folds, fold, True, seed)
            part = replace(fitted, weight=outside)
            problems = [template._problem(part, one) for one in signs]
            solutions = [self._solutions(template, problem, costs, shared) for problem in problems]
            judged = self._judged(first.loss, [list(row) for row in zip(*solutions, strict=True)], inside, data.codes)
            sums, masses = sums + judged[0], masses + judged[1]
        return costs, *_mean_and_error(sums, masses)

    def _solutions(self, template: Any, problem: Any, costs: np.ndarray, shared: bool) -> list[Any]:
        if shared:
            return solve_costs(problem, costs, _TOL)
        start, found = None, []
        rough = clone(template).set_params(tol=max(_TOL, template.tol))
        rough.classes_ = self.classes
        for cost in costs:
            start = rough._solve(problem.scaled(cost), start)
            found.append(start)
        return found

    def _judged(self, loss: Loss, candidates: list[list[Any]], weight: Any, codes: Any) -> tuple[Any, Any]:
        coef = np.column_stack([one.coef for row in candidates for one in row])
        intercepts = np.array([[one.intercept for one in row] for row in candidates])
        return self.expansion.sweep_many(coef, HeldCosts(self.scoring, loss, intercepts), (codes, weight)).parts[1:]


def _auto_costs(problem: Any, count: int) -> np.ndarray:
    """The range of costs that the sample asks for, whose rows stand for all."""
    few = sample_problem(problem)
    assert few is not None
    return auto_costs(few, count)


def _mean_and_error(sums: np.ndarray, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means of the costs and their standard errors."""
    total, squares = masses
    mean = sums[0] / total
    spread = sums[2] - 2 * mean * sums[1] + np.square(mean) * squares
    return mean, np.sqrt(np.maximum(spread, 0)) / total

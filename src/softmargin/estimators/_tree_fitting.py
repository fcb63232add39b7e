"""Fitting boosted trees: how many on rows held out, then that many on all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from softmargin.estimators._base.training_set import TrainingSet
from softmargin.estimators._rule_fitting import LabelledRows, hold_out
from softmargin.estimators._rule_parameters import n_threads, setting, tree_plan_of
from softmargin.expansions import BinnedTable, TreeScore
from softmargin.losses import Loss
from softmargin.solvers.rules import BoostedTrees, boost_trees, score_of

__all__ = ["FittedTrees", "fit_trees"]

_FEW_ROWS = 100  # a tenth of fewer rows cannot tell two numbers of trees apart
_FEW_ROUNDS = 100


@dataclass(frozen=True)
class FittedTrees:
    """Boosted trees, the scores they give new rows, and the mean held-out loss after each round."""

    model: BoostedTrees
    score: TreeScore
    held_out: list[float] | None


def fit_trees(estimator: Any, rows: LabelledRows, data: TrainingSet, loss: Loss) -> FittedTrees:
    """Boost trees on all rows; with early stopping, as many rounds as serve rows held out best."""
    n_rounds, held_out = int(setting(estimator, "n_rules")), None
    seed = int(check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max))
    stops = setting(estimator, "early_stopping") and n_rounds > 0
    if estimator.early_stopping is None and (len(data.codes) < _FEW_ROWS or np.bincount(data.codes).min() < 2):
        stops, n_rounds = False, min(n_rounds, _FEW_ROUNDS)
    if stops:
        train, test = hold_out(estimator, data)
        kept = rows.take(train)
        watch = _HeldOutTrees(rows.take(test), _binned(estimator, kept), estimator.n_iter_no_change)
        boost_trees(watch.binned, loss, kept.y, kept.weight, tree_plan_of(estimator, n_rounds, seed), watch)
        n_rounds, held_out = watch.best_round, watch.losses
    binned = _binned(estimator, rows)
    plan = tree_plan_of(estimator, n_rounds, seed)
    model = boost_trees(binned, loss, rows.y, rows.weight, plan, lambda model: False)
    return FittedTrees(model, score_of(model, binned), held_out)


def _binned(estimator: Any, rows: LabelledRows) -> BinnedTable:
    return BinnedTable.from_table(rows.table, rows.weight, int(setting(estimator, "max_bins")), n_threads(estimator))


class _HeldOutTrees:
    """The mean loss on rows kept apart, and the round where it was least."""

    def __init__(self, rows: LabelledRows, binned: BinnedTable, patience: int) -> None:
        self.rows, self.binned, self.patience = rows, binned, patience
        self.losses: list[float] = []
        self.best_round = 0
        self._numbers: np.ndarray | None = None
        self._scores = np.empty(0)

    def __call__(self, model: BoostedTrees) -> bool:
        """Whether the loss has not improved for ``patience`` rounds."""
        newest = score_of(model, self.binned, model.trees[-len(self.rows.y) :])
        if self._numbers is None:
            self._numbers = newest.numbers(self.rows.table)
            self._scores = np.tile(model.intercept, (len(self.rows.weight), 1))
            self.losses.append(self._loss(model.loss))
        newest.add_to(self._scores, self._numbers)
        self.losses.append(self._loss(model.loss))
        self.best_round = int(np.argmin(self.losses))
        return len(self.losses) - 1 - self.best_round >= self.patience

    def _loss(self, loss: Loss) -> float:
        total = sum(
            float(self.rows.weight @ loss.value(y * f)) for y, f in zip(self.rows.y, self._scores.T, strict=True)
        )
        return total / float(self.rows.weight.sum())

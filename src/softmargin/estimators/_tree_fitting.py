"""Fitting boosted trees: how many on rows held out (few rows in turn, fold by fold), then that many on all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from softmargin.estimators._base.training_set import TrainingSet
from softmargin.estimators._rule_fitting import LabelledRows, held_out_parts, total_curve
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

    @property
    def coef(self) -> np.ndarray:
        """The scores of all leaves."""
        return self.score.values


def fit_trees(estimator: Any, rows: LabelledRows, data: TrainingSet, loss: Loss) -> FittedTrees:
    """Boost trees on all rows; with early stopping, as many rounds as serve rows held out best."""
    n_rounds, held_out = int(setting(estimator, "n_rules")), None
    seed = 0  # of the columns drawn: without a seed of one's own two fits still grow the same trees
    if estimator.random_state is not None:
        seed = int(check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max))
    stops = setting(estimator, "early_stopping") and n_rounds > 0
    if estimator.early_stopping is None and (len(data.codes) < _FEW_ROWS or np.bincount(data.codes).min() < 2):
        stops, n_rounds = False, min(n_rounds, _FEW_ROUNDS)
    max_bins, threads = int(setting(estimator, "max_bins")), n_threads(estimator)
    binned = BinnedTable.from_table(rows.table, rows.weight, max_bins, threads)
    if stops:
        parts, patience = held_out_parts(estimator, data), int(setting(estimator, "n_iter_no_change"))
        watches = [_HeldOutTrees(rows, test, patience) for _, test in parts]
        for watch in watches:
            boost_trees(binned, loss, rows.y, watch.kept, tree_plan_of(estimator, n_rounds, seed), watch)
        held_out = (total_curve([watch.losses or [0.0] for watch in watches]) / len(watches)).tolist()
        n_rounds = int(np.argmin(held_out))
    plan = tree_plan_of(estimator, n_rounds, seed)
    model = boost_trees(binned, loss, rows.y, rows.weight, plan, lambda model: False)
    return FittedTrees(model, score_of(model, binned), held_out)


class _HeldOutTrees:
    """The mean loss on rows kept apart, and the round where it was least; ``kept`` are the weights without them."""

    def __init__(self, rows: LabelledRows, test: np.ndarray, patience: int) -> None:
        self.y, self.weight, self.patience, self._test = rows.y, rows.weight[test], patience, test
        self.kept = rows.weight.copy()
        self.kept[test] = 0.0
        self.losses: list[float] = []
        self.best_round = 0

    def __call__(self, model: BoostedTrees) -> bool:
        """Whether the loss has not improved for ``patience`` rounds."""
        if not self.losses:
            self.losses.append(self._loss(model.loss, self.y[:, self._test] * model.intercept[:, None]))
        self.losses.append(self._loss(model.loss, model.margins[:, self._test]))
        self.best_round = int(np.argmin(self.losses))
        return len(self.losses) - 1 - self.best_round >= self.patience

    def _loss(self, loss: Loss, margins: np.ndarray) -> float:
        total = sum(float(self.weight @ loss.value(own)) for own in margins)
        return total / float(self.weight.sum())

"""Boosted trees as a member of AutoClassifier: one fit per fold judges them, and the same fits are the answer.

Every fold grows trees on the other rows and tells the rows left out as it goes (they have weight zero). The number of
rounds is the one at which the left-out log loss of all folds together is least, one number for all, so that choosing
it flatters the judgement little. The member is the committee of the folds' trees: the mean of their scores, which is
steadier than one fit to all rows and costs no further fit. Thresholds come from all rows; they know no labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.estimators._auto.members import FittedMember, Labels, LogisticScore, probability
from softmargin.expansions import BinnedTable, Table
from softmargin.losses import Logistic
from softmargin.solvers.rules import BoostedTrees, TreePlan, boost_trees, score_of

__all__ = ["PLANS", "fit_trees", "most_promising"]

Array = NDArray[np.floating[Any]]

_MAX_BINS = 128
_MOST_ROUNDS = 500
_PATIENCE = 15  # rounds without improvement after which a fold ends
_WORTH = 1e-3  # of the log loss of no trees at all: less is no improvement, or easy tables would be refined for ever
# Which kind is tried first, not which is used: below, neither was clearly ahead on five development tables (149 to 700
# rows); at 3000 rows deep trees were (log loss .296 against .324 on phoneme). `benchmarks quality` reads both kinds.
_MANY = 1500
PLANS = {
    "deep trees": TreePlan(
        _MOST_ROUNDS, learning_rate=0.1, smoothing=4.0, max_leaves=31, min_weight=20.0, leaf_passes=2
    ),
    "drawn trees": TreePlan(
        _MOST_ROUNDS, learning_rate=0.1, smoothing=2.0, max_leaves=16, max_depth=6, min_weight=3.0,
        row_fraction=0.7, column_fraction=0.4, leaf_passes=2,
    ),
    "shallow trees": TreePlan(
        _MOST_ROUNDS, learning_rate=0.1, smoothing=4.0, max_leaves=8, max_depth=3, min_weight=5.0,
        leaf_passes=2,
    ),
}  # fmt: skip


def fit_trees(
    name: str, table: Table, labels: Labels, folds: NDArray[np.intp], late: Callable[[], bool]
) -> FittedMember:
    """The trees of a plan, judged by ``folds`` (the number of each row's fold); ``late`` says when to stop growing."""
    plan = replace(PLANS[name], seed=labels.seed)
    started = time.perf_counter()
    binned = BinnedTable.from_table(table, labels.weight, _MAX_BINS)
    watches = [_LeftOut(labels, np.flatnonzero(folds == k), late) for k in range(int(folds.max()) + 1)]
    signs = np.stack(labels.signs)
    models = [boost_trees(binned, Logistic(), signs, watch.kept, plan, watch) for watch in watches]
    rounds = _least([watch.curve for watch in watches])
    left_out = np.empty((len(labels.codes), labels.n_classes))
    for watch, model in zip(watches, models, strict=True):
        model.trees = model.trees[: rounds * len(signs)]
        left_out[watch.rows] = probability(score_of(model, binned)(table[watch.rows]))
    score = LogisticScore(score_of(_committee(models), binned), np.zeros(len(signs)))
    parameters = {"rounds": rounds}
    seconds = time.perf_counter() - started
    return FittedMember(
        name, "columns", parameters, labels.log_loss(left_out), labels.error(left_out), seconds, score, left_out
    )


def most_promising(n_rows: int, count: int) -> tuple[str, ...]:
    """So many names of plans, those first that suit the number of rows."""
    few, many = ("drawn trees", "shallow trees", "deep trees"), ("deep trees", "drawn trees", "shallow trees")
    return (few if n_rows < _MANY else many)[:count]


class _LeftOut:
    """Watches a fold: ``curve`` is the summed log loss of its rows after 0, 1, 2, ... rounds."""

    def __init__(self, labels: Labels, rows: NDArray[np.intp], late: Callable[[], bool]) -> None:
        self.rows, self._labels, self._late = rows, labels.take(rows), late
        self._signs = np.stack(self._labels.signs)
        self.kept = labels.weight.copy()
        self.kept[rows] = 0.0
        self.curve: list[float] = []
        self._improved = 0

    def __call__(self, model: BoostedTrees) -> bool:
        if not self.curve:
            self.curve.append(self._loss(np.tile(model.intercept, (len(self.rows), 1))))
        self.curve.append(self._loss((model.margins[:, self.rows] * self._signs).T))
        if self.curve[-1] < self.curve[self._improved] - _WORTH * self.curve[0]:
            self._improved = len(self.curve) - 1
        return len(self.curve) - 1 - self._improved >= _PATIENCE or self._late()

    def _loss(self, scores: Array) -> float:
        return self._labels.log_loss(probability(scores)) * float(self._labels.weight.sum())


def _least(curves: list[list[float]]) -> int:
    """The round of least total; a fold that ended early stays where it ended, and no round at all is round 0."""
    longest = max(len(curve) for curve in curves)
    if longest == 0:
        return 0
    total = sum((np.pad(curve, (0, longest - len(curve)), mode="edge") for curve in curves if curve), np.zeros(longest))
    return int(np.argmin(total))


def _committee(models: list[BoostedTrees]) -> BoostedTrees:
    """One model whose score is the mean of those of several."""
    share = 1 / len(models)
    trees = [replace(tree, values=share * tree.values) for model in models for tree in model.trees]
    return replace(models[0], intercept=np.mean([model.intercept for model in models], axis=0), trees=trees)

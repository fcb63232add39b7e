"""Fitting boosted hypotheses: from checked rows to a model, a scorer of new rows and the rules in words.

Each learner is one function from the estimator's parameters and the training rows to a ``FittedRules``; rows held out
for early stopping are watched by ``HeldOut``, which needs nothing of a learner but the columns of its hypotheses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state

from softmargin.estimators._base.training_set import TrainingSet
from softmargin.estimators._rule_parameters import n_threads, setting
from softmargin.expansions import BinnedTable, ColumnScore, Rule, RuleColumns, RuleScore, Table, cover
from softmargin.losses import Loss
from softmargin.solvers.rules import (
    BoostedModel,
    GivenColumns,
    GivenLearner,
    Hypothesis,
    Plan,
    RuleLearner,
    RuleSearch,
    boost,
)

__all__ = ["FittedRules", "LabelledRows", "fit_given", "fit_rules", "hold_out"]


@dataclass(frozen=True)
class LabelledRows:
    """Rows with labels (channels, rows) in {-1, +1} and weights."""

    table: Table
    y: np.ndarray
    weight: np.ndarray

    def take(self, rows: np.ndarray) -> LabelledRows:
        """Some of the rows."""
        return LabelledRows(self.table[rows], self.y[:, rows], self.weight[rows])


@dataclass(frozen=True)
class FittedRules:
    """A boosted model, the scores it gives new rows, and its hypotheses in words; ``rules`` is None for columns."""

    model: BoostedModel
    score: RuleScore | ColumnScore
    rules: list[Rule] | None


def hold_out(estimator: Any, data: TrainingSet) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers to fit on and to keep apart, stratified by class."""
    seed = check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max)
    splitter = StratifiedShuffleSplit(1, test_size=estimator.validation_fraction, random_state=seed)
    try:
        return next(splitter.split(np.zeros(len(data.codes)), data.codes))
    except ValueError as error:
        raise ValueError(
            f"early_stopping=True cannot hold out validation_fraction={estimator.validation_fraction!r} of "
            f"{len(data.codes)} rows: {error} Set early_stopping=False or change validation_fraction."
        ) from None


def fit_rules(
    estimator: Any, rows: LabelledRows, held: LabelledRows | None, bag: list[Loss], plan: Plan
) -> FittedRules:
    """Rules found by a search over binned columns."""
    threads = n_threads(estimator)
    binned = BinnedTable.from_table(rows.table, rows.weight, int(setting(estimator, "max_bins")), threads)
    search = RuleSearch(
        binned,
        max_literals=int(setting(estimator, "max_literals")),
        search=estimator.search,
        beam=estimator.beam,
        n_threads=threads,
    )

    def in_words(one: Hypothesis) -> Rule:
        return Rule.of([binned.literal(*term) for term in one.terms])

    watch = None
    if held is not None:
        columns = RuleColumns(len(held.table))
        table, patience = held.table, int(setting(estimator, "n_iter_no_change"))
        watch = HeldOut(held, columns, lambda one: cover([in_words(one)], table).bits[0], patience)
    model = boost(RuleLearner(search), bag, rows.y, rows.weight, plan, watch)
    rules = [in_words(one) for one in model.hypotheses]
    intercept, coef = model.stages[-1]
    return FittedRules(model, RuleScore(tuple(rules), coef, intercept), rules)


def fit_given(
    estimator: Any, rows: LabelledRows, held: LabelledRows | None, bag: list[Loss], plan: Plan
) -> FittedRules:
    """The columns of X themselves, by their edge or in the user's blocks."""
    matrix = rows.table.numbers()
    blocks = _checked_blocks(estimator.blocks, matrix.shape[1])
    watch = None
    if held is not None:
        columns = GivenColumns(held.table.numbers())
        watch = HeldOut(held, columns, lambda one: one.content, int(setting(estimator, "n_iter_no_change")))
    model = boost(GivenLearner(matrix, rows.weight, blocks), bag, rows.y, rows.weight, plan, watch)
    intercept, coef = model.stages[-1]
    wide = np.zeros((len(coef), matrix.shape[1]))
    for t, one in enumerate(model.hypotheses):
        wide[:, one.content] = coef[:, t]
    return FittedRules(model, ColumnScore(wide, intercept), None)


def _checked_blocks(blocks: Any, n_columns: int) -> list[list[int]] | None:
    """Every block a list of column numbers, every column in some block: else the risk need not reach its infimum."""
    if blocks is None:
        return None
    lists = [[int(j) for j in np.atleast_1d(block)] for block in blocks]
    named = {j for block in lists for j in block}
    outside = sorted(j for j in named if not 0 <= j < n_columns)
    if outside or not lists or not all(lists):
        raise ValueError(f"blocks must be non-empty lists of column numbers from 0 to {n_columns - 1}; got {blocks!r}.")
    missed = sorted(set(range(n_columns)) - named)
    if missed:
        raise ValueError(
            f"blocks never visits the columns {missed}; every column must recur for the risk to reach its infimum. "
            "Add them to a block, or leave them out of X."
        )
    return [list(dict.fromkeys(block)) for block in lists]


class HeldOut:
    """The loss on rows kept apart, and the round where it was least."""

    def __init__(self, rows: LabelledRows, columns: Any, content: Callable[[Hypothesis], Any], patience: int) -> None:
        self.rows, self.columns, self.content, self.patience = rows, columns, content, patience
        self.best_stage, self.best_loss = 0, np.inf

    def ends(self, model: BoostedModel) -> bool:
        """Whether the loss has not improved for ``patience`` rounds."""
        for one in model.hypotheses[self.columns.shape[1] :]:
            self.columns.append(self.content(one))
        stages = [len(model.stages) - 1] if len(model.stages) > 2 else range(len(model.stages))
        for stage in stages:
            value = self._loss(model.rounds[-1].loss, *model.stages[stage])
            if value < self.best_loss:
                self.best_stage, self.best_loss = stage, value
        return len(model.stages) - 1 - self.best_stage >= self.patience

    def _loss(self, loss: Loss, intercept: np.ndarray, coef: np.ndarray) -> float:
        padded = np.zeros((len(coef), self.columns.shape[1]))
        padded[:, : coef.shape[1]] = coef
        total = 0.0
        for y, a, b in zip(self.rows.y, padded, intercept, strict=True):
            total += float(self.rows.weight @ loss.value(y * (b + self.columns.apply(a))))
        return total

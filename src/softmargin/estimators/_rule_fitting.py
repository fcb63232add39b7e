"""Fitting boosted hypotheses: from checked rows to a model, a scorer of new rows and the rules in words.

Each learner is one function from the estimator's parameters and the training rows to a ``FittedRules``; rows held out
for early stopping are watched by ``HeldOut``, which needs nothing of a learner but the columns of its hypotheses. Few
rows are held out in turn, fold by fold, and the rounds that serve them best on average are run again on all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils import check_random_state

from softmargin.estimators._base.training_set import TrainingSet
from softmargin.estimators._rule_parameters import n_threads, setting
from softmargin.expansions import BinnedTable, ColumnScore, Rule, RuleColumns, RuleScore, Table, cover
from softmargin.losses import Loss
from softmargin.solvers import Solution
from softmargin.solvers.rules import (
    BoostedModel,
    BoostedTrees,
    GivenColumns,
    GivenLearner,
    Hypothesis,
    Plan,
    RuleLearner,
    RuleSearch,
    boost,
)

__all__ = ["FittedRules", "LabelledRows", "boosted_solution", "fit_hypotheses", "held_out_parts", "total_curve"]

_FOLDS, _FOLDED = 3, 1000  # from so many rows on one part held out can tell two numbers of rounds apart
_FEW_ROWS, _FEW_ROUNDS = 100, 50  # of fewer rows not even folds can


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
    held_out: tuple[float, ...] = ()  # loss on rows held out after each round

    @property
    def coef(self) -> np.ndarray:
        """Coefficients as a solution holds them: a vector for two classes."""
        coef = self.score.coef.copy()
        return coef if len(coef) > 1 else coef[0]


def fit_hypotheses(estimator: Any, rows: LabelledRows, data: TrainingSet, bag: list[Loss], plan: Plan) -> FittedRules:
    """Boost on all rows; with early stopping, as many rounds as serve rows held out best."""
    fit = _fit_given if estimator.learner == "given" else _fit_rules
    if not setting(estimator, "early_stopping") or plan.n_rounds == 0:
        return fit(estimator, rows, None, bag, plan)
    if estimator.early_stopping is None and (len(data.codes) < _FEW_ROWS or np.bincount(data.codes).min() < 2):
        return fit(estimator, rows, None, bag, replace(plan, n_rounds=min(plan.n_rounds, _FEW_ROUNDS)))
    curves, weight = [], 0.0
    for train, test in held_out_parts(estimator, data):
        held = rows.take(test)
        curves.append(fit(estimator, rows.take(train), held, bag, plan).held_out or (0.0,))  # no rule has an edge
        weight += float(held.weight.sum())
    held_out = total_curve(curves) / weight
    fitted = fit(estimator, rows, None, bag, replace(plan, n_rounds=int(np.argmin(held_out))))
    return replace(fitted, held_out=tuple(held_out.tolist()))


def total_curve(curves: Sequence[Sequence[float]]) -> np.ndarray:
    """The sum of curves of unequal lengths; a run that was stopped stays where it was."""
    longest = max(len(curve) for curve in curves)
    return np.sum([np.pad(curve, (0, longest - len(curve)), mode="edge") for curve in curves], axis=0)


def held_out_parts(estimator: Any, data: TrainingSet) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to fit on and to keep apart: folds of few rows, one part of many or where early stopping is asked for."""
    if estimator.early_stopping is not None or len(data.codes) >= _FOLDED:
        return [_hold_out(estimator, data)]
    folds = StratifiedKFold(
        min(_FOLDS, int(np.bincount(data.codes).min())), shuffle=True, random_state=_seed(estimator)
    )
    return list(folds.split(data.codes, data.codes))


def _seed(estimator: Any) -> int:
    """Of the rows held out: without a seed of one's own two fits still hold out the same."""
    state = check_random_state(0 if estimator.random_state is None else estimator.random_state)
    return int(state.randint(np.iinfo(np.int32).max))


def boosted_solution(
    model: BoostedModel | BoostedTrees, coef: np.ndarray, intercept: np.ndarray, tol: float
) -> Solution:
    """The certificate of a boosted model; what is not finite is refused, what is not solved is said."""
    if not np.isfinite(coef).all() or not np.isfinite(intercept).all():
        raise ArithmeticError("A coefficient is not finite: the loss overflows on these weights; raise smoothing.")
    solution = Solution(
        coef=coef,
        intercept=float(intercept[0]),
        dual=None,
        objective=model.risks[-1],
        gap=model.gap,
        n_iter=len(model.risks) - 1,
        converged=model.gap <= tol,
        certificate=model.certificate,
        history=model.risks,
        status=model.stopped,
    )
    if not solution.converged:
        warnings.warn(
            f"Boosting ended with a {model.certificate} of {model.gap:.1e}, above tol={tol:g}: weights so unequal, or "
            "classes so well separated, that the loss has no digits left. Raise smoothing or tol, or give weights of "
            "similar size.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return solution


def _hold_out(estimator: Any, data: TrainingSet) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers to fit on and to keep apart, stratified by class."""
    splitter = StratifiedShuffleSplit(1, test_size=estimator.validation_fraction, random_state=_seed(estimator))
    try:
        return next(splitter.split(np.zeros(len(data.codes)), data.codes))
    except ValueError as error:
        raise ValueError(
            f"early_stopping=True cannot hold out validation_fraction={estimator.validation_fraction!r} of "
            f"{len(data.codes)} rows: {error} Set early_stopping=False or change validation_fraction."
        ) from None


def _fit_rules(
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
    losses = () if watch is None else tuple(watch.losses)
    return FittedRules(model, RuleScore(tuple(rules), coef, intercept), rules, losses)


def _fit_given(
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
    losses = () if watch is None else tuple(watch.losses)
    return FittedRules(model, ColumnScore(wide, intercept), None, losses)


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
    """The loss on rows kept apart after each round, and the round where it was least."""

    def __init__(self, rows: LabelledRows, columns: Any, content: Callable[[Hypothesis], Any], patience: int) -> None:
        self.rows, self.columns, self.content, self.patience = rows, columns, content, patience
        self.best_stage = 0
        self.losses: list[float] = []

    def ends(self, model: BoostedModel) -> bool:
        """Whether the loss has not improved for ``patience`` rounds."""
        for one in model.hypotheses[self.columns.shape[1] :]:
            self.columns.append(self.content(one))
        for stage in range(len(self.losses), len(model.stages)):
            self.losses.append(self._loss(model.rounds[-1].loss, *model.stages[stage]))
        self.best_stage = int(np.argmin(self.losses))
        return len(self.losses) - 1 - self.best_stage >= self.patience

    def _loss(self, loss: Loss, intercept: np.ndarray, coef: np.ndarray) -> float:
        padded = np.zeros((len(coef), self.columns.shape[1]))
        padded[:, : coef.shape[1]] = coef
        total = 0.0
        for y, a, b in zip(self.rows.y, padded, intercept, strict=True):
            total += float(self.rows.weight @ loss.value(y * (b + self.columns.apply(a))))
        return total

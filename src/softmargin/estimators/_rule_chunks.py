"""Fitting rules to rows in chunks: the same boosting, whose every question is a pass over coded chunks."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from softmargin.estimators._base.chunked_set import ChunkedTrainingSet
from softmargin.estimators._rule_fitting import FittedRules
from softmargin.estimators._rule_parameters import plan_of, setting
from softmargin.estimators._surrogates import surrogates
from softmargin.expansions import ClassSigns, CodedChunks, Rule, RuleScore
from softmargin.solvers.rules import ChunkedRules, boost_state

__all__ = ["fit_chunked_rules"]

_N_RULES = 100  # where nobody gives a number: rows that need chunks are too many to be overfitted by these


def _check(estimator: Any) -> None:
    """Refuse what needs all rows in memory."""
    needed = {
        "learner": (estimator.learner == "rules", "learner='rules'"),
        "search": (estimator.search == "beam", "search='beam'"),
        "criterion": (estimator.criterion == "edge", "criterion='edge'"),
        "l1": (estimator.l1 == 0, "l1=0"),
        "early_stopping": (not setting(estimator, "early_stopping"), "early_stopping=False"),
        "loss": (len(surrogates(estimator.loss)) == 1, "one loss"),
    }
    for name, (holds, remedy) in needed.items():
        if not holds:
            raise ValueError(f"Rules on chunked rows need {remedy}; got {name}={getattr(estimator, name)!r}.")


def fit_chunked_rules(
    estimator: Any, data: ChunkedTrainingSet, signs: tuple[ClassSigns, ...]
) -> tuple[FittedRules, np.ndarray]:
    """Rules found by passes, and the weight that each covers of each class, (classes, rules)."""
    if estimator.n_rules is None:
        estimator = copy(estimator)
        estimator.n_rules = _N_RULES
    _check(estimator)
    total = data.total_weight
    coded = CodedChunks.of(data.X, data.weight, int(setting(estimator, "max_bins")))
    rows = ChunkedRules(
        coded,
        signs,
        data.weight,
        total,
        max_literals=int(setting(estimator, "max_literals")),
        beam=int(estimator.beam),
        room=data.X.memory_limit,
    )
    plan, bag = plan_of(estimator, total, None), surrogates(estimator.loss)
    state = rows.state(bag[0], plan.smoothing, plan.fit_intercept)
    try:
        model = boost_state(state, bag, plan)
        terms = [one.terms for one in model.hypotheses]
        covered = state.coverage(terms, data.codes)
    finally:
        state.close()
    rules = [Rule.of([coded.binned.literal(*term) for term in one]) for one in terms]
    intercept, coef = model.stages[-1]
    return FittedRules(model, RuleScore(tuple(rules), coef, intercept), rules), covered

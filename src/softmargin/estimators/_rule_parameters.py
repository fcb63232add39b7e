"""The parameters of rule boosting: what is allowed, and what None and "auto" mean for each learner.

A number of rules that is given is to be used well: they are boosted fully corrected, without shrinkage, as given
columns are. Where none is given, rules, like trees, are many and weak: their steps are short and their number is
decided on rows held out. Learning rate, share of columns, least leaf and patience of trees were settled on development
tables of `python -m benchmarks quality` (log loss on phoneme, churn, spambase and magic, 3000 rows: .291, .147, .114,
.331; scikit-learn's histogram boosting by default: .296, .147, .120, .350).
"""

from __future__ import annotations

from typing import Any

from joblib import effective_n_jobs

from softmargin._constraints import BOOLEAN, NONE, Constraint, integer, number, one_of
from softmargin.estimators._base.parameters import NONNEGATIVE
from softmargin.estimators._surrogates import TUNINGS, surrogates
from softmargin.losses import Loss
from softmargin.solvers.rules import SEARCHES, UPDATES, Plan, TreePlan

__all__ = ["CONSTRAINTS", "LEARNERS", "check_combination", "n_threads", "plan_of", "setting", "tree_plan_of"]

LEARNERS = ("rules", "trees", "given")
_MOST_SMOOTHING = 30.0  # pseudo-examples per rule: beyond 300 rows the data say more than the prior
_BY_LEARNER: dict[str, dict[str, Any]] = {
    "rules": {"max_literals": 2, "learning_rate": 1.0, "early_stopping": False, "max_bins": 64,
              "n_iter_no_change": 10, "update": "corrective"},
    "many rules": {"n_rules": 300, "max_literals": 3, "learning_rate": 0.2, "early_stopping": True, "max_bins": 64,
                   "n_iter_no_change": 25, "update": "single"},
    "trees": {"n_rules": 1000, "max_literals": 64, "learning_rate": 0.1, "early_stopping": True, "max_bins": 128,
              "n_iter_no_change": 25, "update": "corrective"},
    "given": {"n_rules": 100, "max_literals": 1, "learning_rate": 1.0, "early_stopping": False, "max_bins": 64,
              "n_iter_no_change": 10, "update": "corrective"},
}  # fmt: skip

_TREE_SMOOTHING = 4.0
_SHARE = number("a number above 0 and at most 1", lambda value: 0 < value <= 1)
_INSIDE = number("a number strictly between 0 and 1", lambda value: 0 < value < 1)
_LEAST_COST = 1e-30  # of a rule, beside losses of one: less is none
CONSTRAINTS: dict[str, Constraint] = {
    "learner": one_of(*LEARNERS),
    "n_rules": NONE | integer(0, 100_000),
    "max_literals": NONE | integer(1, 10_000),
    "update": NONE | one_of(*UPDATES),
    "search": one_of(*SEARCHES),
    "beam": integer(2),
    "criterion": one_of("edge", "exact"),
    "max_bins": NONE | integer(2, 256),
    "max_leaves": integer(2, 2**20),
    "min_leaf_weight": NONNEGATIVE,
    "row_fraction": _SHARE,
    "column_fraction": _SHARE,
    "learning_rate": NONE | _SHARE,
    "smoothing": one_of("auto") | NONNEGATIVE,
    "l1": number("0 or a number of at least 1e-30", lambda value: value == 0 or value >= _LEAST_COST),
    "tuning": one_of(*TUNINGS),
    "early_stopping": NONE | BOOLEAN,
    "validation_fraction": _INSIDE,
    "n_iter_no_change": NONE | integer(1),
    "min_edge": NONNEGATIVE,
    "renormalize": BOOLEAN,
    "recur": integer(1),
    "tol": _INSIDE,
}


def setting(estimator: Any, name: str) -> Any:
    """A parameter, None replaced by what it means for the learner."""
    value = getattr(estimator, name)
    many = estimator.learner == "rules" and estimator.n_rules is None
    return _BY_LEARNER["many rules" if many else estimator.learner][name] if value is None else value


def n_threads(estimator: Any) -> int:
    """How many threads ``n_jobs`` asks for, as joblib counts them."""
    return int(effective_n_jobs(estimator.n_jobs))


def check_combination(estimator: Any) -> None:
    """Refuse parameters that do not go together."""
    if estimator.blocks is not None and estimator.learner != "given":
        raise ValueError(f"blocks are columns of X and need learner='given'; got learner={estimator.learner!r}.")
    bag: list[Loss] = surrogates(estimator.loss)
    by_round = len(bag) > 1 and estimator.tuning in ("F", "E")
    update = setting(estimator, "update")
    if by_round and (update != "single" or estimator.learner == "trees"):
        raise ValueError(
            f"tuning={estimator.tuning!r} changes the loss from round to round and needs update='single' and rules or "
            f"given columns; got update={update!r}, learner={estimator.learner!r}. "
            "Use tuning='cv' or 'F*' to choose one loss for the whole fit."
        )
    if estimator.renormalize and (estimator.update != "single" or estimator.learner == "trees"):
        raise ValueError(
            "renormalize=True undoes part of every step, so it needs update='single' and rules or given columns; got "
            f"update={estimator.update!r}, learner={estimator.learner!r}."
        )


def plan_of(estimator: Any, total: float, prefer: str | None) -> Plan:
    """How to boost rules or given columns on rows of this total weight."""
    auto = min(_MOST_SMOOTHING, total / 10)
    return Plan(
        n_rounds=int(setting(estimator, "n_rules")),
        update=setting(estimator, "update"),
        fit_intercept=estimator.fit_intercept,
        learning_rate=float(setting(estimator, "learning_rate")),
        smoothing=auto if estimator.smoothing == "auto" else float(estimator.smoothing),
        min_edge=float(estimator.min_edge),
        recur=int(estimator.recur),
        n_candidates=16 if estimator.criterion == "exact" else 1,
        tol=float(estimator.tol),
        prefer=prefer,
        renormalise=bool(estimator.renormalize),
    )


def tree_plan_of(estimator: Any, n_rounds: int, seed: int) -> TreePlan:
    """How to boost trees."""
    return TreePlan(
        n_rounds=n_rounds,
        learning_rate=float(setting(estimator, "learning_rate")),
        smoothing=_TREE_SMOOTHING if estimator.smoothing == "auto" else float(estimator.smoothing),
        max_leaves=int(estimator.max_leaves),
        max_depth=int(setting(estimator, "max_literals")),
        min_weight=float(estimator.min_leaf_weight),
        row_fraction=float(estimator.row_fraction),
        column_fraction=float(estimator.column_fraction),
        fit_intercept=estimator.fit_intercept,
        tol=float(estimator.tol),
        seed=seed,
        n_threads=n_threads(estimator),
    )

"""How ``TunedClassifier`` judges one family of candidates that differ in ``C`` alone.

``PathJudge`` takes classifiers that are one problem (P): a warm-started path, honest scores, no cold refit. It asks the
classifier for the problem its parameters make of the data and for its solver, and nothing else.
``RefitJudge`` takes any other classifier, and those whose probabilities are more than their loss's link, and refits it
on each fold or perturbed data set. ``PipelineJudge`` takes a pipeline, whose steps learn from the rows of a fold alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import LeaveOneOut, StratifiedShuffleSplit, check_cv
from sklearn.utils.metaestimators import _safe_split

from softmargin._constraints import POSITIVE, integer, one_of, several
from softmargin.expansions import Kernel
from softmargin.losses import Loss
from softmargin.tuning._gkl import LabelledRows, Perturbation, gkl_criterion, perturb
from softmargin.tuning._left_out_scores import (
    auto_costs,
    fitted_path,
    influence_scores,
    left_out_scores,
    path_probabilities,
)
from softmargin.tuning._null_df import null_criterion, null_df
from softmargin.tuning._scoring import proba_costs, row_costs, soft_errors
from softmargin.tuning.criteria import FORMULAS

__all__ = ["Judging", "PathJudge", "PipelineJudge", "RefitJudge", "has_influences"]

DEFAULT_COSTS = 30
_REFIT_COSTS = (1e-3, 1e3, 13)


def has_influences(loss: Loss) -> bool:
    """Whether what leaving a row out would do is known: by a Newton step, or because rows stay on one corner.

    Rows gather where the slope jumps upwards; none stays where it jumps downwards, as at the cap of a truncated loss.
    """
    return loss.smooth or len({kink.at for kink in loss.kinks if kink.jump > 0}) <= 1


@dataclass(frozen=True)
class Judging:
    """How candidates are judged: criterion and scoring as resolved, the folds, and the draws of the perturbations."""

    criterion: str
    scoring: str
    cv: Any = 5
    seed: Any = 0
    n_draws: int = 25
    tau: float = 0.5
    perturbation: str = "literal"
    df: str = "trace"


N_COSTS = integer(1, 10_000)  # closer together than any criterion can tell apart
_COSTS = one_of("auto") | N_COSTS | several("a list of positive, finite numbers", POSITIVE.allows)


class _Judge:
    """What both judges share: the folds, the costs and the summary of honest rows."""

    def __init__(self, options: Judging, template: Any, classes: np.ndarray, chosen: Any) -> None:
        _COSTS.check("grid['C']", chosen)
        self.options, self.template, self.classes, self.chosen = options, template, classes, chosen
        self.criterion, self.scoring = options.criterion, options.scoring
        self.solutions: list[Any] = []  # of all rows, one per cost, where the criterion came by them
        self.expansion: Any = None  # of all rows, where the family has one

    @property
    def n_costs(self) -> int:
        """How many candidates there are."""
        if isinstance(self.chosen, str):
            return DEFAULT_COSTS
        return int(self.chosen) if np.ndim(self.chosen) == 0 else len(self.chosen)

    def judge(self, data: Any, X: Any, y: Any, weight: Any) -> Iterator[tuple[float, float, float]]:
        """``C``, criterion and standard error of every candidate."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the winner is refitted and warns for itself
            costs, values, errors = self._judge(data, X, y, weight)
        yield from zip(map(float, costs), map(float, values), map(float, errors), strict=True)

    def _judge(self, data: Any, X: Any, y: Any, weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _costs(self, automatic: Any) -> np.ndarray:
        chosen = self.chosen
        if isinstance(chosen, str):
            return automatic(None)
        if np.ndim(chosen) == 0:
            return automatic(int(chosen))
        return np.sort(np.asarray(chosen, dtype=float))

    def _folds(self, codes: np.ndarray, rows: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Folds of the rows that count; ``rows`` are their numbers, which folds of one's own refer to."""
        blank, cv = np.zeros(len(codes)), self.options.cv
        if self.criterion == "loo":
            return list(LeaveOneOut().split(blank))
        if self.criterion == "holdout":
            share = 1 / cv if isinstance(cv, int) else 0.2
            return list(StratifiedShuffleSplit(1, test_size=share, random_state=self.options.seed).split(blank, codes))
        if isinstance(cv, int):
            smallest = int(np.bincount(codes).min())
            if smallest < 2:
                raise ValueError("a class has one sample only, so no fold can hold it out; use criterion='alo'.")
            cv = check_cv(min(cv, smallest), codes, classifier=True)
            cv.shuffle, cv.random_state = True, self.options.seed
        found = check_cv(cv, codes, classifier=True).split(blank, codes)
        if hasattr(cv, "split"):
            return list(found)
        return [(np.flatnonzero(np.isin(rows, train)), np.flatnonzero(np.isin(rows, test))) for train, test in found]

    def _perturb(self, rows: LabelledRows) -> list[Perturbation]:
        if len(self.classes) > 2:
            raise ValueError("criterion='gkl' is for two classes; use 'alo' or 'cv'.")
        options = self.options
        return perturb(
            rows,
            n_draws=options.n_draws,
            tau=options.tau,
            kind=options.perturbation,
            random_state=self.options.seed,
        )

    @staticmethod
    def _gkl(rows: LabelledRows, whole: np.ndarray, draws: list[Any], moved: list[Any]) -> Any:
        """Criterion and error of each cost from the fits of every draw, common random numbers across costs."""
        place = {id(draw): k for k, draw in enumerate(draws)}

        def refitted(c: int) -> Callable[[Any], Any]:
            return lambda draw: moved[place[id(draw)]][c]

        return np.array([gkl_criterion(rows, p, draws, refitted(c)) for c, p in enumerate(whole)]).T

    @staticmethod
    def _summary(rows: np.ndarray, weight: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weighted mean over the rows that were judged, and its standard error; a row of count two is two rows."""
        seen = np.isfinite(rows[0])
        rows, share = rows[:, seen], weight[seen] / weight[seen].sum()
        mean = rows @ share
        # weights of 1e-100 count as next to no rows, and scores may be infinitely wrong: nothing is known
        with np.errstate(over="ignore", invalid="ignore"):
            error = np.sqrt(np.square(rows - mean[:, None]) @ (np.square(share) / count[seen]))
        return mean, np.where(np.isfinite(mean), error, np.inf)


class PathJudge(_Judge):
    """One problem (P) along its path."""

    def __init__(self, options: Judging, template: Any, classes: np.ndarray, chosen: Any) -> None:
        super().__init__(options, template, classes, chosen)
        self.starts: list[Any] = []  # of each problem's path, where something near it is known

    def _problems(self, data: Any) -> tuple[Any, list[Any]]:
        """The template of the path, and the problem of every function at ``C = 1``."""
        template = clone(self.template).set_params(C=1.0)
        template.classes_ = self.classes
        # candidates are fitted with their own class weights and judged with those of the classifier given
        fitted = replace(data, weight=template._weigh(data.codes, data.counts))
        fitted.shared = self.expansion = self._expanded(template, fitted)
        codes = [1] if len(self.classes) == 2 else range(len(self.classes))
        return template, [template._problem(fitted, data.signs(code)) for code in codes]

    def _expanded(self, template: Any, data: Any) -> Any:
        return template._prepare(data)

    def _judge(self, data: Any, X: Any, y: Any, weight: Any) -> Any:
        template, problems = self._problems(data)
        costs = self._costs(lambda n: auto_costs(problems[0], n or DEFAULT_COSTS))
        solve = self._recorded(template._solve, problems)
        if self.options.df == "null":
            judged = [self._by_null_labels(problem, costs, solve) for problem in problems]
            return costs, np.sum(judged, axis=0), np.full(len(costs), np.nan)
        if self.criterion in FORMULAS and self.criterion != "alo":
            formula = FORMULAS[self.criterion]
            values = [[formula(fit) for fit in fitted_path(problem, costs, solve, data.counts)] for problem in problems]
            return costs, np.sum(values, axis=0), np.full(len(costs), np.nan)
        if self.criterion == "gkl":
            return costs, *self._judge_gkl(problems[0], costs, solve, data.counts)
        starts = self.starts or [None] * len(problems)
        columns = [
            self._honest(problem, costs, _from(start, solve), data)
            for problem, start in zip(problems, starts, strict=True)
        ]
        return costs, *self._judged(problems, data, columns)

    def _judged(self, problems: list[Any], data: Any, columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Criterion and standard error of the honest scores of every function, one row per cost."""
        scores = columns[0] if len(columns) == 1 else np.stack(columns, axis=-1)
        rows = np.array([self._rows(problems[0].loss, data, one) for one in scores])
        return self._summary(rows, data.weight, data.counts)

    def _by_null_labels(self, problem: Any, costs: np.ndarray, solve: Any) -> np.ndarray:
        """AIC or BIC with degrees of freedom from permuted labels."""
        plain, options = self.template._solve, self.options
        df = null_df(problem, costs, plain, n_draws=options.n_draws, random_state=options.seed)
        return null_criterion(self.criterion, problem, costs, solve, df)

    def _recorded(self, solve: Any, problems: list[Any]) -> Any:
        """``solve``, remembering the solutions of the one problem with all rows."""
        if len(problems) > 1:
            return solve
        whole = problems[0]

        def remember(problem: Any, start: Any) -> Any:
            solution = solve(problem, start)
            if problem.expansion is whole.expansion:
                self.solutions.append(solution)
            return solution

        return remember

    def _honest(self, problem: Any, costs: np.ndarray, solve: Any, data: Any) -> np.ndarray:
        closed_form = self.criterion == "loo" and problem.loss.name == "least_squares"
        if self.criterion == "alo" or closed_form:
            return influence_scores(problem, costs, solve, data.counts)
        return left_out_scores(problem, costs, solve, self._folds(data.codes, data.rows))

    def _rows(self, loss: Any, data: Any, scores: np.ndarray) -> np.ndarray:
        seen = np.isfinite(scores if scores.ndim == 1 else scores[:, 0])
        rows = np.full(len(seen), np.nan)
        rows[seen] = row_costs(self.scoring, loss.of_rows(seen), data.codes[seen], scores[seen], data.weight[seen])
        return rows

    def _judge_gkl(self, problem: Any, costs: np.ndarray, solve: Any, count: np.ndarray) -> Any:
        whole = path_probabilities(problem, costs, solve)
        rows = LabelledRows((problem.y + 1) / 2, whole[len(costs) // 2], _unequal(count))
        draws = self._perturb(rows)
        moved = [path_probabilities(problem, costs, solve, draw, count) for draw in draws]
        return self._gkl(rows, whole, draws, moved)


def _from(first: Any, solve: Any) -> Any:
    """``solve``, with a start for the path that begins without one."""
    return solve if first is None else lambda problem, start: solve(problem, first if start is None else start)


def _unequal(weight: np.ndarray) -> np.ndarray | None:
    """The weights, None where they are all equal."""
    return None if np.ptp(weight) == 0 else weight


class RefitJudge(_Judge):
    """Any other classifier, refitted for every candidate."""

    def _judge(self, data: Any, X: Any, y: Any, weight: Any) -> Any:
        costs = self._costs(lambda n: np.geomspace(*_REFIT_COSTS[:2], n or _REFIT_COSTS[2]))
        count = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
        chosen = np.flatnonzero(count > 0)  # rows of zero weight are no rows
        X, y = _safe_split(self.template, X, np.asarray(y), chosen)
        if self.criterion == "gkl":
            return costs, *self._judge_gkl(costs, data, X, y)
        codes, count = np.searchsorted(self.classes, y), count[chosen]
        rows = np.full((len(costs), len(y)), np.nan)
        for train, test in self._folds(codes, chosen):
            part, labels = _safe_split(self.template, X, y, train)
            held = _safe_split(self.template, X, y, test, train)[0]
            classifier, part, held = self._prepared(part, labels, held)
            given = {} if weight is None else {"sample_weight": count[train]}
            for k, cost in enumerate(costs):
                fit = clone(classifier).set_params(C=cost).fit(part, labels, **given)
                rows[k, test] = self._row_costs(fit, held, codes[test], count[test])
        return costs, *self._summary(rows, count, count)

    def _prepared(self, part: Any, labels: np.ndarray, held: Any) -> tuple[Any, Any, Any]:
        """The classifier to fit for every cost, and the rows of a fold as it reads them."""
        return self.template, part, held

    def _row_costs(self, fit: Any, X: Any, codes: np.ndarray, count: np.ndarray) -> np.ndarray:
        known = np.isin(self.classes, fit.classes_)  # folds of one's own may leave a class out
        if self.scoring == "soft_error":
            errors, seen = np.ones(len(codes)), known[codes]
            within = (np.cumsum(known) - 1)[codes[seen]]
            errors[seen] = soft_errors(within, np.asarray(fit.decision_function(X))[seen], count[seen])
            return errors
        if self.scoring == "error" or self.scoring == "loss":
            return (fit.predict(X) != self.classes[codes]).astype(float)
        P = np.zeros((len(codes), len(known)))
        P[:, known] = fit.predict_proba(X)
        return proba_costs(self.scoring, codes, P)

    def _judge_gkl(self, costs: np.ndarray, data: Any, X: Any, y: np.ndarray) -> Any:
        codes, n, weight = data.codes, len(data.codes), _unequal(data.counts)
        exact = self._bracketing() is not None and weight is None
        along = self._bracketing_paths(data) if exact else self._refits(X, y, weight)

        def probabilities(rows: np.ndarray, drawn: np.ndarray) -> np.ndarray:
            if drawn.min() == drawn.max():
                found = np.full((len(costs), n), float(drawn[0]))
            else:
                found = along(rows, drawn.astype(int), costs)
            return np.clip(found, 0.5 / n, 1 - 0.5 / n)

        whole = probabilities(np.arange(n), codes)
        given = LabelledRows(codes.astype(float), whole[len(costs) // 2], weight)
        draws = self._perturb(given)
        moved = [probabilities(draw.rows, draw.labels) for draw in draws]
        return self._gkl(given, whole, draws, moved)

    def _refits(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
        """P(code 1) of all rows for every C, fitted to some of them; a place keeps its weight."""
        given = {} if weight is None else {"sample_weight": weight}

        def along(rows: np.ndarray, codes: np.ndarray, costs: np.ndarray) -> np.ndarray:
            part, _ = _safe_split(self.template, X, y, rows)
            every, _ = _safe_split(self.template, X, y, np.arange(len(y)), rows)
            fits = [clone(self.template).set_params(C=cost).fit(part, self.classes[codes], **given) for cost in costs]
            return np.array([fit.predict_proba(every)[:, 1] for fit in fits])

        return along

    def _bracketing(self) -> Any:
        """The exact-path route of a bracketed classifier, where it has one."""
        plain = getattr(self.template, "method", None) == "svm" and getattr(self.template, "n_components", 1) is None
        return getattr(self.template, "_probabilities_along", None) if plain else None

    def _bracketing_paths(self, data: Any) -> Any:
        kernel = self.template._kernel(data) or Kernel("linear")
        K, along = np.asarray(kernel(data.X, data.X), dtype=float), self._bracketing()
        return lambda rows, codes, costs: along(K, codes, rows, costs)


class PipelineJudge(RefitJudge):
    """A pipeline: its steps are fitted to the training rows of each fold once, its classifier for every cost."""

    def _prepared(self, part: Any, labels: np.ndarray, held: Any) -> tuple[Any, Any, Any]:
        steps, classifier = clone(self.template[:-1]), self.template[-1]
        if not len(steps):
            return classifier, part, held
        return classifier, steps.fit_transform(part, labels), steps.transform(held)

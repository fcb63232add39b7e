"""How ``TunedClassifier`` judges one family of candidates that differ in ``C`` alone.

``PathJudge`` takes classifiers that are one problem (P): a warm-started path, honest scores, no cold refit.
``RefitJudge`` takes any other softmargin classifier and refits it on each fold or perturbed data set.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import LeaveOneOut, StratifiedShuffleSplit, check_cv
from sklearn.utils.metaestimators import _safe_split

from softmargin.estimators._base.classifier import TrainingSet
from softmargin.expansions import Kernel
from softmargin.tuning import (
    Perturbation,
    aic,
    auto_costs,
    bic,
    egacv,
    fitted_path,
    gacv,
    gkl_criterion,
    influence_scores,
    left_out_scores,
    path_probabilities,
    perturb,
    proba_costs,
    row_costs,
    soft_errors,
)

__all__ = ["FORMULAS", "PathJudge", "RefitJudge"]

FORMULAS = {"gacv": gacv, "egacv": egacv, "aic": aic, "bic": bic}

_DEFAULT_COSTS = 30
_REFIT_COSTS = (1e-3, 1e3, 13)


class _Judge:
    """What both judges share: the folds, the costs and the summary of honest rows."""

    def __init__(self, options: Any, template: Any, scoring: str, chosen: Any) -> None:
        self.options, self.template, self.scoring, self.chosen = options, template, scoring, chosen
        self.criterion, self.classes = options.criterion_, options.classes_
        self.solutions: list[Any] = []  # of all rows, one per cost, where the criterion came by them
        self.expansion: Any = None  # of all rows, where the family has one

    def judge(self, data: TrainingSet, X: Any, y: Any, weight: Any) -> Iterator[tuple[float, float, float]]:
        """``C``, criterion and standard error of every candidate."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the winner is refitted and warns for itself
            costs, values, errors = self._judge(data, X, y, weight)
        yield from zip(map(float, costs), map(float, values), map(float, errors), strict=True)

    def _costs(self, automatic: Any) -> np.ndarray:
        chosen = self.chosen
        if isinstance(chosen, str) and chosen == "auto":
            return automatic(None)
        if isinstance(chosen, (int, np.integer)):
            return automatic(int(chosen))
        costs = np.sort(np.asarray(chosen, dtype=float))
        if costs.ndim != 1 or not len(costs) or not np.all((costs > 0) & np.isfinite(costs)):
            raise ValueError(f"grid['C'] must be 'auto', an int or positive numbers; got {chosen!r}.")
        return costs

    def _folds(self, codes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        blank, cv = np.zeros(len(codes)), self.options.cv
        if self.criterion == "loo":
            return list(LeaveOneOut().split(blank))
        if self.criterion == "holdout":
            share = 1 / cv if isinstance(cv, int) else 0.2
            return list(StratifiedShuffleSplit(1, test_size=share, random_state=self._seed()).split(blank, codes))
        if isinstance(cv, int):
            smallest = int(np.bincount(codes).min())
            if smallest < 2:
                raise ValueError("a class has one sample only, so no fold can hold it out; use criterion='alo'.")
            cv = check_cv(min(cv, smallest), codes, classifier=True)
            cv.shuffle, cv.random_state = True, self._seed()
        return list(check_cv(cv, codes, classifier=True).split(blank, codes))

    def _seed(self) -> Any:
        return 0 if self.options.random_state is None else self.options.random_state

    def _perturb(self, labels: np.ndarray, initial: np.ndarray) -> list[Perturbation]:
        if len(self.classes) > 2:
            raise ValueError("criterion='gkl' is for two classes; use 'alo' or 'cv'.")
        options = self.options
        return perturb(
            labels,
            initial,
            n_draws=options.n_draws,
            tau=options.tau,
            kind=options.perturbation,
            random_state=self._seed(),
        )

    @staticmethod
    def _gkl(labels: np.ndarray, whole: np.ndarray, initial: np.ndarray, draws: list[Any], moved: list[Any]) -> Any:
        """Criterion and error of each cost from the fits of every draw, common random numbers across costs."""
        place = {id(draw): k for k, draw in enumerate(draws)}
        judged = [
            gkl_criterion(labels, p, initial, draws, lambda draw, c=c: moved[place[id(draw)]][c])
            for c, p in enumerate(whole)
        ]
        return np.array(judged).T

    @staticmethod
    def _summary(rows: np.ndarray, weight: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weighted mean over the rows that were judged, and its standard error; a row of count two is two rows."""
        seen = np.isfinite(rows[0])
        rows, share = rows[:, seen], weight[seen] / weight[seen].sum()
        mean = rows @ share
        return mean, np.sqrt(np.square(rows - mean[:, None]) @ (np.square(share) / count[seen]))


class PathJudge(_Judge):
    """One problem (P) along its path."""

    def _judge(self, data: TrainingSet, X: Any, y: Any, weight: Any) -> Any:
        template = clone(self.template).set_params(C=1.0)
        template.classes_ = self.classes
        # candidates are fitted with their own class weights and judged with those of the classifier given
        fitted = replace(data, weight=template._weigh(data.codes, data.counts))
        fitted.shared = self.expansion = template._prepare(fitted)
        codes = [1] if len(self.classes) == 2 else range(len(self.classes))
        problems = [template._problem(fitted, data.signs(code)) for code in codes]
        costs = self._costs(lambda n: auto_costs(problems[0], n or _DEFAULT_COSTS))
        solve = self._recorded(template._solve, problems)
        if self.criterion in FORMULAS:
            formula = FORMULAS[self.criterion]
            values = [[formula(fit) for fit in fitted_path(problem, costs, solve, data.counts)] for problem in problems]
            return costs, np.sum(values, axis=0), np.full(len(costs), np.nan)
        if self.criterion == "gkl":
            return costs, *self._judge_gkl(problems[0], costs, solve)
        columns = [self._honest(problem, costs, solve, data) for problem in problems]
        scores = columns[0] if len(columns) == 1 else np.stack(columns, axis=-1)
        rows = np.array([self._rows(problems[0].loss, data, one) for one in scores])
        return costs, *self._summary(rows, data.weight, data.counts)

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

    def _honest(self, problem: Any, costs: np.ndarray, solve: Any, data: TrainingSet) -> np.ndarray:
        closed_form = self.criterion == "loo" and problem.loss.name == "least_squares"
        if self.criterion == "alo" or closed_form:
            return influence_scores(problem, costs, solve, data.counts)
        return left_out_scores(problem, costs, solve, self._folds(data.codes))

    def _rows(self, loss: Any, data: TrainingSet, scores: np.ndarray) -> np.ndarray:
        seen = np.isfinite(scores if scores.ndim == 1 else scores[:, 0])
        rows = np.full(len(seen), np.nan)
        rows[seen] = row_costs(self.scoring, loss, data.codes[seen], scores[seen], data.weight[seen])
        return rows

    def _judge_gkl(self, problem: Any, costs: np.ndarray, solve: Any) -> Any:
        labels = (problem.y + 1) / 2
        whole = path_probabilities(problem, costs, solve)
        initial = whole[len(costs) // 2]
        draws = self._perturb(labels, initial)
        moved = [path_probabilities(problem, costs, solve, draw) for draw in draws]
        return self._gkl(labels, whole, initial, draws, moved)


class RefitJudge(_Judge):
    """Any other classifier, refitted for every candidate."""

    def _judge(self, data: TrainingSet, X: Any, y: Any, weight: Any) -> Any:
        costs = self._costs(lambda n: np.geomspace(*_REFIT_COSTS[:2], n or _REFIT_COSTS[2]))
        y = np.asarray(y)
        if self.criterion == "gkl":
            return costs, *self._judge_gkl(costs, data, X, y)
        codes = np.searchsorted(self.classes, y)
        rows = np.full((len(costs), len(y)), np.nan)
        count = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
        for train, test in self._folds(codes):
            held = _safe_split(self.template, X, y, test, train)[0]
            for k, cost in enumerate(costs):
                fit = self._fit(cost, X, y, weight, train)
                rows[k, test] = self._row_costs(fit, held, codes[test], count[test])
        rows[:, count == 0] = np.nan
        return costs, *self._summary(rows, count, count)

    def _fit(self, cost: float, X: Any, y: np.ndarray, weight: Any, rows: np.ndarray) -> Any:
        part, labels = _safe_split(self.template, X, y, rows)
        given = {} if weight is None else {"sample_weight": np.asarray(weight)[rows]}
        return clone(self.template).set_params(C=cost).fit(part, labels, **given)

    def _row_costs(self, fit: Any, X: Any, codes: np.ndarray, count: np.ndarray) -> np.ndarray:
        if self.scoring == "soft_error":
            return soft_errors(codes, fit.decision_function(X), count)
        if self.scoring == "error" or self.scoring == "loss":
            return (fit.predict(X) != self.classes[codes]).astype(float)
        return proba_costs(self.scoring, codes, fit.predict_proba(X))

    def _judge_gkl(self, costs: np.ndarray, data: TrainingSet, X: Any, y: np.ndarray) -> Any:
        codes, n = np.searchsorted(self.classes, y), len(y)
        along = self._refits if self._bracketing() is None else self._bracketing_paths(data)

        def probabilities(rows: np.ndarray, drawn: np.ndarray) -> np.ndarray:
            if drawn.min() == drawn.max():
                found = np.full((len(costs), n), float(drawn[0]))
            else:
                found = along(X, y, rows, drawn.astype(int), costs)
            return np.clip(found, 0.5 / n, 1 - 0.5 / n)

        whole = probabilities(np.arange(n), codes)
        initial = whole[len(costs) // 2]
        draws = self._perturb(codes.astype(float), initial)
        moved = [probabilities(draw.rows, draw.labels) for draw in draws]
        return self._gkl(codes.astype(float), whole, initial, draws, moved)

    def _refits(self, X: Any, y: np.ndarray, rows: np.ndarray, codes: np.ndarray, costs: np.ndarray) -> np.ndarray:
        part, _ = _safe_split(self.template, X, y, rows)
        every, _ = _safe_split(self.template, X, y, np.arange(len(y)), rows)
        fits = [clone(self.template).set_params(C=cost).fit(part, self.classes[codes]) for cost in costs]
        return np.array([fit.predict_proba(every)[:, 1] for fit in fits])

    def _bracketing(self) -> Any:
        """The exact-path route of a bracketed classifier, where it has one."""
        plain = getattr(self.template, "method", None) == "svm" and getattr(self.template, "n_components", 1) is None
        return getattr(self.template, "_probabilities_along", None) if plain else None

    def _bracketing_paths(self, data: TrainingSet) -> Any:
        kernel = self.template._kernel(data) or Kernel("linear")
        K, along = np.asarray(kernel(data.X, data.X), dtype=float), self._bracketing()
        return lambda X, y, rows, codes, costs: along(K, codes, rows, costs)

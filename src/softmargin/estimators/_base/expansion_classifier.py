"""A classifier that is one solved problem (P): a loss, a penalty and an expansion make a score, the loss's link a
probability.

A family of estimators writes ``_loss`` (and ``_penalty`` where it has more to say than an elastic net) and inherits
fitting, prediction and probabilities for linear features, kernels and landmarks, for two classes or more. All scores
of several classes come from one evaluation of the kernel on the union of their support rows.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from softmargin import penalties
from softmargin.estimators._base.classifier import ClassifierBase
from softmargin.estimators._base.fitted_score import FittedScore, Scored, Stake
from softmargin.estimators._base.training_set import TrainingSet
from softmargin.estimators._base.trust import gather_robustness, judge_left_out, note_robustness
from softmargin.expansions import Expansion, expand
from softmargin.losses import Loss, NoLink
from softmargin.penalties import ElasticNet, Penalty
from softmargin.probability import couple, two_columns
from softmargin.problem import Problem
from softmargin.solvers import Solution, solve

__all__ = ["ExpansionClassifier"]

_HUGE_C = 1e8


class ExpansionClassifier(Scored, ClassifierBase):
    """Everything between a loss and a scikit-learn classifier."""

    _probabilities: tuple[str | bool, ...] = ("auto", "link", False)
    _fits_chunks = True
    _is_settled = True  # whether parameters alone decide the loss
    _is_one_problem = True  # whether a fit is one problem (P), whose path, formulas and influences can be asked for

    # -- what a family writes ------------------------------------------------------------------------------------

    def _loss(self) -> Loss:
        """The margin loss."""
        raise NotImplementedError

    def _penalty(self) -> Penalty:
        """The penalty of the coefficients: ``penalty`` where the family has it and it is given, else an elastic net."""
        given, positive = getattr(self, "penalty", None), getattr(self, "positive", False)
        if given is None:
            return ElasticNet(self.l1_ratio, positive=positive)
        return penalties.get(given, l1_ratio=self.l1_ratio or 1.0, positive=positive)

    def _engine(self, problem: Problem) -> Any:
        """Which solver: "auto", a name or an engine."""
        return getattr(self, "solver", "auto")

    def _solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """A certified minimiser of the problem, from the solution of a nearby one."""
        return solve(
            problem,
            start,
            solver=self._engine(problem),
            tol=self.tol,
            max_iter=self.max_iter,
            verbose=self.verbose,
        )

    # -- fitting -------------------------------------------------------------------------------------------------

    def _check_combination(self) -> None:
        self._penalty()
        if getattr(self, "probability", "auto") == "link" and self._is_settled:
            self._loss().log_odds(0.0)

    def _fit_from(
        self, start: Solution | None, expansion: Expansion | None, X: Any, y: Any, sample_weight: Any = None
    ) -> Any:
        super()._fit_from(start, expansion, X, y, sample_weight)
        if hasattr(self, "sample_trust_"):
            judge_left_out(self, X, y)
        return self

    def _prepare(self, data: TrainingSet) -> Expansion:
        penalty = self._penalty()
        return expand(
            data.X,
            self._kernel(data),
            n_components=self.n_components,
            random_state=self.random_state,
            kernel_norm=penalty.ridge > 0,
            free_origin=self.fit_intercept and penalty.l1_ratio == 0 and not penalty.positive,
        )

    def _problem(self, data: TrainingSet, y: np.ndarray) -> Problem:
        """The instance of (P) that the parameters and the data make."""
        return Problem(
            self._loss().of_classes(data.codes) if data.is_resident else self._loss(),
            data.shared,
            y.astype(np.float64, copy=False),
            self.C * data.weight,
            self._penalty(),
            fit_intercept=self.fit_intercept,
        )

    def _fit_binary(self, data: TrainingSet, y: np.ndarray) -> None:
        problem = self._problem(data, y)
        solution = self._solve(problem, data.start)
        self._warn_if_separated(problem, solution)
        self.solution_ = solution
        self.n_iter_ = solution.n_iter
        self._keep(data, solution.coef[:, None], [solution.intercept], Stake.of(data, self.C, [solution]))
        if not problem.loss.convex and data.is_resident:
            note_robustness(self, data, problem, solution)

    def _fit_many(self, data: TrainingSet) -> None:
        super()._fit_many(data)
        gather_robustness(self)
        solutions = self.solution_
        coef, intercepts = np.column_stack([one.coef for one in solutions]), [one.intercept for one in solutions]
        self._keep(data, coef, intercepts, Stake.of(data, self.C, solutions))

    def _keep(self, data: TrainingSet, coef: np.ndarray, intercepts: list[float], stake: Stake | None = None) -> None:
        """What prediction needs, for a column of coefficients per function."""
        self.loss_ = self._loss()
        self.n_features_selected_ = int(np.count_nonzero(np.any(coef != 0, axis=1)))
        self._score_ = FittedScore.of(data, coef, intercepts, stake)

    def _warn_if_separated(self, problem: Problem, solution: Solution) -> None:
        if (
            self.C >= _HUGE_C
            and problem.expansion.is_resident
            and np.all(problem.margins(solution.coef, solution.intercept) > 0)
        ):
            warnings.warn(
                f"The training rows are separated perfectly and C={self.C:g} hardly limits the coefficients: "
                "scores and probabilities are as extreme as C allows. Lower C.",
                UserWarning,
                stacklevel=4,
            )

    # -- prediction ----------------------------------------------------------------------------------------------

    def _decision(self, X: Any) -> np.ndarray:
        scores = self._score_(X)
        return scores.ravel() if len(self.classes_) == 2 else scores

    def _probability(self, X: Any) -> np.ndarray:
        scores = self._decision(X)
        parts = self.loss_.probability(np.asarray(scores, dtype=np.float64))
        return two_columns(parts, scores) if scores.ndim == 1 else couple(parts, scores)

    def _require_probability(self) -> None:
        if getattr(self, "probability", "auto") is False:
            raise NoLink("probability=False was asked for; fit with probability='auto' to get class probabilities.")
        try:
            (vars(self).get("loss_") or self._loss()).log_odds(0.0)
        except NoLink as error:
            own = " Or fit with probability='calibrated'." if "calibrated" in self._probabilities else ""
            raise NoLink(f"{error}{own}") from None

"""A classifier whose k score functions are fitted together and sum to zero.

A family writes ``_fit_classes`` (a solution with one column of coefficients per class) and, where it has one, the map
``_class_probability`` from scores to probabilities. Two classes are the same problem with ``f_1 = -f_2``: only the
score of ``classes_[1]`` is kept then, as scikit-learn expects.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from softmargin import penalties
from softmargin.estimators._base.classifier import ClassifierBase
from softmargin.estimators._base.fitted_score import FittedScore, Scored, Stake
from softmargin.estimators._base.training_set import TrainingSet
from softmargin.expansions import Expansion, expand
from softmargin.losses.multiclass import MulticlassLoss
from softmargin.penalties import ClassPenalty, ElasticNet
from softmargin.probability import couple, two_columns
from softmargin.problem import MulticlassProblem
from softmargin.solvers import Solution, solve

__all__ = ["SimultaneousClassifier", "SmoothSimultaneousClassifier"]


class SimultaneousClassifier(Scored, ClassifierBase):
    """Everything between a simultaneous solver and a scikit-learn classifier."""

    def _fit_classes(self, data: TrainingSet) -> Solution:
        """Fit all classes; ``data.shared`` is the expansion."""
        raise NotImplementedError

    def _problem(self, data: TrainingSet, loss: MulticlassLoss, C: float | None = None) -> MulticlassProblem:
        """The instance of the problem that the parameters and the data make."""
        weights = (self.C if C is None else C) * data.weight
        k, penalty = len(self.classes_), self._class_penalty()
        return MulticlassProblem(loss, data.shared, data.codes, weights, k, self._intercept, penalty)

    def _class_penalty(self) -> ClassPenalty | None:
        """The costs that select features, None for the ridge; families without them have no parameter for it."""
        l1_ratio, given = getattr(self, "l1_ratio", 0.0), getattr(self, "penalty", None)
        if l1_ratio == 0 and given is None:
            return None
        curve = ElasticNet(l1_ratio) if given is None else penalties.get(given, l1_ratio=l1_ratio or 1.0)
        return ClassPenalty(curve, group=self.group)

    def _check_selection(self) -> None:
        """Refuse what a penalty that selects does not go with."""
        if self._class_penalty() is None:
            return
        if self.kernel is not None or self.penalize_intercept:
            raise ValueError(
                f"l1_ratio and penalty select features and leave the intercept free; got kernel={self.kernel!r} and "
                f"penalize_intercept={self.penalize_intercept!r}. Use l1_ratio=0 with those."
            )

    def _class_probability(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities (n, k) from scores (n, k)."""
        raise NotImplementedError

    @property
    def _intercept(self) -> str:
        if not self.fit_intercept:
            return "none"
        return "penalized" if getattr(self, "penalize_intercept", False) else "free"

    def _prepare(self, data: TrainingSet) -> Expansion:
        return expand(
            data.X,
            self._kernel(data),
            n_components=self.n_components,
            random_state=getattr(self, "random_state", None),
            free_origin=self._intercept == "free",
        )

    def _fit_binary(self, data: TrainingSet, y: np.ndarray) -> None:
        self._fit_many(data)

    def _fit_many(self, data: TrainingSet) -> None:
        solution = self._fit_classes(data)
        self.solution_, self.n_iter_ = solution, solution.n_iter
        columns = slice(1, 2) if len(self.classes_) == 2 else slice(None)
        C: Any = getattr(self, "C_", self.C)  # where C was chosen, what it was
        stake = Stake.of(data, C, [solution])
        self._score_ = FittedScore.of(data, solution.coef[:, columns], solution.intercept[columns], stake)

    def _decision(self, X: Any) -> np.ndarray:
        scores = self._score_(X)
        return scores.ravel() if len(self.classes_) == 2 else scores

    def _probability(self, X: Any) -> np.ndarray:
        scores = self._decision(X)
        f = np.asarray(scores, dtype=np.float64)
        if f.ndim == 2:
            return couple(self._class_probability(f), scores)
        return two_columns(self._class_probability(np.column_stack([-f, f]))[:, 1], scores)


class SmoothSimultaneousClassifier(SimultaneousClassifier):
    """A simultaneous classifier with a smooth loss, fitted by Newton's method on features."""

    def _multiclass_loss(self) -> MulticlassLoss:
        """The loss that the parameters make."""
        raise NotImplementedError

    def _fit_classes(self, data: TrainingSet) -> Solution:
        return solve(self._problem(data, self._multiclass_loss()), tol=self.tol, max_iter=self.max_iter)

"""A classifier whose k score functions are fitted together and sum to zero.

A family writes ``_fit_classes`` (a solution with one column of coefficients per class) and, where it has one, the map
``_class_probability`` from scores to probabilities. Two classes are the same problem with ``f_1 = -f_2``: only the
score of ``classes_[1]`` is kept then, as scikit-learn expects.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from softmargin.estimators._base.classifier import ClassifierBase
from softmargin.estimators._base.fitted_score import FittedScore, Scored
from softmargin.estimators._base.training_set import TrainingSet
from softmargin.expansions import Expansion, expand
from softmargin.losses.multiclass.smooth import SimultaneousLoss
from softmargin.probability import couple, two_columns
from softmargin.solvers.multiclass.newton import solve_smooth, spectral_features
from softmargin.solvers.multiclass.simultaneous_solution import SimultaneousSolution

__all__ = ["SimultaneousClassifier", "SmoothSimultaneousClassifier"]


class SimultaneousClassifier(Scored, ClassifierBase):
    """Everything between a simultaneous solver and a scikit-learn classifier."""

    def _fit_classes(self, data: TrainingSet) -> SimultaneousSolution:
        """Fit all classes; ``data.shared`` is the expansion."""
        raise NotImplementedError

    def _class_probability(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities (n, k) from scores (n, k)."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        if not (isinstance(self.C, str) and self.C == "auto") and not (np.isfinite(self.C) and self.C > 0):
            raise ValueError(f"C must be a positive number; got {self.C!r}.")
        mix = getattr(self, "mix", 0.5)
        if not isinstance(mix, str) and not 0 <= mix <= 1:
            raise ValueError(f"mix must be between 0 and 1; got {mix!r}.")

    @property
    def _intercept(self) -> str:
        if not self.fit_intercept:
            return "none"
        return "penalized" if getattr(self, "penalize_intercept", False) else "free"

    def _prepare(self, data: TrainingSet) -> Expansion:
        return expand(
            data.X, self._kernel(data), n_components=self.n_components, random_state=getattr(self, "random_state", None)
        )

    def _fit_binary(self, data: TrainingSet, y: np.ndarray) -> None:
        self._fit_many(data)

    def _fit_many(self, data: TrainingSet) -> None:
        solution = self._fit_classes(data)
        if not solution.converged:
            warnings.warn(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} passes with {solution.certificate} "
                f"{solution.gap:.2g} > tol={self.tol:g}. Increase max_iter, lower C, or scale the features.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.solution_, self.n_iter_ = solution, solution.n_iter
        columns = slice(1, 2) if len(self.classes_) == 2 else slice(None)
        self._score_ = FittedScore.of(data, solution.coef[:, columns], solution.intercept[columns])

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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.C, str):
            raise ValueError(f"C must be a positive number; got {self.C!r}.")
        if not self.tol > 0:
            raise ValueError(f"tol must be positive; got {self.tol!r}.")
        if self.max_iter < 1:
            raise ValueError(f"max_iter must be at least 1; got {self.max_iter!r}.")

    def _features(self, data: TrainingSet) -> tuple[Any, Callable[[np.ndarray], np.ndarray]]:
        """Features of the training rows, and the map from their coefficients to those of the expansion."""
        expansion = data.shared
        if expansion.is_kernel:
            Z, basis = spectral_features(expansion.outer())
            return Z, lambda coef: basis @ coef
        n, p = expansion.shape
        if p > n and not expansion.is_sparse:  # coefficients lie in the span of the rows
            X = expansion.rows().astype(np.float64, copy=False)
            Z, basis = spectral_features(expansion.outer())
            return Z, lambda coef: X.T @ (basis @ coef)
        return expansion.rows().astype(np.float64, copy=False), lambda coef: coef

    def _newton(self, data: TrainingSet, loss: SimultaneousLoss) -> SimultaneousSolution:
        Z, basis = self._features(data)
        solution = solve_smooth(
            Z,
            data.codes,
            self.C * data.weight,
            len(self.classes_),
            loss,
            intercept=self._intercept,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        solution.coef = basis(solution.coef)
        return solution

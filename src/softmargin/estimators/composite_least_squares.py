"""``CompositeLeastSquaresClassifier``: all classes in closed form, with probabilities and free tuning."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from softmargin._constraints import BOOLEAN, Constraint, one_of, several
from softmargin.estimators._base.parameters import POSITIVE, SHARE
from softmargin.estimators._base.simultaneous import SimultaneousClassifier
from softmargin.estimators._base.training_set import TrainingSet
from softmargin.losses.multiclass import CompositeLeastSquares
from softmargin.probability import RESCALINGS, least_squares_probability
from softmargin.solvers import Solution, solve
from softmargin.solvers.multiclass import LeastSquaresSystem, prepared_least_squares
from softmargin.tuning import COMPOSITE_CRITERIA, N_COSTS, CountedRows, tune_composite

__all__ = ["CompositeLeastSquaresClassifier"]

_MIXES = np.array([0.5, 0.0, 0.25, 0.75, 1.0])  # one half first: it wins ties


class CompositeLeastSquaresClassifier(SimultaneousClassifier):
    """Multicategory least squares with a knob between own-class and other-class errors.

    Fits k functions that sum to zero by minimising::

        C * sum_i s_i [mix (k-1-f_y)^2 + (1-mix) sum_{j != y} (1+f_j)^2] + 1/2 sum_j |f_j|^2,

    a closed form that is Fisher consistent for every ``mix``: 0 is the multicategory proximal SVM, 1/2 is ridge
    regression of the class indicators, 1 looks at the own class only. Class probabilities are a closed form as well,
    and leave-one-out predictions need no refit, so ``mix="auto"`` and ``C="auto"`` tune from the training rows alone.
    With two classes ``mix`` has no effect.

    Parameters
    ----------
    mix : float in [0, 1] or "auto", default=0.5
        Weight of the own-class error (gamma of the literature).
    C : float or "auto", default=1.0
        Weight of the sum of losses, ``1 / (2 lambda)``.
    l1_ratio : float, default=0.0
        Share of the l1 norm in the penalty; above 0 features are selected, ``C`` and ``mix`` must be numbers (tune them
        by ``TunedClassifier(..., criterion="cv")``) and the fit is iterative.
    group : bool, default=True
        Whether a feature's coefficients for all classes cost their common length, so that features are selected, or
        each its size, so that coefficients are.
    rescale : {"waterfill", "minshift", "simplex"}, default="waterfill"
        What makes probabilities proper where the closed form leaves [0, 1]. "waterfill" keeps every row that is
        proper; "minshift" sets the smallest probability of every row to zero; "simplex" projects.
    criterion : {"brier", "log_loss", "error", "gcv"}, default="brier"
        Leave-one-out criterion of the automatic choices. "gcv" cannot compare mixes.
    Cs : int or array-like, default=30
        The values "auto" tries for ``C``; a number means that many, spread around the scale of the data.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
    coef_ : ndarray of shape (k, n_features), or (1, n_features) for two classes
        Only without a kernel.
    dual_coef_ : ndarray of shape (k, n_support)
        Only with a kernel, with ``support_``.
    intercept_ : ndarray of shape (k,), or (1,) for two classes
    C_, mix_ : float
        The values used.
    grid_ : CompositeGrid
        The criterion where it was looked at, if anything was "auto": at every ``C`` for ``mix = 1/2``, at promising
        ones for other mixes (NaN elsewhere; more than 200 rows are then seen through a sample of 200 to 300).
    solution_ : Solution
        Coefficients on the same scale, objective, and the residual of the stationarity equations.

    Notes
    -----
    From the thesis to the parameters:

    ================================================  ====================================================
    thesis, chapter 4                                 here
    ================================================  ====================================================
    gamma of (4.4)                                    ``mix``
    sum of losses + lambda ``sum_j |f_j|^2``          ``C = 1 / (2 lambda)``
    the intercept of (4.9), penalised                 ``penalize_intercept=True``
    (4.6) to (4.8), with their rescaling              ``predict_proba``; ``rescale="minshift"`` is the thesis's
    sparse classifiers (section 4.6)                  ``l1_ratio``, ``group``
    ================================================  ====================================================

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softmargin import CompositeLeastSquaresClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CompositeLeastSquaresClassifier(mix="auto", C="auto", kernel="rbf").fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.predict_proba(X[:1]).round(1)
    array([[1., 0., 0.]])
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "mix": SHARE | one_of("auto"),
        "C": POSITIVE | one_of("auto"),
        "group": BOOLEAN,
        "rescale": one_of(*RESCALINGS),
        "criterion": one_of(*COMPOSITE_CRITERIA),
        "Cs": N_COSTS | several("an array of positive numbers", POSITIVE.allows),
    }

    def __init__(
        self,
        mix: float | str = 0.5,
        *,
        penalize_intercept: bool = False,
        C: float | str = 1.0,
        l1_ratio: float = 0.0,
        group: bool = True,
        kernel: Any = None,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_components: int | str | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        probability_prior: str = "weighted",
        rescale: str = "waterfill",
        criterion: str = "brier",
        Cs: Any = 30,
        random_state: Any = None,
    ) -> None:
        self.mix = mix
        self.penalize_intercept = penalize_intercept
        self.C = C
        self.l1_ratio = l1_ratio
        self.group = group
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.probability_prior = probability_prior
        self.rescale = rescale
        self.criterion = criterion
        self.Cs = Cs
        self.random_state = random_state

    _fits_chunks = True

    def _check_combination(self) -> None:
        if self.mix == "auto" and self.criterion == "gcv":
            raise ValueError(
                'criterion="gcv" measures residuals whose weights depend on the mix and cannot choose it; '
                'use criterion="brier", "log_loss" or "error" with mix="auto".'
            )
        self._check_selection()
        if self.l1_ratio > 0 and "auto" in (self.mix, self.C):
            raise ValueError(
                f"leave-one-out has no closed form with l1_ratio={self.l1_ratio!r}; give numbers for mix and C "
                f"(got {self.mix!r} and {self.C!r}), or tune them by TunedClassifier(criterion='cv')."
            )

    def _fit_classes(self, data: TrainingSet) -> Solution:
        if not data.is_resident and "auto" in (self.mix, self.C):
            raise ValueError(
                f"leave-one-out looks at every row in memory; give numbers for mix and C with chunked rows (got "
                f"{self.mix!r} and {self.C!r})."
            )
        if self.l1_ratio > 0 or not data.is_resident:
            self.mix_, self.C_ = 0.5 if len(self.classes_) == 2 else float(self.mix), float(self.C)
            return solve(self._problem(data, CompositeLeastSquares(self.mix_), self.C_))
        guess = CompositeLeastSquares(0.5 if isinstance(self.mix, str) else self.mix)
        system = LeastSquaresSystem(self._problem(data, guess, C=1.0))
        self.mix_, self.C_ = self._chosen(data, system)
        problem = self._problem(data, CompositeLeastSquares(self.mix_), self.C_)
        return solve(problem, solver=prepared_least_squares(system, self.C_))

    def _chosen(self, data: TrainingSet, system: LeastSquaresSystem) -> tuple[float, float]:
        """The mix and ``C`` asked for, or the ones leave-one-out prefers."""
        mix: Any = 0.5 if len(self.classes_) == 2 else self.mix
        if mix != "auto" and self.C != "auto":
            return float(mix), float(self.C)
        mixes = _MIXES if mix == "auto" else np.array([mix], dtype=float)
        Cs = self.Cs if self.C == "auto" else [self.C]
        rows = CountedRows(data.codes, data.weight, data.counts, len(self.classes_))
        self.grid_ = tune_composite(system, rows, mixes, Cs, self.criterion, self.rescale)
        return self.grid_.best

    def _class_probability(self, scores: np.ndarray) -> np.ndarray:
        return least_squares_probability(scores, self.mix_, self.rescale)

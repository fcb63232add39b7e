"""``TruncatedSoftmaxClassifier``: multinomial logistic regression that leaves out rows it cannot explain."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from softmargin._constraints import BOOLEAN, NONE, Constraint, number
from softmargin.estimators._base.simultaneous import SmoothSimultaneousClassifier
from softmargin.estimators._base.training_set import TrainingSet
from softmargin.losses.multiclass import Capped, Softmax
from softmargin.problem import MulticlassProblem
from softmargin.solvers import Solution, solve
from softmargin.solvers.multiclass import Work, metered_refits

__all__ = ["TruncatedSoftmaxClassifier"]

_NEAR = 1e-3  # certificate of a fit that a search only sets out from


class TruncatedSoftmaxClassifier(SmoothSimultaneousClassifier):
    """Multinomial logistic regression with the loss of every row capped, for noisy labels.

    Minimises ``C * sum_i s_i min(-log p_y(x_i), level) + 1/2 sum_j |f_j|^2``. A row whose loss exceeds ``level`` has
    no influence on the fit and a ``sample_trust_`` of zero. The minimiser keeps the most probable class on top for
    every level and number of classes; probabilities are those of the rows kept.

    The cap is concave in the loss, so fitting without the rows above it and looking again never increases the
    objective, and ends after finitely many fits.

    Parameters
    ----------
    level : float or None, default=None
        The cap. None is ``2 log k``: a row is left out when its label is given less than ``1 / k^2``.
        ``inf`` is plain multinomial logistic regression.
    l1_ratio : float, default=0.0
        Share of the l1 norm in the penalty; above 0, or with ``penalty``, features are selected.
    group : bool, default=True
        Whether a feature's coefficients for all classes cost their common length, or each its size.
    tol : float, default=1e-10
        Largest entry of the gradient, relative to that at zero coefficients, at which to stop; of the proximal
        residual where features are selected.
    max_iter : int, default=200
        Largest number of Newton steps of each fit, and of fits.

    Attributes
    ----------
    classes_, coef_, intercept_, dual_coef_, support_, solution_ :
        As in ``CompositeLeastSquaresClassifier``; ``solution_.history`` holds the capped objective after each fit,
        without a cap on the rows of a class that would have lost every one of them.
    level_ : float
        The cap used.
    sample_trust_ : ndarray of shape (n_samples,)
        1 for rows kept, 0 for rows left out. The rows of a class are all kept, at any loss, if it would lose every one
        of them on the way.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softmargin import TruncatedSoftmaxClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> y[:3] = 2  # wrong labels
    >>> model = TruncatedSoftmaxClassifier().fit(X, y)
    >>> model.sample_trust_[:5]
    array([0., 0., 0., 1., 1.])
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "level": NONE | number("a positive number (inf caps nothing)", lambda value: value > 0),
        "group": BOOLEAN,
    }

    def __init__(
        self,
        level: float | None = None,
        *,
        C: float = 1.0,
        n_init: int = 1,
        l1_ratio: float = 0.0,
        penalty: Any = None,
        group: bool = True,
        penalize_intercept: bool = False,
        kernel: Any = None,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_components: int | str | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        probability_prior: str = "weighted",
        tol: float = 1e-10,
        max_iter: int = 200,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.level = level
        self.C = C
        self.n_init = n_init
        self.l1_ratio = l1_ratio
        self.penalty = penalty
        self.group = group
        self.penalize_intercept = penalize_intercept
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.probability_prior = probability_prior
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _check_combination(self) -> None:
        self._check_selection()

    def _multiclass_loss(self) -> Capped:
        self.level_ = 2 * float(np.log(len(self.classes_))) if self.level is None else float(self.level)
        return Capped(Softmax(), self.level_)

    def _fit_classes(self, data: TrainingSet) -> Solution:
        problem = self._problem(data, self._multiclass_loss())
        solution = min(self._stationary_points(problem), key=lambda found: found.objective)
        assert solution.kept is not None
        self.sample_trust_ = data.expand(solution.kept.astype(np.float64), 0.0)
        return solution

    def _stationary_points(self, problem: MulticlassProblem) -> Iterator[Solution]:
        """Where the search ends from the fit to all rows, and from plain fits to random halves of them.

        All searches share the work that one may take: what is left of it when the first has ended.
        """
        work = Work.of(len(problem.codes), problem.n_classes)
        search = partial(solve, problem, solver=metered_refits(work), tol=self.tol, max_iter=self.max_iter)
        yield search()
        random, codes = check_random_state(self.random_state), problem.codes
        plain = replace(problem, loss=self._multiclass_loss().base)
        for made in range(1, self.n_init):
            if work.is_spent:
                warnings.warn(
                    f"n_init={self.n_init}: only {made} of the starts were made, as they cost too much for the others. "
                    "Use n_components for fewer columns, or lower n_init.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
                break
            half = random.random_sample(len(codes)) < 0.5
            missing = np.bincount(codes[half], minlength=problem.n_classes) == 0
            weights = np.where(half | missing[codes], problem.weights, 0.0)
            start = solve(replace(plain, weights=weights), tol=max(self.tol, _NEAR), max_iter=self.max_iter)
            yield search(start=start)

    def _class_probability(self, scores: np.ndarray) -> np.ndarray:
        return softmax(scores, axis=1)

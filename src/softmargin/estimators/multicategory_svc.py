"""``MulticategorySVC``: every simultaneous support vector machine, one solver."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from softmargin._constraints import Constraint, one_of
from softmargin.estimators._base.parameters import SHARE
from softmargin.estimators._base.simultaneous import SimultaneousClassifier
from softmargin.estimators._base.training_set import TrainingSet
from softmargin.losses import NoLink
from softmargin.losses.multiclass import HINGES, MulticategoryHinge, fisher_consistent
from softmargin.solvers import Solution, solve
from softmargin.solvers.multiclass import seeded_ascent

__all__ = ["MulticategorySVC"]


class MulticategorySVC(SimultaneousClassifier):
    """Support vector machine for all classes at once.

    Fits k functions that sum to zero by minimising ``C * sum_i s_i L(f(x_i), y_i) + 1/2 sum_j |f_j|^2`` with one of
    six losses. The result carries a certified duality gap.

    ==================  =====================================================  =================================
    method              loss                                                   finds the most probable class
    ==================  =====================================================  =================================
    "reinforced"        mix [k-1-f_y]_+ + (1-mix) sum_{j != y} [1+f_j]_+       where P2 - mix Pk <= 1 - mix
    "lee_lin_wahba"     sum_{j != y} [1+f_j]_+                                 always
    "weston_watkins"    sum_{j != y} [1-(f_y-f_j)]_+                           k = 3: where P1 > 1/2 or P2 < 1/3
    "crammer_singer"    [1 - min_{j != y} (f_y-f_j)]_+                         where P1 > 1/2
    "bounded"           -f_y, subject to f_j(x_i) >= -1                        always
    "naive"             [1-f_y]_+                                              never for k > 2
    ==================  =====================================================  =================================

    P1 >= P2 >= ... >= Pk are the class probabilities at a point; ``fisher_consistent_region`` answers for given ones.
    A reinforced machine with ``mix <= 1/2`` always finds it.

    Parameters
    ----------
    method : str, default="reinforced"
        One of the six above.
    mix : float in [0, 1], default=0.5
        Weight of the own class in the reinforced loss (gamma of the literature); 0 is Lee, Lin and Wahba's machine.
    C : float, default=1.0
        Weight of the sum of losses. With two classes ``C`` is twice that of the binary machine, because
        ``|f_1|^2 + |f_2|^2 = 2 |f_2|^2``.
    kernel : None, "linear", "rbf", "poly", "precomputed" or callable, default=None
        None uses the features themselves and never forms an n x n matrix. A callable gets two rows and returns a
        number; one that takes no single rows gets two matrices of rows and returns that of their similarities.
    max_iter : int, default=1000
        Largest number of passes over the rows (of interior steps for a "bounded" machine of moderate size).
    random_state : int, RandomState or None, default=0
        Order of the rows within a pass, and the landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
    coef_ : ndarray of shape (k, n_features), or (1, n_features) for two classes
        Only without a kernel.
    dual_coef_, support_ : ndarray
        Only with a kernel: coefficients (k, n_support) and the training rows they belong to.
    intercept_ : ndarray of shape (k,), or (1,) for two classes
    solution_ : Solution
        Objective, certified gap, history.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softmargin import MulticategorySVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticategorySVC(method="crammer_singer", kernel="rbf").fit(X, y)
    >>> model.score(X, y) > 0.95, bool(model.solution_.gap <= 1e-3)
    (True, True)
    >>> model.fisher_consistent_region([[0.6, 0.3, 0.1], [0.45, 0.35, 0.2]])
    array([ True, False])
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"method": one_of(*HINGES), "mix": SHARE}

    def __init__(
        self,
        method: str = "reinforced",
        *,
        mix: float = 0.5,
        penalize_intercept: bool = False,
        C: float = 1.0,
        kernel: Any = None,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_components: int | str | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.mix = mix
        self.penalize_intercept = penalize_intercept
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fisher_consistent_region(self, P: Any) -> np.ndarray:
        """Whether, at class probabilities ``P`` (n, k), the population scores single out the most probable class."""
        return fisher_consistent(self.method, np.atleast_2d(np.asarray(P, dtype=np.float64)), self.mix)

    def _fit_classes(self, data: TrainingSet) -> Solution:
        k = len(self.classes_)
        if self.method == "naive" and k > 2:
            warnings.warn(
                f'method="naive" never singles out the most probable of {k} classes, however large the sample; '
                'use method="reinforced" or "lee_lin_wahba".',
                UserWarning,
                stacklevel=4,
            )
        seed = int(check_random_state(self.random_state).randint(2**31))
        problem = self._problem(data, MulticategoryHinge(self.method, self.mix))
        return solve(problem, solver=seeded_ascent(seed), tol=self.tol, max_iter=self.max_iter)

    def _require_probability(self) -> None:
        raise NoLink(
            "A multicategory hinge loss determines the class only, not its probability; use "
            "CompositeLeastSquaresClassifier, CompositeMarginClassifier, or wrap the classifier in ScoreCalibrator."
        )

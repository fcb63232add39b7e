"""``BalancingSVC``: from the support vector machine to the bounded constraint machine with one knob."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from softmargin._constraints import Constraint, number, one_of
from softmargin.estimators._balance_choice import choose_balance
from softmargin.estimators._base.expansion_classifier import ExpansionClassifier
from softmargin.estimators._base.training_set import TrainingSet
from softmargin.losses import BalancedHinge, Loss
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import BOUNDED, Engine

__all__ = ["BalancingSVC"]

_COLLAPSED = 1e-6


class BalancingSVC(ExpansionClassifier):
    """Balancing support vector machine: well-classified points pull the boundary too.

    Minimises ``C * sum_i s_i g(y_i f(x_i)) + |h|^2 / 2`` over ``f = h + b``, with ``g(u) = 1 - u`` up to ``u = 1`` and
    ``balance * (u - 1)`` beyond. It is a box QP whose lower bound is ``-C * balance`` instead of zero. Where every
    intercept of an interval is optimal, the midpoint is taken.

    Parameters
    ----------
    balance : float or "bounded", default=1.0
        The slope v beyond the margin: 0 is the SVM, 1 the absolute deviation machine, inf forbids margins above one.
        "bounded" is the bounded constraint machine, which also forbids margins below minus one.
        ``BalancingSVC.choose(X, y)`` finds the best with ``C`` along exact paths.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class. With unequal classes and a large balance the best score is a constant
        for every C; "balanced" cures it.
    max_iter : int, default=10000
        Largest number of working sets.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients; without a kernel only.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    dual_coef_, support_ : ndarray
        Signed multipliers of the support rows and their row numbers; with a kernel only.
    solution_ : Solution
        Objective, certified gap, multipliers and ``intercept_interval`` (a list for more than two classes).

    Notes
    -----
    From the thesis to the parameters:

    ================================================  ====================================================
    thesis, chapter 3                                 here
    ================================================  ====================================================
    ``|w|^2 / 2 + C sum g`` of (1.3) and (3.6)        ``C``
    mean loss + lambda/2 ``|w|^2`` of (3.13)          ``C = 1 / (n lambda)``
    v; v = infinity; the BCM of (3.2)                 ``balance=v``; ``inf``; ``"bounded"``
    the path of section 3.5                           :func:`softmargin.paths.balance_path`
    theorems 5 and 6, (3.15)                          ``softmargin.inference.Inference(model, X, y)``
    multicategory BCM of (3.3)                        ``MulticategorySVC(method="bounded")``, ``C`` four times
    ================================================  ====================================================

    There is no asymptotic normality at ``inf`` and for the bounded machine: they are constraints, whose multipliers
    converge at another rate, and :class:`softmargin.inference.Inference` refuses them. At a large ``balance`` its
    intervals come with a warning.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softmargin import BalancingSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> for balance in (0.0, 1.0, "bounded"):
    ...     print(BalancingSVC(balance=balance, kernel="rbf").fit(X, y).score(X, y))
    0.945
    0.95
    0.955
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "balance": number("a number in [0, inf]", lambda value: value >= 0) | one_of("bounded")
    }

    def __init__(
        self,
        *,
        balance: float | str = 1.0,
        C: float = 1.0,
        kernel: Any = None,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_components: int | str | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.balance = balance
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
        self.n_jobs = n_jobs
        self.verbose = verbose

    choose = staticmethod(choose_balance)

    @property
    def _bounded(self) -> bool:
        return isinstance(self.balance, str)

    def _loss(self) -> Loss:
        return BalancedHinge(math.inf if self._bounded else float(self.balance))

    def _penalty(self) -> ElasticNet:
        return ElasticNet(0.0)

    def _problem(self, data: TrainingSet, y: np.ndarray) -> Problem:
        if not data.is_resident and (self._bounded or float(self.balance) == math.inf):
            raise ValueError(
                f"balance={self.balance!r} fits rows in memory only; a large balance, such as 1e3, comes near it."
            )
        problem = super()._problem(data, y)
        # the bounded machine maximises the sum of margins: its objective lacks the ones they are subtracted from
        return replace(problem, constant=-float(problem.weights.sum())) if self._bounded else problem

    def _engine(self, problem: Problem) -> str | Engine:
        return BOUNDED if self._bounded else "auto"

    def _fit_binary(self, data: TrainingSet, y: np.ndarray) -> None:
        super()._fit_binary(data, y)
        few = data.shared.sample((y, data.weight))
        rows = data.shared if few is None else few.expansion
        y, weight = (y, data.weight) if few is None else (few.vectors[0], few.vectors[1] * few.times)
        spread = np.ptp(rows.apply(self.solution_.coef))
        if spread <= _COLLAPSED and not np.isclose(weight[y > 0].sum(), weight[y < 0].sum()):
            warnings.warn(
                f"The fitted score is constant: with balance={self.balance!r} and unequal classes the majority class "
                "wins everywhere, whatever C. Use class_weight='balanced' or a smaller balance.",
                UserWarning,
                stacklevel=4,
            )

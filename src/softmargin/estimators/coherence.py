"""``CoherenceClassifier``: C-learning, from logistic regression to the support vector machine by one temperature."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from softmargin._constraints import Constraint, number, one_of
from softmargin.estimators._base.expansion_classifier import ExpansionClassifier
from softmargin.estimators._base.parameters import NONNEGATIVE
from softmargin.losses import Coherence, Loss

__all__ = ["CoherenceClassifier"]


class CoherenceClassifier(ExpansionClassifier):
    """C-learning: a smooth hinge with closed-form class probabilities.

    The loss is ``V(u) = temperature * log(1 + exp((cost - u) / temperature))``, in units chosen by ``scale``. It is the
    hinge of the support vector machine as ``temperature`` goes to zero, and unlike the hinge it determines
    ``P(y = 1 | x)`` at every positive temperature; at ``cost=0`` it is logistic regression of ``u / temperature``. The
    penalty is the elastic net of :class:`MarginClassifier`, on features (it selects features) or on kernel columns (it
    selects support rows).

    Parameters
    ----------
    temperature : float, default=1.0
        Smoothness ``rho`` of the loss, positive.
    cost : float, default=1.0
        Target margin ``u``, at least 0; 0 is for ``scale="V"`` and ``"L"``, because ``C`` vanishes there.
    scale : {"C", "V", "L"}, default="C"
        Units of the loss, which change what ``C`` weighs and nothing else: ``V`` itself (slope -1 far on the wrong
        side), ``C = cost V / V(0)`` (equal to the hinge's ``cost`` on the boundary), or ``L = V / V(0)`` (1 there).
    gamma : float, "scale", "median" or "mean", default="scale"
        ``rbf`` is ``exp(-gamma |x - x'|^2)``; "mean", ``1 / mean^2`` of all distances, is the width of the C-learning
        paper's section 5.2; "median" is ``1 / median^2`` of the distances between classes, "scale" scikit-learn's.

    Attributes
    ----------
    classes_, coef_, intercept_, dual_coef_, support_, n_features_selected_, solution_, n_iter_, n_features_in_
        As in :class:`MarginClassifier`.

    Notes
    -----
    From the paper to the parameters:

    ====================================  ==================================================================
    paper                                 here
    ====================================  ==================================================================
    rho, u                                ``temperature``, ``cost``
    V, C, L                               ``scale="V"``, ``"C"``, ``"L"``
    gamma (penalty of the mean loss)      ``C = 1 / (n gamma)``
    omega (share of the l1 norm)          ``l1_ratio``
    sigma (width of the Gaussian kernel)  ``gamma = 1 / sigma^2``; "mean" is the width of section 5.2
    coordinate descent (algorithm 1)      not offered: proximal Newton steps reach the same minimiser sooner, certified
    ====================================  ==================================================================

    Algorithm 1 as printed minimises the objective with ``V``; with ``C`` it is the same problem at
    ``gamma_V = gamma_C V(0) / cost``.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softmargin import CoherenceClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = CoherenceClassifier(temperature=0.5, kernel="rbf", gamma="median", C=10).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    >>> bool(((model.predict_proba(X)[:, 1] > 0.5) == (model.predict(X) == 1)).all())
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "temperature": number("positive and finite (towards 0 the loss is Hinge)", lambda value: 0 < value < np.inf),
        "cost": NONNEGATIVE,
        "scale": one_of("C", "V", "L"),
    }

    def __init__(
        self,
        *,
        temperature: float = 1.0,
        cost: float = 1.0,
        scale: str = "C",
        solver: str = "auto",
        C: float = 1.0,
        l1_ratio: float = 0.0,
        kernel: Any = None,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_components: int | str | None = None,
        fit_intercept: bool = True,
        positive: bool = False,
        class_weight: Any = None,
        probability_prior: str = "weighted",
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.temperature = temperature
        self.cost = cost
        self.scale = scale
        self.solver = solver
        self.C = C
        self.l1_ratio = l1_ratio
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.class_weight = class_weight
        self.probability_prior = probability_prior
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_combination(self) -> None:
        super()._check_combination()
        self._loss()  # cost=0 has no scale="C"

    def _loss(self) -> Loss:
        return Coherence(temperature=self.temperature, cost=self.cost, scale=self.scale)

"""``CompositeMarginClassifier``: any decreasing margin loss on own and other classes at once, with probabilities."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from softmargin import losses
from softmargin._constraints import Constraint
from softmargin.estimators._base.parameters import LOSS, SHARE
from softmargin.estimators._base.simultaneous import SmoothSimultaneousClassifier
from softmargin.losses import Loss
from softmargin.losses.multiclass import Composite
from softmargin.probability import margin_probability

__all__ = ["CompositeMarginClassifier"]


class CompositeMarginClassifier(SmoothSimultaneousClassifier):
    """Multicategory classifier from any decreasing, strictly convex margin loss ``g``.

    Fits k functions that sum to zero by minimising::

        C * sum_i s_i [mix g(f_y) + (1-mix) sum_{j != y} g(-f_j)] + 1/2 sum_j |f_j|^2.

    The most probable class has the largest population score for every ``mix`` as soon as ``g' < 0`` and ``g'`` is
    strictly increasing, and the scores determine all class probabilities in closed form.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        "logistic", "exponential", "coherence", or any loss that decreases everywhere with an increasing slope.
    mix : float in [0, 1], default=0.5
        Weight of the own class.
    tol : float, default=1e-6
        Largest entry of the gradient, relative to that at zero coefficients, at which to stop. Probabilities of real
        tables are then settled to about 1e-6.
    max_iter : int, default=200
        Largest number of Newton steps.

    Attributes
    ----------
    classes_, coef_, intercept_, dual_coef_, support_, solution_ :
        As in ``CompositeLeastSquaresClassifier``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softmargin import CompositeMarginClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CompositeMarginClassifier(loss="coherence", mix=0.3, kernel="rbf").fit(X, y)
    >>> model.score(X, y) > 0.9, model.predict_proba(X[:1]).shape
    (True, (1, 3))
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"loss": LOSS, "mix": SHARE}

    def __init__(
        self,
        loss: str | Loss = "logistic",
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
        probability_prior: str = "weighted",
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
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
        self.probability_prior = probability_prior
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _margin_loss(self) -> Loss:
        return losses.get(self.loss) if isinstance(self.loss, str) else self.loss

    def _check_combination(self) -> None:
        Composite(self._margin_loss(), self.mix)

    def _multiclass_loss(self) -> Composite:
        return Composite(self._margin_loss(), self.mix)

    def _class_probability(self, scores: np.ndarray) -> np.ndarray:
        return margin_probability(scores, self._margin_loss(), self.mix)

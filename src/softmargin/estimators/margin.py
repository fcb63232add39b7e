"""``MarginClassifier``: any margin loss, elastic net, linear features or kernels."""

from __future__ import annotations

from typing import Any, ClassVar

from softmargin import losses
from softmargin._constraints import Constraint, one_of
from softmargin.estimators._base.expansion_classifier import ExpansionClassifier
from softmargin.estimators._base.parameters import LOSS
from softmargin.losses import Loss

__all__ = ["MarginClassifier"]


class MarginClassifier(ExpansionClassifier):
    """Large-margin classifier for any margin loss.

    Minimises ``C * sum_i s_i loss(y_i f(x_i)) + (1 - l1_ratio)/2 |beta|^2 + l1_ratio |beta|_1`` over
    ``f(x) = b + x'beta``, or over ``f(x) = b + sum_j beta_j k(x_j, x)`` with ``beta'K beta`` in place of ``|beta|^2``
    when a kernel is given. The result carries a certified optimality gap.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        A name of ``softmargin.losses.available()`` or a loss with its parameters, such as
        ``losses.HuberizedHinge(delta=1)`` or the result of ``losses.make_loss``.
    probability : {"auto", "link", False}, default="auto"
        Where ``predict_proba`` comes from. "auto": the loss's own link, where it has one; "link": the same, and an
        error in ``fit`` where it has none; False: no ``predict_proba``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients; without a kernel only.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        Coefficients of the support rows; with a kernel only.
    support_ : ndarray of shape (n_support,)
        Row numbers of the support rows (of the landmarks, with ``n_components``); with a kernel only.
    n_features_selected_ : int
        Number of coefficients that are not zero.
    loss_ : Loss
        The loss that was minimised.
    solution_ : Solution
        What the solver returned: objective, certified gap, dual point, history (a list of them for more than two
        classes, which are fitted one against the rest).
    n_iter_ : int
        Outer steps taken.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where ``X`` had names.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softmargin import MarginClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> linear = MarginClassifier(loss="squared_hinge").fit(X, y)
    >>> kernel = MarginClassifier(loss="logistic", kernel="rbf", gamma=2.0).fit(X, y)
    >>> linear.score(X, y) > 0.8, kernel.score(X, y) > 0.9
    (True, True)
    >>> bool(kernel.solution_.gap <= 1e-6)
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"loss": LOSS, "probability": one_of("auto", "link", False)}

    def __init__(
        self,
        *,
        loss: str | Loss = "logistic",
        probability: str | bool = "auto",
        solver: str = "auto",
        C: float = 1.0,
        l1_ratio: float = 0.0,
        penalty: Any = None,
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
        self.loss = loss
        self.probability = probability
        self.solver = solver
        self.C = C
        self.l1_ratio = l1_ratio
        self.penalty = penalty
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

    def _loss(self) -> Loss:
        return losses.get(self.loss) if isinstance(self.loss, str) else self.loss

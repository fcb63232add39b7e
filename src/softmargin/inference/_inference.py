"""How sure are we? Standard errors and intervals for a fitted linear classifier, its scores and its probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtr, ndtri
from sklearn.base import clone
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted

from softmargin.inference._sandwich import optimal_slope, sandwich
from softmargin.losses import NoLink

__all__ = ["Inference"]

Array = NDArray[np.floating[Any]]

_METHODS = ("sandwich", "bootstrap", "split")


class Inference:
    """Intervals around a fitted two-class linear margin classifier.

    Parameters
    ----------
    estimator : fitted classifier
        A linear softmargin classifier (``kernel=None``) with two classes; for a pipeline pass its last step.
    X, y, sample_weight : training data
        The rows the estimator was fitted to, as its ``fit`` saw them.
    method : {"sandwich", "bootstrap", "split"}
        Sandwich: the asymptotic covariance, kinked losses included. Bootstrap: refits on ``n_resamples`` resampled
        sets of rows. Split: one half of the rows selects the features of an l1-type model, the other half gives the
        intervals.
    n_resamples, random_state
        For bootstrap and split.

    Attributes
    ----------
    covariance_ : ndarray of shape (p + 1, p + 1)
        Of ``(intercept, coefficients)``; NaN for features a split left out.
    standard_errors_ : ndarray of shape (p + 1,)
    theta_ : ndarray of shape (p + 1,)
        The estimate the intervals are built around.

    Notes
    -----
    A selected model has no valid sandwich: the selection itself used the labels. So estimators with an l1-type
    penalty are refused unless the bootstrap or a split is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin import MarginClassifier
    >>> from softmargin.inference import Inference
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.where(X[:, 0] + rng.logistic(size=500) > 0, 1, 0)
    >>> low, high = Inference(MarginClassifier().fit(X, y), X, y).coef_interval(0.95).T
    >>> bool(low[0] > 0), bool(low[1] < 0 < high[1])
    (True, True)
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        method: str = "sandwich",
        n_resamples: int = 200,
        random_state: Any = None,
    ) -> None:
        if method not in _METHODS:
            raise ValueError(f"method must be one of {_METHODS}; got {method!r}.")
        check_is_fitted(estimator)
        _refuse_unsuitable(estimator, method)
        self.estimator, self.method = estimator, method
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        y = np.asarray(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        rng = np.random.default_rng(random_state)
        self.theta_ = np.r_[np.ravel(estimator.intercept_), np.ravel(estimator.coef_)].astype(float)
        if method == "sandwich":
            self.covariance_ = _sandwich_of(estimator, X, y, weight)
        elif method == "bootstrap":
            draws = _bootstrap(estimator, X, y, weight, n_resamples, rng)
            self.covariance_ = np.cov(draws, rowvar=False)
        else:
            self.theta_, self.covariance_ = _split(estimator, X, y, weight, rng)
        self.standard_errors_ = np.sqrt(np.diag(self.covariance_))

    def coef_interval(self, level: float = 0.95) -> Array:
        """Intervals for the coefficients, shape (p, 2)."""
        return self._interval(self.theta_[1:], self.standard_errors_[1:], level)

    def intercept_interval(self, level: float = 0.95) -> Array:
        """Interval for the intercept, shape (2,)."""
        return self._interval(self.theta_[:1], self.standard_errors_[:1], level)[0]

    def decision_interval(self, X: Any, level: float = 0.95) -> Array:
        """Pointwise intervals for the score of each row, shape (n, 2)."""
        D = _design(check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32]))
        used = np.isfinite(self.standard_errors_)
        D, cov = D[:, used], self.covariance_[np.ix_(used, used)]
        spread = np.sqrt(np.maximum(np.einsum("ij,ij->i", D @ cov, D), 0))
        return self._interval(D @ self.theta_[used], spread, level)

    def probability_interval(self, X: Any, level: float = 0.95) -> Array:
        """The score intervals seen through the loss's link, shape (n, 2)."""
        try:
            return np.asarray(self.estimator.loss_.probability(self.decision_interval(X, level)))
        except NoLink as error:
            raise NoLink(f"{error} There is no link to carry a score interval to a probability.") from error

    def summary(self, level: float = 0.95) -> Any:
        """A pandas DataFrame: estimate, standard error, z, two-sided p-value and interval of every coefficient."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("Inference.summary needs pandas: pip install pandas") from error
        names = getattr(self.estimator, "feature_names_in_", [f"x{j}" for j in range(len(self.theta_) - 1)])
        interval = self._interval(self.theta_, self.standard_errors_, level)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = self.theta_ / self.standard_errors_
        columns = {"estimate": self.theta_, "std_error": self.standard_errors_, "z": z, "p_value": 2 * ndtr(-np.abs(z))}
        return pd.DataFrame(columns | {"low": interval[:, 0], "high": interval[:, 1]}, index=["intercept", *names])

    @staticmethod
    def _interval(centre: Array, spread: Array, level: float) -> Array:
        if not 0 < level < 1:
            raise ValueError(f"level must be strictly between 0 and 1; got {level!r}.")
        reach = ndtri(0.5 + level / 2) * spread
        return np.column_stack([centre - reach, centre + reach])


def _refuse_unsuitable(estimator: Any, method: str) -> None:
    kernel = getattr(estimator, "kernel", None)
    if kernel is not None or not hasattr(estimator, "coef_"):
        raise ValueError(
            f"{type(estimator).__name__}(kernel={kernel!r}) is not linear in its features; "
            "intervals exist for kernel=None."
        )
    if len(estimator.classes_) != 2:
        raise ValueError("intervals are for two classes; pass one of estimators_ with the labels y == classes_[j].")
    selected = getattr(estimator, "l1_ratio", 0) > 0 or getattr(estimator, "penalty", None) is not None
    if selected and method == "sandwich":
        raise ValueError(
            "the coefficients were selected by an l1-type penalty, so sandwich intervals would be too short; "
            "use method='split' (valid after selection) or method='bootstrap' (descriptive)."
        )


def _design(X: Any) -> Array:
    X = X.toarray() if sparse.issparse(X) else X
    return np.column_stack([np.ones(X.shape[0]), X]).astype(float)


def _sandwich_of(estimator: Any, X: Any, y: Array, weight: Array) -> Array:
    keep = weight > 0
    design, signs = _design(X[keep]), np.where(y[keep] == estimator.classes_[1], 1.0, -1.0)
    theta = np.r_[np.ravel(estimator.intercept_), np.ravel(estimator.coef_)].astype(float)
    margins = signs * (design @ theta)
    cost = np.full(len(margins), float(estimator.C))
    if getattr(estimator, "class_weight", None) is not None:
        balance = compute_class_weight(estimator.class_weight, classes=estimator.classes_, y=y[keep])
        cost *= balance[(signs > 0).astype(int)]
    free = np.arange(len(theta)) >= (0 if getattr(estimator, "fit_intercept", True) else 1)
    design, ridge = design[:, free], np.r_[0.0, np.ones(len(theta) - 1)][free]
    signed = design * signs[:, None]
    slope = optimal_slope(estimator.loss_, signed, margins, weight[keep] * cost, ridge * theta[free])
    covariance = np.zeros((len(theta), len(theta)))
    try:
        core = sandwich(estimator.loss_, design, margins, weight[keep], cost, ridge, slope=slope)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "the curvature of the objective is not positive definite at the fitted point, so it has no sandwich "
            "covariance; use method='bootstrap'."
        ) from error
    covariance[np.ix_(free, free)] = core
    return covariance


def _bootstrap(estimator: Any, X: Any, y: Array, weight: Array, n_resamples: int, rng: Any) -> Array:
    draws = []
    n = len(y)
    while len(draws) < n_resamples:
        count = rng.multinomial(n, np.full(n, 1 / n)) * weight
        if len(np.unique(y[count > 0])) < 2:
            continue
        fit = clone(estimator).fit(X, y, sample_weight=count)
        draws.append(np.r_[np.ravel(fit.intercept_), np.ravel(fit.coef_)])
    return np.array(draws)


def _split(estimator: Any, X: Any, y: Array, weight: Array, rng: Any) -> tuple[Array, Array]:
    half = rng.permutation(len(y)) < len(y) // 2
    first = clone(estimator).fit(X[half], y[half], sample_weight=weight[half])
    chosen = np.flatnonzero(np.ravel(first.coef_))
    theta = np.zeros(X.shape[1] + 1)
    covariance = np.full((len(theta), len(theta)), np.nan)
    rest = ~half
    if not len(chosen):
        raise ValueError("the first half selected no feature at this C; raise C or choose a smaller l1_ratio.")
    plain = clone(estimator).set_params(l1_ratio=0.0, penalty=None)
    plain.fit(X[rest][:, chosen], y[rest], sample_weight=weight[rest])
    used = np.r_[0, chosen + 1]
    theta[used] = np.r_[np.ravel(plain.intercept_), np.ravel(plain.coef_)]
    covariance[np.ix_(used, used)] = _sandwich_of(plain, X[rest][:, chosen], y[rest], weight[rest])
    return theta, covariance

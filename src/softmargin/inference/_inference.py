"""How sure are we? Standard errors and intervals for a fitted linear classifier, its scores and its probabilities.

The quantiles are Student's with the degrees of freedom the fit leaves over. The covariance is the sandwich with the
slopes of smooth losses divided by ``(1 - leverage)^(1/2)`` (HC2), those of losses with corners by ``1 - leverage``
(HC3): what came nearest to the nominal level in simulations like those of ``tests/inference/test_coverage.py``.
Where no correction is enough, a :class:`Caution` says why.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.utils import compute_class_weight

from softmargin._constraints import LEVEL, RESAMPLES, check_fitted, check_rows, one_of, random_generator
from softmargin.inference import _suitable
from softmargin.inference._sandwich import LinearFit, optimal_slope, sandwich
from softmargin.losses import NoLink
from softmargin.probability import check_weight_range, row_weights

__all__ = ["Inference"]

Array = NDArray[np.floating[Any]]

_METHODS = ("sandwich", "bootstrap", "split")
_SPLIT_CROWDED = 0.3  # chosen features per row of the second half, beyond which its intervals are too short
_UNPENALISED = 100.0  # times C for the refit: the selection has penalised enough
_BOOTSTRAP_CROWDED = 0.2  # features per row beyond which resampling rows exaggerates the spread


class Inference:
    """Intervals around a fitted two-class linear margin classifier.

    Parameters
    ----------
    estimator : fitted classifier
        A linear softmargin classifier (``kernel=None``) with two classes; for a pipeline pass its last step.
    X, y, sample_weight : training data
        The rows the estimator was fitted to, as its ``fit`` saw them.
    method : {"sandwich", "bootstrap", "split"}
        Sandwich: the asymptotic covariance with small-sample corrections, kinked losses included. Bootstrap: refits on
        ``n_resamples`` resampled sets of rows. Split: one half of the rows selects the features of an l1-type model,
        the other half gives the intervals.
    n_resamples, random_state
        For bootstrap and split.

    Attributes
    ----------
    covariance_ : ndarray of shape (p + 1, p + 1)
        Of ``(intercept, coefficients)``; NaN for features a split left out.
    standard_errors_ : ndarray of shape (p + 1,)
    theta_ : ndarray of shape (p + 1,)
        The estimate the intervals are built around.
    df_ : float
        Degrees of freedom of Student's quantiles: rows less those the fit has spent.

    Notes
    -----
    A selected model has no valid sandwich: the selection itself used the labels. So estimators with an l1-type
    penalty are refused unless the bootstrap or a split is asked for. A warning (``softmargin.inference.Caution``) says
    where intervals may miss their level: many features for the rows, corners and few rows, a strong penalty.

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
        one_of(*_METHODS).check("method", method)
        RESAMPLES.check("n_resamples", n_resamples)
        rng = random_generator("random_state", random_state)
        check_fitted("estimator", estimator)
        _suitable.check_estimator(estimator, method)
        self.estimator, self.method = estimator, method
        X = check_rows("X", X, accept_sparse="csr", dtype=[np.float64, np.float32])
        signs = _suitable.check_rows(estimator, X, y)
        weight = row_weights(sample_weight, X.shape[0])
        check_weight_range(weight[weight > 0], estimator.C)
        rows = _Rows(X, signs, weight)
        self.theta_ = np.r_[np.ravel(estimator.intercept_), np.ravel(estimator.coef_)].astype(float)
        if method == "sandwich":
            self.covariance_, self.df_ = _sandwich_of(estimator, rows)
        elif method == "bootstrap":
            draws = _bootstrap(estimator, rows, n_resamples, rng)
            self.covariance_ = np.cov(draws, rowvar=False)
            self.df_ = max(float(weight.sum()) - len(self.theta_), 1.0)
        else:
            self.theta_, self.covariance_, self.df_ = _split(estimator, rows, rng)
        self.standard_errors_ = np.sqrt(np.diag(self.covariance_))

    def coef_interval(self, level: float = 0.95) -> Array:
        """Intervals for the coefficients, shape (p, 2)."""
        return self._interval(self.theta_[1:], self.standard_errors_[1:], level)

    def intercept_interval(self, level: float = 0.95) -> Array:
        """Interval for the intercept, shape (2,)."""
        return self._interval(self.theta_[:1], self.standard_errors_[:1], level)[0]

    def decision_interval(self, X: Any, level: float = 0.95) -> Array:
        """Pointwise intervals for the score of each row, shape (n, 2)."""
        LEVEL.check("level", level)
        D = _design(check_rows("X", X, len(self.theta_) - 1, accept_sparse="csr", dtype=[np.float64, np.float32]))
        used = np.isfinite(self.standard_errors_)
        D, cov = D[:, used], self.covariance_[np.ix_(used, used)]
        with np.errstate(over="ignore", invalid="ignore"):
            spread = np.sqrt(np.maximum(np.einsum("ij,ij->i", D @ cov, D), 0))
            interval = self._interval(D @ self.theta_[used], spread, level)
        if not np.isfinite(interval).all():
            raise ValueError(
                "X holds rows so far out that their scores overflow; scale them as the training rows were."
            )
        return interval

    def probability_interval(self, X: Any, level: float = 0.95) -> Array:
        """The score intervals seen through the loss's link, shape (n, 2)."""
        try:
            return np.asarray(self.estimator.loss_.probability(self.decision_interval(X, level)))
        except NoLink as error:
            raise NoLink(f"{error} There is no link to carry a score interval to a probability.") from error

    def summary(self, level: float = 0.95) -> Any:
        """A pandas DataFrame: estimate, standard error, t, two-sided p-value and interval of every coefficient."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("Inference.summary needs pandas: pip install pandas") from error
        names = getattr(self.estimator, "feature_names_in_", [f"x{j}" for j in range(len(self.theta_) - 1)])
        interval = self._interval(self.theta_, self.standard_errors_, level)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = self.theta_ / self.standard_errors_
        p_value = 2 * stats.t.sf(np.abs(t), self.df_)
        columns = {"estimate": self.theta_, "std_error": self.standard_errors_, "t": t, "p_value": p_value}
        return pd.DataFrame(columns | {"low": interval[:, 0], "high": interval[:, 1]}, index=["intercept", *names])

    def _interval(self, centre: Array, spread: Array, level: float) -> Array:
        LEVEL.check("level", level)
        reach = stats.t.ppf(0.5 + level / 2, self.df_) * spread
        return np.column_stack([centre - reach, centre + reach])


class _Rows:
    """Training rows of positive weight: features, labels in {-1, +1} and how many equal rows each stands for."""

    def __init__(self, X: Any, signs: Array, weight: Array) -> None:
        keep = weight > 0
        self.X, self.signs, self.weight = X[keep], signs[keep], weight[keep]
        if len(np.unique(self.signs)) < 2:
            raise ValueError("the rows of positive weight hold one class only; intervals need both.")

    def labels(self, estimator: Any) -> Any:
        return estimator.classes_[(self.signs > 0).astype(int)]

    def take(self, part: Any, columns: Any = slice(None)) -> _Rows:
        return _Rows(self.X[part][:, columns], self.signs[part], self.weight[part])


def _design(X: Any) -> Array:
    X = X.toarray() if sparse.issparse(X) else X
    return np.column_stack([np.ones(X.shape[0]), X]).astype(float)


def _class_factors(estimator: Any, rows: _Rows) -> Array:
    """The weight of each row's class; "balanced" counts a row of weight two as two rows."""
    chosen = getattr(estimator, "class_weight", None)
    if chosen is None:
        return np.ones(len(rows.signs))
    codes = (rows.signs > 0).astype(int)
    if isinstance(chosen, str) and chosen == "balanced":
        totals = np.bincount(codes, weights=rows.weight)
        return (totals.sum() / (2 * totals))[codes]
    return compute_class_weight(chosen, classes=estimator.classes_, y=rows.labels(estimator))[codes]


def _linear_fit(estimator: Any, rows: _Rows) -> tuple[LinearFit, Array, NDArray[np.bool_]]:
    """The fit as its rows see it, its free parameters and which of ``(intercept, coefficients)`` they are."""
    theta = np.r_[np.ravel(estimator.intercept_), np.ravel(estimator.coef_)].astype(float)
    design = _design(rows.X)
    margins = rows.signs * (design @ theta)
    cost = float(estimator.C) * _class_factors(estimator, rows)
    free = np.arange(len(theta)) >= (0 if getattr(estimator, "fit_intercept", True) else 1)
    design, ridge = design[:, free], np.r_[0.0, np.ones(len(theta) - 1)][free]
    signed = design * rows.signs[:, None]
    slope = optimal_slope(estimator.loss_, signed, margins, cost, ridge * theta[free], rows.weight)
    return LinearFit(estimator.loss_, design, margins, rows.weight, cost, ridge, slope), theta[free], free


def _sandwich_of(estimator: Any, rows: _Rows) -> tuple[Array, float]:
    """The corrected covariance of ``(intercept, coefficients)`` and the degrees of freedom left over."""
    fit, theta, free = _linear_fit(estimator, rows)
    try:
        core = sandwich(fit, leverage_power=2 if fit.loss.kinks else 1)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "the curvature of the objective is not positive definite at the fitted point, so it has no sandwich "
            "covariance; use method='bootstrap'."
        ) from error
    left = fit.n - fit.df
    if not np.all(np.diag(core) >= 0):
        raise ValueError(
            "the features are collinear beyond the accuracy of a covariance; drop those that repeat others, or lower C."
        )
    if left < 1:
        raise ValueError(
            f"the fit spends {fit.df:.1f} degrees of freedom on {fit.n:g} rows and leaves none to judge it by; "
            "use fewer features, a smaller C, or more rows."
        )
    _suitable.warn_if_crowded(fit)
    _suitable.warn_of_rare_class(fit.loss, rows.signs, rows.weight)
    _suitable.warn_of_corners(fit)
    _suitable.warn_if_gathered(fit.loss, fit.margins, fit.frequency, len(theta))
    _suitable.warn_of_other_minima(fit)
    assert fit.slope is not None
    gradient = fit.design.T @ (rows.signs * fit.frequency * fit.cost * fit.slope) + fit.ridge * theta
    _suitable.warn_if_elsewhere(fit, gradient, np.sqrt(np.diag(core)))
    _suitable.warn_if_shrunk(fit, theta, np.sqrt(np.diag(core)))
    covariance = np.zeros((len(free), len(free)))
    covariance[np.ix_(free, free)] = core
    return covariance, left


def _bootstrap(estimator: Any, rows: _Rows, n_resamples: int, rng: Any) -> Array:
    """Coefficients of refits on as many rows as the weights add up to; a row of weight two is drawn twice as often."""
    total, y = float(rows.weight.sum()), rows.labels(estimator)
    _suitable.check_rows_to_draw(rows.signs, rows.weight)
    _suitable.warn_of_resampling(estimator, rows.X.shape[1] / total, _BOOTSTRAP_CROWDED)
    _suitable.warn_of_rare_class(estimator.loss_, rows.signs, rows.weight)
    margins = rows.signs * np.ravel(estimator.decision_function(rows.X))
    _suitable.warn_if_gathered(estimator.loss_, margins, rows.weight, rows.X.shape[1] + 1)
    n_drawn = round(total)
    draws: list[Array] = []
    while len(draws) < n_resamples:
        count = rng.multinomial(n_drawn, rows.weight / total)
        if len(np.unique(y[count > 0])) < 2:
            continue
        fit = clone(estimator).fit(rows.X, y, sample_weight=count * (total / n_drawn))
        draws.append(np.r_[np.ravel(fit.intercept_), np.ravel(fit.coef_)])
    return np.array(draws)


def _split(estimator: Any, rows: _Rows, rng: Any) -> tuple[Array, Array, float]:
    half = rng.permutation(len(rows.signs)) < len(rows.signs) // 2
    first, rest = rows.take(half), rows.take(~half)
    selector = clone(estimator).fit(first.X, first.labels(estimator), sample_weight=first.weight)
    chosen = np.flatnonzero(np.ravel(selector.coef_))
    n = float(rest.weight.sum())
    if not len(chosen):
        raise ValueError("the first half selected no feature at this C; raise C or choose a smaller l1_ratio.")
    if len(chosen) > _SPLIT_CROWDED * n:
        raise ValueError(
            f"the first half selected {len(chosen)} features, too many for intervals from the {n:g} rows of the "
            f"second (at most {_SPLIT_CROWDED:g} per row); lower C or raise l1_ratio."
        )
    second = rest.take(slice(None), chosen)
    known = estimator.get_params(deep=False)
    ridge = {name: value for name, value in {"l1_ratio": 0.0, "penalty": None}.items() if name in known}
    plain = clone(estimator).set_params(C=_UNPENALISED * estimator.C, **ridge)
    plain.fit(second.X, second.labels(estimator), sample_weight=second.weight)
    used = np.r_[0, chosen + 1]
    theta = np.zeros(rows.X.shape[1] + 1)
    covariance = np.full((len(theta), len(theta)), np.nan)
    theta[used] = np.r_[np.ravel(plain.intercept_), np.ravel(plain.coef_)]
    covariance[np.ix_(used, used)], left = _sandwich_of(plain, second)
    return theta, covariance, left

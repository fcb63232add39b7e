"""Probabilities for any classifier that has a decision function, without changing what it decides.

The scores that fit the link are cross-validated by default (``cv`` fits, then one fit on all rows); a fitted
classifier is taken as it is with ``cv="prefit"``. The coherence and Sollich links are odd, so ``P > 1/2`` exactly
where the score is positive; Platt's sigmoid has an offset, so its decision is that of the calibrated log odds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
)

from softmargin.probability import Sollich, couple, fit_coherence, fit_sigmoid, fit_temperature, two_columns

__all__ = ["ScoreCalibrator"]

_METHODS = ("coherence", "platt", "sollich")
_FITTED = {"coherence": ("temperature", "cost", "at_bound"), "platt": ("slope", "offset"), "sollich": ()}


class ScoreCalibrator(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Turn the scores of any classifier into probabilities.

    Parameters
    ----------
    estimator : classifier
        Anything with ``decision_function``: softmargin's classifiers, scikit-learn's ``SVC`` or ``LinearSVC``, a
        pipeline.
    method : {"coherence", "platt", "sollich"}
        Coherence: the link of the coherence loss with the temperature fitted by maximum likelihood. Platt: a sigmoid
        with slope and offset. Sollich: fixed, nothing to fit.
    cost : float or "fit"
        The cost ``u`` of the coherence link. At ``u = 1`` a score inside the margin never leaves (1/3, 2/3); ``u =
        0`` is ``expit(f / temperature)``; ``"fit"`` chooses it together with the temperature.
    cv : int, cross-validation splitter or "prefit"
        How the scores that fit the link are obtained.
    temperature_bounds : tuple of float
        The range searched for the temperature; keep the lower end above ten times the tolerance of the solver.
    smooth_targets : bool
        Platt's smoothed targets, which keep the sigmoid finite on separable scores.
    n_jobs : int or None
        Parallel cross-validation fits.

    Attributes
    ----------
    estimator_ : classifier
        The classifier fitted to all rows (or the one given, with ``cv="prefit"``).
    links_ : list
        One fitted link for two classes, one per class otherwise (one-vs-rest, divided by their sum).
    temperature_, cost_, at_bound_ : float, float, bool
        Coherence only; arrays for more than two classes. ``at_bound_`` says that the temperature ran to an end.
    slope_, offset_ : float
        Platt only: ``P = expit(slope_ * f + offset_)``; arrays for more than two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from softmargin import ScoreCalibrator
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ScoreCalibrator(make_pipeline(StandardScaler(), SVC()), method="platt").fit(X, y)
    >>> bool(model.predict_proba(X[:1])[0, 0] > 0.95)
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "coherence",
        cost: float | str = 1.0,
        cv: Any = 5,
        temperature_bounds: tuple[float, float] = (1e-3, 1e3),
        smooth_targets: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cost = cost
        self.cv = cv
        self.temperature_bounds = temperature_bounds
        self.smooth_targets = smooth_targets
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ScoreCalibrator:
        """Fit the classifier (unless prefit) and the link from scores to probabilities."""
        self._check_parameters()
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        if not len(y):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        check_classification_targets(y)
        weight = np.ones(len(y)) if sample_weight is None else self._check_weight(sample_weight, X, len(y))
        scores = self._scores(X, y, None if sample_weight is None else weight)
        columns = scores[:, None] if scores.ndim == 1 else scores
        if not np.all(np.isfinite(columns[weight > 0])):
            raise ValueError("decision_function returned NaN or infinite scores; they cannot be calibrated.")
        codes = np.searchsorted(self.classes_, y)
        positive = [1] if scores.ndim == 1 else range(columns.shape[1])
        if scores.ndim == 2 and columns.shape[1] != len(self.classes_):
            raise ValueError(
                f"decision_function returned {columns.shape[1]} columns for {len(self.classes_)} classes; "
                "ask the estimator for one-vs-rest scores (decision_function_shape='ovr')."
            )
        keep = weight > 0
        self.links_ = [
            self._fit_link(columns[keep, j], np.where(codes[keep] == code, 1.0, -1.0), weight[keep])
            for j, code in enumerate(positive)
        ]
        self._publish()
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores of the classifier; for Platt and for more than two classes, the calibrated log odds."""
        check_is_fitted(self, "links_")
        return self._decision(self.estimator_.decision_function(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities; the largest entry of a row is the predicted class."""
        check_is_fitted(self, "links_")
        scores = self.estimator_.decision_function(X)
        decision = self._decision(scores)
        if scores.ndim == 1:
            return two_columns(expit(self.links_[0].log_odds(scores)), decision)
        parts = np.column_stack([expit(link.log_odds(scores[:, j])) for j, link in enumerate(self.links_)])
        return couple(parts, decision)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class."""
        decision = self.decision_function(X)
        codes = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[codes]

    def _decision(self, scores: np.ndarray) -> np.ndarray:
        if scores.ndim == 1:
            return self.links_[0].log_odds(scores) if self.method == "platt" else scores
        return np.column_stack([link.log_odds(scores[:, j]) for j, link in enumerate(self.links_)])

    def _scores(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        if isinstance(self.cv, str) and self.cv == "prefit":
            if isinstance(self.estimator, BaseEstimator):
                check_is_fitted(self.estimator)
            self.estimator_, self.classes_ = self.estimator, np.asarray(self.estimator.classes_)
            return np.asarray(self.estimator_.decision_function(X), dtype=float)
        self.classes_, codes = np.unique(y if weight is None else y[weight > 0], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class only ({self.classes_[0]!r}); calibration needs at least two classes.")
        if not hasattr(self.estimator, "decision_function"):
            raise ValueError(f"estimator must have decision_function; {type(self.estimator).__name__} has none.")
        params = self._weight_params(weight)
        cv = self._splitter(np.bincount(codes).min(), y)
        self.estimator_ = clone(self.estimator).fit(X, y, **params)
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        scores = cross_val_predict(
            self.estimator, X, y, cv=cv, method="decision_function", n_jobs=self.n_jobs, params=params or None
        )
        return np.asarray(scores, dtype=float)

    def _splitter(self, smallest: int, y: np.ndarray) -> Any:
        if not isinstance(self.cv, int):
            return check_cv(self.cv, y, classifier=True)
        if smallest < 2:
            raise ValueError(
                "a class has one sample only, so scores cannot be cross-validated; "
                "fit the classifier yourself and pass cv='prefit'."
            )
        return check_cv(min(self.cv, int(smallest)), y, classifier=True)

    def _weight_params(self, weight: np.ndarray | None) -> dict[str, Any]:
        if weight is None:
            return {}
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                f"sample_weight was given but {type(self.estimator).__name__}.fit does not take it; "
                "leave it out, or calibrate a fitted classifier with cv='prefit'."
            )
        return {"sample_weight": weight}

    def _fit_link(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Any:
        if y.min() == y.max():
            raise ValueError("y has one class only; calibration needs at least two classes.")
        if self.method == "platt":
            return fit_sigmoid(scores, y, weight, smooth=self.smooth_targets)
        if self.method == "sollich":
            return Sollich()
        if self.cost == "fit":
            return fit_coherence(scores, y, weight, bounds=self.temperature_bounds)
        return fit_temperature(scores, y, weight, cost=float(self.cost), bounds=self.temperature_bounds)

    def _publish(self) -> None:
        for name in _FITTED[self.method]:
            values = [getattr(link, name) for link in self.links_]
            setattr(self, name + "_", values[0] if len(values) == 1 else np.array(values))

    def _check_parameters(self) -> None:
        if self.method not in _METHODS:
            raise ValueError(f"method must be one of {_METHODS}; got {self.method!r}.")
        if self.cost != "fit" and not (
            isinstance(self.cost, (int, float)) and np.isfinite(self.cost) and self.cost >= 0
        ):
            raise ValueError(f"cost must be a nonnegative number or 'fit'; got {self.cost!r}.")
        low, high = self.temperature_bounds
        if not 0 < low < high < np.inf:
            raise ValueError(
                f"temperature_bounds must be two increasing positive numbers; got {self.temperature_bounds!r}."
            )

    @staticmethod
    def _check_weight(sample_weight: Any, X: Any, n: int) -> np.ndarray:
        weight = _check_sample_weight(sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True)
        if not np.any(weight > 0):
            raise ValueError(
                "sample_weight is zero for every row; give at least one row of each class a positive weight."
            )
        return weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.classifier_tags.multi_class = inner.classifier_tags.multi_class if inner.classifier_tags else True
        return tags

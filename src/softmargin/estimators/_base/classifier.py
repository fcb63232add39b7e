"""The estimator's door: labels become -1/+1 once, weights are checked once, more than two classes are split once.

A binary method writes ``_fit_binary``, ``_decision_binary`` and, if it has one, ``_probability_binary``, and is a
complete scikit-learn classifier for any number of classes. With ``k > 2`` classes it is fitted one-vs-rest: ``k``
binary fits, the class of the largest score wins, and the binary probabilities are divided by their sum.

Labels and probabilities never disagree: a score is positive exactly when the probability of ``classes_[1]`` exceeds
one half (a score of zero is ``classes_[0]``, as in scikit-learn and in ``argmax``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from softmargin._threads import one_blas_thread
from softmargin.expansions import Kernel
from softmargin.probability import couple, two_columns

__all__ = ["ClassifierBase", "TrainingSet"]


@dataclass
class TrainingSet:
    """What a fit sees: rows of positive weight only, class codes, and where those rows came from.

    ``counts`` are the sample weights as given, ``weight`` holds the class weights as well. ``shared`` is what
    ``_prepare`` made for all binary fits (an expansion, a Gram matrix).
    """

    X: Any
    codes: np.ndarray
    weight: np.ndarray
    counts: np.ndarray
    rows: np.ndarray
    n_rows: int
    shared: Any = None

    def signs(self, positive: int = 1) -> np.ndarray:
        """+1 for the class of code ``positive``, -1 for all others, in the dtype of ``X``."""
        return np.where(self.codes == positive, self.X.dtype.type(1), self.X.dtype.type(-1))

    def expand(self, values: np.ndarray, fill: float) -> np.ndarray:
        """Per-row results for all rows given to ``fit``, ``fill`` where the weight was zero."""
        if len(self.rows) == self.n_rows:
            return values
        full = np.full(self.n_rows, fill, dtype=np.asarray(values).dtype)
        full[self.rows] = values
        return full


def _encode(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes, checked, and the code of each label; two numbers are told apart without sorting."""
    if y.dtype.kind in "biuf":
        ends = np.array([y.min(), y.max()])
        upper = y == ends[1]
        if ends[0] != ends[1] and np.all(upper | (y == ends[0])):
            check_classification_targets(ends)
            return ends, upper.astype(np.intp)
    check_classification_targets(y)
    return np.unique(y, return_inverse=True)


def _has_probability(estimator: ClassifierBase) -> bool:
    return estimator._can_estimate_probability()


class ClassifierBase(ClassifierMixin, BaseEstimator):
    """Everything a margin classifier needs besides its mathematics."""

    _sparse_formats: tuple[str, ...] | bool = ("csr", "csc")

    # -- what a method writes ------------------------------------------------------------------------------------

    def _fit_binary(self, data: TrainingSet, y: np.ndarray) -> None:
        """Fit with labels ``y`` in {-1, +1}; ``data.weight`` already holds the class weights."""
        raise NotImplementedError

    def _decision_binary(self, X: Any) -> np.ndarray:
        """The score of ``classes_[1]`` for validated ``X``."""
        raise NotImplementedError

    def _probability_binary(self, X: Any) -> np.ndarray:
        """P(classes_[1]) for validated ``X``; must be nondecreasing in the score's sign."""
        raise NotImplementedError

    def _can_estimate_probability(self) -> bool:
        return True

    def _prepare(self, data: TrainingSet) -> Any:
        """Whatever the binary fits of several classes have in common; they find it in ``data.shared``."""
        return None

    def _check_parameters(self) -> None:
        """Raise a ValueError that names the parameter, the value seen and what is allowed."""

    # -- what a user calls ---------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the classifier; any two or more labels, rows of zero weight are ignored."""
        self._check_parameters()
        data = self._training_set(X, y, sample_weight)
        with one_blas_thread(*self._matrix_shape(data)):
            data.shared = self._prepare(data)
            if len(self.classes_) == 2:
                self._fit_binary(data, data.signs())
            else:
                self._fit_many(data)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: shape (n,) for two classes, (n, k) otherwise."""
        return self._decision(self._prediction_set(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities; each row sums to one and its largest entry is the predicted class."""
        return self._probability(self._prediction_set(X))

    @available_if(_has_probability)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    # -- shared mechanism ----------------------------------------------------------------------------------------

    def _training_set(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        X, y = self._validate(X, y=y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not np.any(weight > 0):
            raise ValueError(
                "sample_weight is zero for every row; at least one row of each class needs a positive weight."
            )
        rows = np.flatnonzero(weight > 0)
        n_rows = len(weight)
        if len(rows) < n_rows:
            check_classification_targets(y)
            X, y, weight = self._take_rows(X, rows), y[rows], weight[rows]
        self.classes_, codes = _encode(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class only ({self.classes_[0]!r}, among rows of positive weight); "
                "a classifier needs at least two classes."
            )
        return TrainingSet(X, codes, self._weigh(codes, weight), weight, rows, n_rows)

    def _weigh(self, codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The weight of each row: its count times the weight of its class."""
        if getattr(self, "class_weight", None) is None:
            return counts
        return counts * self._class_weights(codes, counts)[codes]

    def _class_weights(self, codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The weight of each class; "balanced" counts a row of weight two as two rows."""
        chosen = getattr(self, "class_weight", None)
        if isinstance(chosen, str) and chosen == "balanced":
            totals = np.bincount(codes, weights=counts)
            return totals.sum() / (len(totals) * totals)
        return compute_class_weight(chosen, classes=self.classes_, y=self.classes_[codes])

    def _matrix_shape(self, data: TrainingSet) -> tuple[int, int]:
        """The size of the matrix a fit computes with: features, kernel or landmarks."""
        n, p = data.X.shape
        if getattr(self, "kernel", None) is None:
            return n, p
        return n, getattr(self, "n_components", None) or n

    def _take_rows(self, X: Any, rows: np.ndarray) -> Any:
        if getattr(self, "kernel", None) == "precomputed" and X.shape[0] == X.shape[1]:
            return X[np.ix_(rows, rows)]
        return X[rows]

    def _prediction_set(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._validate(X, reset=False)

    def _validate(self, X: Any, **checks: Any) -> Any:
        """``X`` (and ``y`` if given) as the method wants them; methods that read more than numbers override it."""
        return validate_data(
            self,
            X,
            accept_sparse=self._sparse_formats,
            dtype=[np.float64, np.float32],
            accept_large_sparse=False,
            **checks,
        )

    def _fit_many(self, data: TrainingSet) -> None:
        def fit_one(code: int) -> Any:
            one = clone(self)
            if "class_weight" in one.get_params(deep=False):
                one.set_params(class_weight=None)
            one.n_features_in_ = self.n_features_in_
            one.classes_ = np.array([False, True])
            one._fit_binary(data, data.signs(code))
            return one

        jobs = (delayed(fit_one)(code) for code in range(len(self.classes_)))
        self.estimators_ = Parallel(n_jobs=getattr(self, "n_jobs", None), prefer="threads")(jobs)
        self.solution_ = [getattr(one, "solution_", None) for one in self.estimators_]
        for name in ("coef_", "intercept_"):
            if hasattr(self.estimators_[0], name):
                setattr(self, name, np.concatenate([getattr(one, name) for one in self.estimators_]))
        if hasattr(self.estimators_[0], "n_iter_"):
            self.n_iter_ = max(one.n_iter_ for one in self.estimators_)

    def _decision(self, X: Any) -> np.ndarray:
        if len(self.classes_) == 2:
            return self._decision_binary(X)
        return np.column_stack([one._decision_binary(X) for one in self.estimators_])

    def _probability(self, X: Any) -> np.ndarray:
        if len(self.classes_) == 2:
            return two_columns(self._probability_binary(X), self._decision_binary(X))
        return couple(np.column_stack([one._probability_binary(X) for one in self.estimators_]), self._decision(X))

    def _kernel(self, data: TrainingSet) -> Kernel | None:
        """The kernel asked for, with ``gamma`` decided from the training rows; None for linear features."""
        if self.kernel is None:
            return None
        return Kernel.resolve(
            self.kernel,
            data.X,
            data.codes,
            gamma=getattr(self, "gamma", "scale"),
            degree=getattr(self, "degree", 3),
            coef0=getattr(self, "coef0", 0.0),
            weight=data.counts,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(self._sparse_formats)
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags

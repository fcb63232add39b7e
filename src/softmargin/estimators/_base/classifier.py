"""The estimator's door: labels become -1/+1 once, weights are checked once, more than two classes are split once.

A binary method writes ``_fit_binary``, ``_decision_binary`` and, if it has one, ``_probability_binary``, and is a
complete scikit-learn classifier for any number of classes. With ``k > 2`` classes it is fitted one-vs-rest: ``k``
binary fits, the class of the largest score wins, and the binary probabilities are divided by their sum.

Labels and probabilities never disagree: a score is positive exactly when the probability of ``classes_[1]`` exceeds
one half (a score of zero is ``classes_[0]``, as in scikit-learn and in ``argmax``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from softmargin._constraints import Constraint, check_lengths, check_table, said_of
from softmargin._threads import one_blas_thread
from softmargin.estimators._base.callbacks import CallbackSupportMixin, fit_task, with_callbacks
from softmargin.estimators._base.card import Readable
from softmargin.estimators._base.chunked_set import by_chunks, chunked_training_set, is_chunked
from softmargin.estimators._base.fitted_score import without_rows
from softmargin.estimators._base.parameters import check_parameters, document
from softmargin.estimators._base.training_set import (
    TrainingSet,
    check_class_weight,
    check_collected,
    check_present,
    check_targets,
    culprit,
    encode_labels,
    unweighted,
    weigh_classes,
)
from softmargin.expansions import Expansion, Kernel, canonical_sparse, check_fits_chunks, most_landmarks
from softmargin.probability import check_weight_range, checked_weights, couple, two_columns
from softmargin.solvers import Solution

__all__ = ["ClassifierBase", "available_where"]


_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_FEW = 1 << 14  # numbers; beyond, the checks of scikit-learn are lost in the time of the scores


class available_where:  # noqa: N801 - a decorator
    """A method that exists where ``check(estimator)`` raises nothing; what it raises is the reason given.

    scikit-learn's ``available_if`` hides the reason in the cause of its AttributeError.
    """

    def __init__(self, check: Callable[[Any], Any]) -> None:
        self.check = check

    def __call__(self, method: Callable[..., Any]) -> available_where:
        self.method = method
        update_wrapper(self, method)
        return self

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self.method
        try:
            self.check(estimator)
        except Exception as reason:
            name = f"{type(estimator).__name__}.{self.method.__name__}"
            raise AttributeError(f"{name} is not available: {reason}") from None
        return MethodType(self.method, estimator)


def _is_ready(X: Any, y: Any) -> bool:
    """Whether rows and labels are what scikit-learn's checks would make of them; those take as long as a small fit."""
    if not (
        type(X) is np.ndarray is type(y)
        and X.ndim == 2
        and X.dtype in _FLOATS
        and X.size > 0
        and y.shape == X.shape[:1]
        and y.dtype.kind in "biuU"
    ):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(X.sum()))  # beyond the range of a sum, let scikit-learn look at each number


def _in_range(answer: Callable[[Any], np.ndarray], X: Any) -> np.ndarray:
    """The answer about rows; those so far out that sums overflow are refused."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = answer(X)
    if not np.isfinite(found).all():
        raise ValueError("X holds rows so far out that their scores overflow; scale them as the training rows were.")
    return found


class ClassifierBase(Readable, CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Everything a margin classifier needs besides its mathematics."""

    _fits_chunks = False  # whether rows may be in files or on other machines
    _sparse_formats: tuple[str, ...] | bool = ("csr", "csc")
    solution_: Any  # a Solution, or a list with one per class
    _constraints: ClassVar[dict[str, Constraint]] = {}  # of parameters that mean something else here, or only here
    _private_fit: ClassVar[tuple[str, ...]] = ()  # what a fit leaves under names without an underscore at their end

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        document(cls)

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

    def _require_probability(self) -> None:
        """Raise a NoLink that says why there is no ``predict_proba`` and what to use instead."""

    def _prepare(self, data: TrainingSet) -> Any:
        """Whatever the binary fits of several classes have in common; they find it in ``data.shared``."""
        return None

    def _pass_on(self, one: Any, code: int) -> None:
        """Tell the classifier of one class against the rest what it cannot know from its parameters."""

    def _check_parameters(self) -> None:
        """Refuse parameters by their own values and by those of others."""
        check_parameters(self)
        self._check_combination()

    def _check_combination(self) -> None:
        """Raise a ValueError where parameters contradict each other; each for itself is allowed by ``_constraints``."""

    # -- what a user calls ---------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the classifier; any two or more labels, rows of zero weight are ignored."""
        with fit_task(self, X, y, sample_weight):
            return self._fit_from(None, None, X, y, sample_weight)

    @by_chunks(lambda self: None if len(self.classes_) == 2 else len(self.classes_))
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: shape (n,) for two classes, (n, k) otherwise."""
        return _in_range(self._decision, self._prediction_set(X))

    @by_chunks(lambda self: None)
    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

    @available_where(lambda self: self._require_probability())
    @by_chunks(lambda self: len(self.classes_))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities; each row sums to one and its largest entry is the predicted class.

        With ``probability_prior="population"`` the labels keep the costs of ``class_weight``, these do not.
        """
        weighted = _in_range(self._probability, self._prediction_set(X))
        if getattr(self, "probability_prior", "weighted") == "weighted" or not hasattr(self, "class_weight_"):
            return weighted
        return unweighted(weighted, self.class_weight_)

    @available_where(lambda self: self._require_probability())
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    # -- shared mechanism ----------------------------------------------------------------------------------------

    def _fit_from(
        self, start: Solution | None, expansion: Expansion | None, X: Any, y: Any, sample_weight: Any = None
    ) -> Any:
        """Fit from the solution of a nearby problem of two classes on the same rows, and from their expansion."""
        self._check_parameters()
        data = self._training_set(X, y, sample_weight)
        with one_blas_thread(*self._matrix_shape(data)):
            data.start, data.shared = start, self._prepare(data) if expansion is None else expansion
            if getattr(self, "n_components", None) == "auto" and self.kernel is not None:
                self.n_components_ = data.shared.shape[1]
                self.landmark_error_ = getattr(data.shared, "error", 0.0)
            if len(self.classes_) == 2:
                self._fit_binary(data, data.signs())
            else:
                self._fit_many(data)
        return self

    def _training_set(self, X: Any, y: Any, sample_weight: Any) -> Any:
        if is_chunked(X):
            check_fits_chunks(self)
            return chunked_training_set(self, X, y, sample_weight)
        check_collected(X)
        check_present(y)
        if type(self)._validate is ClassifierBase._validate and _is_ready(X, y):
            self.n_features_in_ = X.shape[1]
        else:
            X, y = self._named(X, y=y)
        n_rows, class_weight = len(y), getattr(self, "class_weight", None)
        check_class_weight(class_weight, y)
        if sample_weight is None and not isinstance(class_weight, dict):
            counts, rows = np.ones(n_rows), np.arange(n_rows)
            check_weight_range(counts[:1], getattr(self, "C", 1.0))
        else:
            counts, rows = self._counted_rows(X, y, sample_weight)
        if len(rows) < n_rows:
            check_targets(y)
            X, y, counts = self._take_rows(X, rows), y[rows], counts[rows]
        self.classes_, codes = encode_labels(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class only ({self.classes_[0]!r}, among rows of positive weight); "
                "a classifier needs at least two classes."
            )
        return TrainingSet(X, codes, self._weigh(codes, counts), counts, rows, n_rows)

    def _counted_rows(self, X: Any, y: np.ndarray, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """The weight of each row as given, and the rows that count: of positive weight, and of no class of weight 0."""
        counts = checked_weights(sample_weight, len(y))
        seen, class_weight = counts > 0, getattr(self, "class_weight", None)
        if isinstance(class_weight, dict):
            seen &= ~np.isin(y, [label for label, weight in class_weight.items() if weight == 0])
        if not np.any(seen):
            raise ValueError(
                "sample_weight is zero for every row; at least one row of each class needs a positive weight."
            )
        check_weight_range(counts[seen], getattr(self, "C", 1.0))
        return counts, np.flatnonzero(seen)

    def _weigh(self, codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The weight of each row: its count times the weight of its class."""
        class_weight = getattr(self, "class_weight", None)
        if class_weight is None:
            return counts
        self.class_weight_ = weigh_classes(class_weight, self.classes_, codes, counts)
        return counts * self.class_weight_[codes]

    def _matrix_shape(self, data: TrainingSet) -> tuple[int, int]:
        """The size of the matrix a fit computes with: features, kernel or landmarks."""
        n, p = data.X.shape
        if getattr(self, "kernel", None) is None:
            return n, p
        count = getattr(self, "n_components", None)
        return n, most_landmarks(n) if count == "auto" else count or n

    def _take_rows(self, X: Any, rows: np.ndarray) -> Any:
        if getattr(self, "kernel", None) == "precomputed" and X.shape[0] == X.shape[1]:
            return X[np.ix_(rows, rows)]
        return X[rows]

    def _prediction_set(self, X: Any) -> Any:
        if type(self)._validate is ClassifierBase._validate and self._is_plain(X):
            return X
        check_is_fitted(self)
        check_collected(X)
        return self._named(X, reset=False)

    def _is_plain(self, X: Any) -> bool:
        """Whether a few rows are what ``_validate`` would make of them; it takes twenty times as long to say so."""
        return (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in _FLOATS
            and 0 < X.size <= _FEW
            and X.shape[1] == vars(self).get("n_features_in_")
            and "feature_names_in_" not in vars(self)
            and bool(np.isfinite(X).all())
        )

    def _named(self, X: Any, **checks: Any) -> Any:
        """What ``_validate`` makes of rows (and labels); errors that name neither are said of what they are about."""
        try:
            return self._validate(X, **checks)
        except (OverflowError, TypeError, ValueError) as error:
            with said_of(culprit(str(error), checks.get("y"))):
                check_lengths(X)
                raise error

    def _validate(self, X: Any, **checks: Any) -> Any:
        """``X`` (and ``y`` if given) as the method wants them; methods that read more than numbers override it."""
        check_table(X)
        return validate_data(
            self,
            canonical_sparse(X),
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
            self._pass_on(one, code)
            one._fit_binary(data, data.signs(code))
            return one

        jobs = (delayed(fit_one)(code) for code in range(len(self.classes_)))
        self.estimators_ = Parallel(n_jobs=getattr(self, "n_jobs", None), prefer="threads")(jobs)
        self.solution_ = [one.solution_ for one in self.estimators_]
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
        X, codes, counts = data.typical()
        return Kernel.resolve(
            self.kernel,
            X,
            codes,
            gamma=getattr(self, "gamma", "scale"),
            degree=getattr(self, "degree", 3),
            coef0=getattr(self, "coef0", 0.0),
            weight=counts,
        )

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle holds: the certificate of the fit, not its vectors of training rows."""
        state = super().__getstate__()
        return state | {"solution_": without_rows(state["solution_"])} if "solution_" in state else state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(self._sparse_formats)
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags

"""Probabilities for any classifier that has a decision function, without changing what it decides.

The scores that fit the link are cross-validated by default (``cv`` fits, then one fit on all rows); a fitted
classifier is taken as it is with ``cv="prefit"``. Whatever the link says, the label is the wrapped classifier's: a
probability that contradicts it is moved to the nearest ones that do not (``decision="calibrated"`` lets the link
decide). No probability is 0 or 1: ``n`` rows of ``k`` classes vouch for no less than ``1 / (k n)``.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from softmargin._constraints import BOOLEAN, NONE, Constraint, is_number, one_of
from softmargin.estimators._base.callbacks import CallbackSupportMixin, fit_task, with_callbacks
from softmargin.estimators._base.card import Readable, inner_card
from softmargin.estimators._base.chunked_set import by_chunks, chunked_rows, held_out_fit, is_chunked
from softmargin.estimators._base.parameters import FOLDS, NONNEGATIVE, check_parameters, document
from softmargin.estimators._base.training_set import check_labels
from softmargin.probability import (
    ScoreMap,
    Sollich,
    fit_coherence,
    fit_score_map,
    fit_sigmoid,
    fit_temperature,
    keep_decision,
    row_weights,
    weight_parameters,
)

__all__ = ["ScoreCalibrator"]

_METHODS = ("auto", "platt", "sollich", "coherence")
_COUPLINGS = ("auto", "joint", "one_vs_rest")
_DECISIONS = ("classifier", "calibrated")
_PUBLISHED = ("temperature", "cost", "at_bound", "slope", "offset")


def _increasing_pair(value: Any) -> bool:
    pair = isinstance(value, (tuple, list)) and len(value) == 2 and all(is_number(end) for end in value)
    return pair and 0 < value[0] < value[1] < np.inf


@document
class ScoreCalibrator(Readable, CallbackSupportMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Turn the scores of any classifier into probabilities.

    Parameters
    ----------
    estimator : classifier
        Anything with ``decision_function``: softmargin's classifiers, scikit-learn's ``SVC`` or ``LinearSVC``, a
        pipeline.
    method : {"auto", "platt", "sollich", "coherence"}
        Auto: one increasing curve for all classes by maximum likelihood (:func:`softmargin.probability.fit_score_map`),
        the best on average. Platt: a sigmoid with slope and offset. Sollich: fixed, nothing to fit. Coherence: the
        link of the coherence loss with the temperature fitted by maximum likelihood.
    cost : float or "fit"
        The cost ``u`` of the coherence link. At ``u = 1`` a score inside the margin never leaves (1/3, 2/3); ``u =
        0`` is ``expit(f / temperature)``; ``"fit"`` chooses it together with the temperature.
    cv : int, cross-validation splitter or "prefit"
        How the scores that fit the link are obtained.
    coupling : {"auto", "joint", "one_vs_rest"}
        Of more than two classes. Joint: one map of all scores (method "auto" only). One-vs-rest: a link for each
        class, divided by their sum. Auto: joint where the method has it.
    decision : {"classifier", "calibrated"}
        Who decides: the wrapped classifier, whose labels never change, or the largest calibrated probability.
    temperature_bounds : tuple of float or None
        The range searched for the temperature of the coherence link; None is a factor of 1000 around the order of
        magnitude of the scores.
    smooth_targets : bool or None
        Platt's smoothed targets, which keep a link finite on separable scores; None for the sigmoid alone.
    n_jobs : int or None
        Number of cross-validation fits at the same time: None is one, -1 one per core.

    Attributes
    ----------
    estimator_ : classifier
        The classifier fitted to all rows (or the one given, with ``cv="prefit"``).
    links_ : list
        One fitted link for two classes or a joint map, one per class otherwise.
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
    >>> model = ScoreCalibrator(make_pipeline(StandardScaler(), SVC())).fit(X, y)
    >>> bool(model.predict_proba(X[:1])[0, 0] > 0.95)
    True
    """

    _private_fit: ClassVar[tuple[str, ...]] = ("_floor",)
    _constraints: ClassVar[dict[str, Constraint]] = {
        "method": one_of(*_METHODS),
        "coupling": one_of(*_COUPLINGS),
        "decision": one_of(*_DECISIONS),
        "cost": NONNEGATIVE | one_of("fit"),
        "cv": FOLDS | one_of("prefit"),
        "temperature_bounds": NONE | Constraint("two increasing positive numbers", _increasing_pair),
        "smooth_targets": NONE | BOOLEAN,
    }

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "auto",
        cost: float | str = "fit",
        cv: Any = 5,
        coupling: str = "auto",
        decision: str = "classifier",
        temperature_bounds: tuple[float, float] | None = None,
        smooth_targets: bool | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cost = cost
        self.cv = cv
        self.coupling = coupling
        self.decision = decision
        self.temperature_bounds = temperature_bounds
        self.smooth_targets = smooth_targets
        self.n_jobs = n_jobs

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ScoreCalibrator:
        """Fit the classifier (unless prefit) and the link from scores to probabilities."""
        with fit_task(self, X, y, sample_weight):
            self._check_parameters()
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> ScoreCalibrator:
        if is_chunked(X):
            return self._fit_chunks(*chunked_rows(X, y, sample_weight)[:2])
        y = check_labels(X, y)
        weight = row_weights(sample_weight, len(y))
        scores = self._scores(X, y, None if sample_weight is None else weight)
        return self._fit_to(scores, y, weight)

    def _fit_chunks(self, X: Any, y: Any) -> ScoreCalibrator:
        """Links of chunked rows, from a sample of the rows of one fold that the classifier did not see."""
        sample, self.estimator_ = held_out_fit(self.estimator, X, y, self.cv)
        self.classes_ = np.asarray(self.estimator_.classes_)
        self._note_features()
        return self._fit_to(*sample)

    def _fit_to(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> ScoreCalibrator:
        keep = weight > 0
        self._check_scores(scores[keep])
        codes = self._codes(y[keep])
        if len(np.unique(codes)) < 2:
            raise ValueError("y has one class only; calibration needs at least two classes.")
        self.links_ = self._fit_links(scores[keep], codes, weight[keep])
        self._floor = 1 / (len(self.classes_) * float(weight.sum())) if self.method != "sollich" else 0.0
        self._publish()
        return self

    @by_chunks(lambda self: None if len(self.classes_) == 2 else len(self.classes_))
    def decision_function(self, X: Any) -> np.ndarray:
        """The scores of the classifier; with ``decision="calibrated"`` the log odds (two classes) or log
        probabilities."""
        check_is_fitted(self, "links_")
        if self.decision == "classifier":
            return self.estimator_.decision_function(X)
        L = np.log(self.predict_proba(X))
        return L[:, 1] - L[:, 0] if len(self.classes_) == 2 else L

    @by_chunks(lambda self: len(self.classes_))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities; the largest entry of a row is the predicted class."""
        check_is_fitted(self, "links_")
        P = self._probability(np.asarray(self.estimator_.decision_function(X), dtype=float))
        if self.decision == "calibrated":
            return P
        return keep_decision(P, self._codes(self.estimator_.predict(X)))

    @by_chunks(lambda self: None)
    def predict(self, X: Any) -> np.ndarray:
        """The label of the classifier, or with ``decision="calibrated"`` the most probable class."""
        check_is_fitted(self, "links_")
        if self.decision == "classifier":
            return np.asarray(self.estimator_.predict(X))
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _card(self) -> dict[str, Any]:
        return super()._card() | inner_card(self.estimator_)

    def _probability_words(self) -> str:
        return f"the scores by method {self.method!r}, fitted to rows left out; {self.decision} decides"

    # -- scores ----------------------------------------------------------------------------------------------------

    def _scores(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        if isinstance(self.cv, str) and self.cv == "prefit":
            if isinstance(self.estimator, BaseEstimator):
                check_is_fitted(self.estimator)
            self.estimator_, self.classes_ = self.estimator, np.asarray(self.estimator.classes_)
            self._note_features()
            return np.asarray(self.estimator_.decision_function(X), dtype=float)
        self.classes_, codes = np.unique(y if weight is None else y[weight > 0], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class only ({self.classes_[0]!r}); calibration needs at least two classes.")
        if not hasattr(self.estimator, "decision_function"):
            raise ValueError(f"estimator must have decision_function; {type(self.estimator).__name__} has none.")
        params = weight_parameters(self.estimator, weight)
        cv = self._splitter(np.bincount(codes).min(), y, weight)
        self.estimator_ = clone(self.estimator).fit(X, y, **params)
        self._note_features()
        scores = cross_val_predict(
            self.estimator, X, y, cv=cv, method="decision_function", n_jobs=self.n_jobs, params=params or None
        )
        return np.asarray(scores, dtype=float)

    def _note_features(self) -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
            elif name in vars(self):
                delattr(self, name)

    def _splitter(self, smallest: int, y: np.ndarray, weight: np.ndarray | None) -> Any:
        """Folds with every class in each: rows of no weight are scored with the first, and help to fit none."""
        if not isinstance(self.cv, int):
            return check_cv(self.cv, y, classifier=True)
        if smallest < 2:
            raise ValueError(
                "a class has one sample only, so scores cannot be cross-validated; "
                "fit the classifier yourself and pass cv='prefit'."
            )
        folds = check_cv(min(self.cv, int(smallest)), y, classifier=True)
        if weight is None or np.all(weight > 0):
            return folds
        seen, unseen = np.flatnonzero(weight > 0), np.flatnonzero(weight == 0)
        splits = [(seen[train], seen[test]) for train, test in folds.split(np.zeros((len(seen), 1)), y[seen])]
        return [(splits[0][0], np.concatenate([splits[0][1], unseen])), *splits[1:]]

    def _check_scores(self, scores: np.ndarray) -> None:
        if not np.all(np.isfinite(scores)):
            raise ValueError("decision_function returned NaN or infinite scores; they cannot be calibrated.")
        if scores.ndim == 2 and scores.shape[1] != len(self.classes_):
            raise ValueError(
                f"decision_function returned {scores.shape[1]} columns for {len(self.classes_)} classes; "
                "ask the estimator for one-vs-rest scores (decision_function_shape='ovr')."
            )

    def _codes(self, y: Any) -> np.ndarray:
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        if not np.all(self.classes_[codes] == y):
            raise ValueError(f"y holds labels the classifier does not know; it knows {self.classes_.tolist()}.")
        return codes

    # -- links -----------------------------------------------------------------------------------------------------

    def _fit_links(self, scores: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> list[Any]:
        if self._joint():
            link = fit_score_map(scores, codes, weight)
            if link.slope == link.bend == 0 and not link.matrix.any():
                self._warn("the left-out scores do not rise with the probability of their class")
            return [link]
        columns, positive = (scores[:, None], [1]) if scores.ndim == 1 else (scores, range(scores.shape[1]))
        links = []
        for column, code in zip(columns.T, positive, strict=True):
            own = codes == code
            if own.all() or not own.any():
                raise ValueError(f"y has no row of class {self.classes_[code]!r}, or no other; its link is unknown.")
            links.append(self._fit_link(column, np.where(own, 1.0, -1.0), weight))
        if any(getattr(link, "at_bound", False) for link in links):
            self._warn("the temperature of the link ran to an end of its range")
        return links

    def _joint(self) -> bool:
        return self.method == "auto" and (self.coupling != "one_vs_rest" or len(self.classes_) == 2)

    def _fit_link(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Any:
        if self.method == "auto":
            return fit_score_map(scores, (y > 0).astype(int), weight)
        if self.method == "platt":
            return fit_sigmoid(scores, y, weight, smooth=self.smooth_targets in (None, True))
        if self.method == "sollich":
            return Sollich()
        options: dict[str, Any] = {"bounds": self.temperature_bounds, "smooth": bool(self.smooth_targets)}
        if self.cost == "fit":
            return fit_coherence(scores, y, weight, **options)
        return fit_temperature(scores, y, weight, cost=float(self.cost), **options)

    def _probability(self, scores: np.ndarray) -> np.ndarray:
        """Class probabilities as the links give them."""
        if self._joint():
            return self.links_[0].probability(scores)
        columns = scores[:, None] if scores.ndim == 1 else scores
        parts = [self._one_against_rest(link, column) for link, column in zip(self.links_, columns.T, strict=True)]
        P = np.column_stack([1 - parts[0], parts[0]] if scores.ndim == 1 else parts)
        P = np.maximum(P, max(self._floor, float(np.finfo(float).eps)))
        return P / P.sum(axis=1, keepdims=True)

    @staticmethod
    def _one_against_rest(link: Any, scores: np.ndarray) -> np.ndarray:
        return link.probability(scores)[:, 1] if isinstance(link, ScoreMap) else expit(link.log_odds(scores))

    def _publish(self) -> None:
        for name in _PUBLISHED:
            self.__dict__.pop(name + "_", None)
            if self.method in ("coherence", "platt") and hasattr(self.links_[0], name):
                values = [getattr(link, name) for link in self.links_]
                setattr(self, name + "_", values[0] if len(values) == 1 else np.array(values))

    @staticmethod
    def _warn(what: str) -> None:
        warnings.warn(
            f"{what}: the probabilities say little beyond the label. Look at the classifier (is it better than chance "
            "on rows it has not seen?), or give it more rows.",
            UserWarning,
            stacklevel=4,
        )

    def _check_parameters(self) -> None:
        check_parameters(self)
        if self.coupling == "joint" and self.method != "auto":
            raise ValueError(f"coupling='joint' needs method='auto'; got method={self.method!r}. Use 'one_vs_rest'.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.classifier_tags.multi_class = inner.classifier_tags.multi_class if inner.classifier_tags else True
        return tags

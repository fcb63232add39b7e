"""Fitted classifiers as formulas: what each family computes from a row, one small function per family.

A translation answers with the scores of ``decision_function``, the probabilities of ``predict_proba`` where there are
any, and truth values that mark the predicted class, so labels agree with ``predict`` by construction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.svm import LinearSVC

from softmargin.expansions import KernelScore, LinearScore
from softmargin.export._formula import Affine, ArgMax, Formula, NotExportable, concat, constant
from softmargin.export._functions import larger, largest, log, sigmoid, smaller, smallest, where
from softmargin.export._links import coherence_log_odds, link, step
from softmargin.export._probabilities import (
    bracket,
    couple,
    estimable_or_fallback,
    keep_decision,
    least_squares,
    margin,
    nearest_estimable,
    normalised,
    score_map,
    softmax,
    two_columns,
    unweighted,
)
from softmargin.export._rows import Rows
from softmargin.export._scores import score, table_score
from softmargin.losses import Coherence
from softmargin.probability import CoherenceLink, ScoreMap, Sigmoid, Sollich

__all__ = ["Answer", "answer", "family_of", "is_a", "translates"]


@dataclass(frozen=True)
class Answer:
    """What a classifier says of a row: scores (one for two classes), probabilities or None, number of the label."""

    classes: np.ndarray
    scores: Formula
    probabilities: Formula | None
    label: Formula

    @classmethod
    def by_scores(cls, classes: np.ndarray, scores: Formula, probabilities: Formula | None) -> Answer:
        """The class of positive or largest score."""
        label = where(scores > 0.0, 1.0, 0.0) if scores.width == 1 else ArgMax(scores)
        return cls(classes, scores, probabilities, label)


Translation = Callable[[Any, Rows], Answer]
_TRANSLATIONS: dict[str | type, Translation] = {}


def translates(*families: str | type) -> Callable[[Translation], Translation]:
    """Register the translation of some classes, this library's by name, and of those derived from them."""

    def keep(function: Translation) -> Translation:
        _TRANSLATIONS.update(dict.fromkeys(families, function))
        return function

    return keep


def family_of(model: Any) -> Translation | None:
    """The translation of a model, None if there is none."""
    for kind in type(model).__mro__:
        own: str | type = kind.__name__ if kind.__module__.startswith("softmargin.") else kind
        if own in _TRANSLATIONS:
            return _TRANSLATIONS[own]
    return None


def is_a(model: Any, name: str) -> bool:
    """Whether a model is of the class of this library with that name."""
    return any(kind.__name__ == name and kind.__module__.startswith("softmargin.") for kind in type(model).__mro__)


def answer(model: Any, rows: Rows) -> Answer:
    """The formulas of a fitted classifier."""
    translation = family_of(model)
    if translation is None:
        raise NotExportable(
            f"{type(model).__name__} has no formula here; export softmargin's classifiers, pipelines that end in one, "
            "or linear classifiers of scikit-learn inside a ScoreCalibrator."
        )
    found = translation(model, rows)
    prior = getattr(model, "probability_prior", "weighted")
    if prior != "weighted" and found.probabilities is not None and hasattr(model, "class_weight_"):
        fair = unweighted(found.probabilities, model.class_weight_)
        return Answer(found.classes, found.scores, fair, found.label)
    return found


def _has_probability(model: Any) -> bool:
    return hasattr(model, "predict_proba")


# -- one loss, one score per class ---------------------------------------------------------------------------------


def _fitted_scores(model: Any, rows: Rows) -> Formula:
    fitted = model._score_
    return score(fitted.score, rows.matrix) + constant(fitted.intercept)


def _from_parts(parts: Formula, scores: Formula) -> Formula:
    """Probabilities from those of each class against the rest."""
    return two_columns(parts, scores) if scores.width == 1 else couple(parts, scores)


@translates("MarginClassifier", "CoherenceClassifier", "BalancingSVC")
def _margin_classifier(model: Any, rows: Rows) -> Answer:
    scores = _fitted_scores(model, rows)
    P = _from_parts(link(model.loss_, scores), scores) if _has_probability(model) else None
    return Answer.by_scores(model.classes_, scores, P)


@translates("AdditiveKernelClassifier")
def _additive(model: Any, rows: Rows) -> Answer:
    fits = getattr(model, "estimators_", [model])
    scores = concat([_fitted_scores(one, rows) for one in fits])
    P = _from_parts(link(model.loss_, scores), scores) if _has_probability(model) else None
    return Answer.by_scores(model.classes_, scores, P)


@translates("RobustSVC")
def _robust(model: Any, rows: Rows) -> Answer:
    if model.probability != "calibrated":
        return _margin_classifier(model, rows)
    scores = _fitted_scores(model, rows)
    links = [model.calibration_] if scores.width == 1 else [one.calibration_ for one in model.estimators_]
    slopes, offsets = (np.array([getattr(one, name) for one in links]) for name in ("slope", "offset"))
    parts = sigmoid(scores * constant(slopes) + constant(offsets))
    return Answer.by_scores(model.classes_, scores, _from_parts(parts, scores))


@translates("TruncatedLogisticRegression")
def _truncated_logistic(model: Any, rows: Rows) -> Answer:
    scores = _fitted_scores(model, rows)
    if not _has_probability(model):
        return Answer.by_scores(model.classes_, scores, None)
    fits = [model] if scores.width == 1 else model.estimators_
    parts = concat([_scheme(one, rows, scores[[j]]) for j, one in enumerate(fits)])
    return Answer.by_scores(model.classes_, scores, _from_parts(parts, scores))


def _scheme(model: Any, rows: Rows, own: Formula) -> Formula:
    if np.isinf(model.level):
        return sigmoid(own)
    fitted = getattr(model._family_, "made", lambda: model._family_)()
    family = score(fitted.score, rows.matrix) + constant(fitted.intercept)
    reach, weights = model._loss().estimable, model.weights_
    if model.scheme == 3:
        return bracket(family)
    fallback = family[[family.width - 1]]
    if model.scheme == 1:
        return estimable_or_fallback(own, sigmoid(fallback), reach)
    return nearest_estimable(family[: family.width - 1], weights, fallback, reach)


# -- all classes together ------------------------------------------------------------------------------------------


def _simultaneous(model: Any, rows: Rows, link_of: Callable[[Formula], Formula] | None) -> Answer:
    scores = _fitted_scores(model, rows)
    if link_of is None:
        return Answer.by_scores(model.classes_, scores, None)
    if scores.width > 1:
        return Answer.by_scores(model.classes_, scores, couple(link_of(scores), scores))
    P = link_of(concat([-scores, scores]))
    return Answer.by_scores(model.classes_, scores, two_columns(P[[1]], scores))


@translates("MulticategorySVC")
def _multicategory(model: Any, rows: Rows) -> Answer:
    return _simultaneous(model, rows, None)


@translates("TruncatedSoftmaxClassifier")
def _truncated_softmax(model: Any, rows: Rows) -> Answer:
    return _simultaneous(model, rows, softmax)


@translates("CompositeLeastSquaresClassifier")
def _composite_least_squares(model: Any, rows: Rows) -> Answer:
    return _simultaneous(model, rows, lambda f: least_squares(f, model.mix_, model.rescale))


@translates("CompositeMarginClassifier")
def _composite_margin(model: Any, rows: Rows) -> Answer:
    return _simultaneous(model, rows, lambda f: margin(f, model._margin_loss(), model.mix))


# -- many class weights --------------------------------------------------------------------------------------------


@translates("ProbabilisticSVC")
def _probabilistic(model: Any, rows: Rows) -> Answer:
    if len(model.classes_) == 2:
        p, scores = _weight_family(model.family_, rows)
        return Answer.by_scores(model.classes_, scores, two_columns(p, scores))
    found = [_ranked(one.family_, rows) for one in model.estimators_]
    scores = concat([rank for _, rank in found])
    return Answer.by_scores(model.classes_, scores, couple(concat([p for p, _ in found]), scores))


def _weight_family(family: Any, rows: Rows) -> tuple[Formula, Formula]:
    """The middle of the bracket and a score whose sign agrees with it."""
    p, plain, _ = _bracketed(family, rows)
    if hasattr(family, "path"):
        return p, p - 0.5
    return p, step(p - 0.5) * larger(abs(plain), float(np.finfo(float).tiny))


def _ranked(family: Any, rows: Rows) -> tuple[Formula, Formula]:
    """The middle of the bracket, and what ranks rows: the plain score decides between equal brackets."""
    p, plain, m = _bracketed(family, rows)
    size = 1 / (4 * m) if m > 1 else 1e-9
    return p, p - 0.5 + size * plain / (1.0 + abs(plain))


def _bracketed(family: Any, rows: Rows) -> tuple[Formula, Formula, float]:
    if hasattr(family, "path"):
        return *_along_path(family, rows), 1.0
    scores = score(family.scorer, rows.matrix) + constant(family.intercept)
    return bracket(scores[family._on_grid]), scores[[family._half]], family.m


def _along_path(family: Any, rows: Rows) -> tuple[Formula, Formula]:
    """Roots of the score, which is linear in the weight between knots."""
    left, right = family.knots[:-1], family.knots[1:]
    inset = 1e-6 * (right - left)
    first, last = left + inset, right - inset
    scores = _path_scores(family.path, np.concatenate([first, last, [0.5]]), rows)
    K = len(first)
    a, b, plain = scores[:K], scores[K : 2 * K], scores[[2 * K]]
    zero = 1e-9 * larger(largest(abs(scores[: 2 * K])), 1.0)
    slope = (b - a) / constant(last - first)
    safe = where(abs(slope) > 0.0, slope, 1.0)
    root = _between(constant(first) - a / safe, constant(left), constant(right))
    up = where(b > zero, constant(right), where(a > zero, root, 0.0))
    down = where(a < -zero, constant(left), where(b < -zero, root, 1.0))
    low, high = constant(family.edge), constant(1 - family.edge)
    ends = _between(largest(up), low, high) + _between(smallest(down), low, high)
    middle = ends / 2.0
    return where(abs(middle - 0.5) > 1e-9, middle, 0.5), plain  # symmetric but for rounding: a tie


def _path_scores(path: Any, values: np.ndarray, rows: Rows) -> Formula:
    held = path._rows
    blocks = [(u / held.scale, b) for u, b, _ in path._blocks(values)]
    u, b = np.vstack([block[0] for block in blocks]), np.concatenate([block[1] for block in blocks])
    intercept = held.intercept(u, b)
    if held.kernel is None or held.kernel.name == "linear":
        return score(LinearScore(held.coefficients(u.T)), rows.matrix) + constant(intercept)
    support = np.flatnonzero(u.any(axis=0))
    points = np.flatnonzero(held.member >= 0)[support] if held.kernel.precomputed else held.X[support]
    return score(KernelScore(held.kernel, points, u.T[support]), rows.matrix) + constant(intercept)


def _between(x: Formula, low: Formula, high: Formula) -> Formula:
    return smaller(larger(x, low), high)


# -- rules, and classifiers made of others -------------------------------------------------------------------------


@translates("RuleBoostClassifier")
def _rules(model: Any, rows: Rows) -> Answer:
    scores = table_score(model._score, rows)
    P = _from_parts(link(model.loss_, scores), scores) if _has_probability(model) else None
    return Answer.by_scores(model.classes_, scores, P)


@translates("TunedClassifier")
def _tuned(model: Any, rows: Rows) -> Answer:
    return answer(model.best_estimator_, rows)


@translates("ScoreCalibrator")
def _calibrated(model: Any, rows: Rows) -> Answer:
    inner = answer(model.estimator_, rows)
    P = _calibrated_probability(model, inner.scores)
    if model.decision == "calibrated":
        scores = log(P)
        return Answer(model.classes_, scores[[1]] - scores[[0]] if P.width == 2 else scores, P, ArgMax(P))
    winner = constant(np.arange(P.width)).equals(inner.label)
    return Answer(model.classes_, inner.scores, keep_decision(P, winner), inner.label)


def _calibrated_probability(model: Any, scores: Formula) -> Formula:
    if model._joint():
        return score_map(model.links_[0], scores)
    parts = [_one_link(one, scores[[j]]) for j, one in enumerate(model.links_)]
    P = concat([1.0 - parts[0], parts[0]] if scores.width == 1 else parts)
    return normalised(larger(P, max(model._floor, float(np.finfo(float).eps))))


def _one_link(found: Any, f: Formula) -> Formula:
    if isinstance(found, ScoreMap):
        return score_map(found, f)[[1]]
    if isinstance(found, Sigmoid):
        return sigmoid(found.slope * f + found.offset)
    if isinstance(found, CoherenceLink):
        return sigmoid(coherence_log_odds(Coherence(found.temperature, found.cost, scale="V"), f))
    assert isinstance(found, Sollich)
    return sigmoid(found.multiplier * (f + _between(f, constant(-1.0), constant(1.0))))


# -- scikit-learn's linear classifiers, inside a calibrator --------------------------------------------------------


@translates(LinearSVC, RidgeClassifier, SGDClassifier)
def _linear(model: Any, rows: Rows) -> Answer:
    scores = Affine(rows.matrix, np.asarray(model.coef_, dtype=np.float64).T) + constant(
        np.atleast_1d(model.intercept_)
    )
    return Answer.by_scores(model.classes_, scores, None)


@translates(LogisticRegression)
def _logistic(model: Any, rows: Rows) -> Answer:
    found = _linear(model, rows)
    f = found.scores
    P = softmax(f) if f.width > 1 else concat([sigmoid(-f), sigmoid(f)])
    return Answer.by_scores(model.classes_, f, P)

"""Which fits have intervals, and how far those can be believed: refusals and warnings, each with a remedy.

The limits come from simulations of coverage; ``tests/inference/test_coverage.py`` repeats them on either side:
intervals of nominal level .95 cover about that within them, and may not beyond.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from softmargin._constraints import check_labels
from softmargin.inference._sandwich import LinearFit
from softmargin.losses import Loss, NoLink

__all__ = [
    "Caution",
    "check_estimator",
    "check_rows",
    "check_rows_to_draw",
    "warn_if_crowded",
    "warn_if_elsewhere",
    "warn_if_gathered",
    "warn_if_shrunk",
    "warn_of_corners",
    "warn_of_other_minima",
    "warn_of_rare_class",
    "warn_of_resampling",
]

_CROWDED, _CROWDED_NONCONVEX = 0.3, 0.15  # degrees of freedom per row beyond which leverages no longer correct enough
_FEW_ROWS = 200  # with corners: the density of the margins there is known too roughly
_STEEP = 2.0  # ratio of the two slopes of a corner, beyond which the fit itself is far from its limit
_RARE, _RARE_NONCONVEX = 15, 100  # rows of the smaller class below which leverages correct too little or too much
_RARE_SHARE = 0.2  # of all rows, below which a bounded loss is near to giving the class up
_GATHERED, _AT_CORNER = 0.1, 1e-3  # share of rows within this distance of a corner, beyond one for each coefficient
_MOST_ROWS = 2.0**53  # that doubles count one by one
_BENT_DOWN = 1 / 3  # share of the curvature that rows on which the loss bends down take away
_ELSEWHERE = 0.3  # standard errors from the minimum of the rows given; converged fits are within .1, others beyond .6
_JUMPS = (
    "{!r} gives the class only: its best score jumps where the classes are equally likely, so that linear fits follow "
    "single rows and their intervals may be too short at any number of rows. Use a larger sigma or a convex loss."
)
_SHRUNK = 0.25  # standard errors by which the penalty moves a coefficient


class Caution(UserWarning):
    """An interval is given whose level is not assured; the message says why and what to do."""


def _name(estimator: Any) -> str:
    return type(estimator).__name__


def check_estimator(estimator: Any, method: str) -> None:
    """Raise a ValueError that says why this classifier has no intervals, and what has."""
    kernel = getattr(estimator, "kernel", None)
    if kernel is not None:
        raise ValueError(
            f"{_name(estimator)}(kernel={kernel!r}) is not linear in its features; intervals exist for kernel=None."
        )
    parts = ("loss_", "coef_", "intercept_", "C", "classes_")
    if not all(hasattr(estimator, part) for part in parts) or not isinstance(estimator.loss_, Loss):
        raise ValueError(
            f"{_name(estimator)} is not one margin loss minimised over linear features, so it has no intervals here; "
            "use MarginClassifier, CoherenceClassifier, RobustSVC, TruncatedLogisticRegression or BalancingSVC with "
            "kernel=None (of a pipeline, pass the last step and the rows it was fitted to)."
        )
    if len(estimator.classes_) != 2:
        raise ValueError("intervals are for two classes; pass one of estimators_ with the labels y == classes_[j].")
    by_row = estimator.loss_.parts != (estimator.loss_,) or getattr(estimator, "leverage", None) is not None
    if by_row and method != "bootstrap":
        raise ValueError(
            f"{_name(estimator)} costs rows differently (by class or leverage), for which only method='bootstrap' has "
            f"intervals; got method={method!r}."
        )
    steepest = max((abs(s) for k in estimator.loss_.kinks for s in (k.left_slope, k.right_slope)), default=0.0)
    if not np.isfinite(steepest):
        raise ValueError(f"{estimator.loss_!r} is a constraint, whose multipliers have no sandwich; use a finite loss.")
    if not np.all(np.isfinite(estimator.coef_)):
        raise ValueError("the fitted coefficients are not finite; rescale the features and fit again.")
    selected = getattr(estimator, "l1_ratio", 0) > 0 or getattr(estimator, "penalty", None) is not None
    if selected and method == "sandwich":
        raise ValueError(
            "the coefficients were selected by an l1-type penalty, so sandwich intervals would be too short; "
            "use method='split' (valid after selection) or method='bootstrap' (descriptive)."
        )


def check_rows(estimator: Any, X: Any, y: Any) -> np.ndarray:
    """Labels as signs; raises where rows or labels are not those the estimator was fitted to."""
    y = check_labels(y, estimator.classes_, X.shape[0])
    if X.shape[1] != np.size(estimator.coef_):
        raise ValueError(
            f"X has {X.shape[1]} columns, but the estimator was fitted to {np.size(estimator.coef_)}; "
            "pass the rows as its fit saw them (behind the transformers of a pipeline)."
        )
    return np.where(y == estimator.classes_[1], 1.0, -1.0)


def check_rows_to_draw(signs: np.ndarray, weight: np.ndarray) -> None:
    """Raises where a class weighs less than the one row a resample has to draw of it, or all rows beyond counting."""
    if float(weight.sum()) > _MOST_ROWS:
        raise ValueError(
            f"sample_weight adds up to {weight.sum():.3g} rows, more than a resample can draw one by one; divide the "
            "weights by a constant so that they say how many rows each stands for."
        )
    least = min(float(weight[signs > 0].sum()), float(weight[signs < 0].sum()))
    if round(least) < 1:
        raise ValueError(
            f"sample_weight adds up to {least:.3g} rows of one class, but a resample draws whole rows; multiply the "
            "weights by a constant so that they say how many rows each stands for."
        )


def warn_if_crowded(fit: LinearFit) -> None:
    """Too many degrees of freedom for the corrections, unless the fit is linear in the labels."""
    limit = 0.5 if _quadratic(fit.loss) else _CROWDED if fit.loss.convex else _CROWDED_NONCONVEX
    if fit.df > limit * fit.n:
        _warn(
            f"the fit spends {fit.df:.0f} degrees of freedom on {fit.n:g} rows; beyond {limit:g} per row the intervals "
            "of this loss are too short or too long. Use fewer features, a smaller C, or more rows."
        )


def _quadratic(loss: Loss) -> bool:
    """Whether the loss bends alike at every margin, so that a fit is linear in the labels."""
    if loss.parts != (loss,):
        return all(_quadratic(part) for part in loss.parts)
    curvature = np.asarray(loss.curvature(np.linspace(-5.0, 5.0, 21)))
    return not loss.kinks and bool(np.ptp(curvature) <= 1e-12 * np.abs(curvature).max())


def warn_of_rare_class(loss: Loss, signs: np.ndarray, frequency: np.ndarray) -> None:
    """The rows of the smaller class carry the fit; few of them are no large sample, however many the others are."""
    n, least = float(frequency.sum()), min(float(frequency[signs > 0].sum()), float(frequency[signs < 0].sum()))
    needed = _RARE_NONCONVEX if not loss.convex and least < _RARE_SHARE * n else _RARE
    if least < needed and not _quadratic(loss):
        _warn(
            f"the smaller class has {least:g} of {n:g} rows; with fewer than {needed} the intervals of {loss!r} may "
            "be too short or too long. Use more rows of it or a loss that bends alike everywhere ('least_squares')."
        )


def warn_of_corners(fit: LinearFit) -> None:
    """Corners: few rows, or one side much steeper than the other."""
    if not fit.loss.kinks:
        return
    if fit.n < _FEW_ROWS:
        _warn(
            f"{fit.loss!r} has corners, and {fit.n:g} rows tell the density of the margins there too roughly; the "
            f"intervals may be too short below {_FEW_ROWS} rows. Use a smooth loss or method='bootstrap'."
        )
    upward = [kink for kink in fit.loss.kinks if kink.jump > 0]  # rows gather on these; beyond others they are given up
    ratio = max((abs(k.right_slope) / max(abs(k.left_slope), 1e-12) for k in upward), default=0.0)
    if ratio > _STEEP:
        _warn(
            f"{fit.loss!r} is {ratio:.3g} times as steep beyond its corner as before it; such a fit is biased at any "
            "ordinary number of rows and its intervals are too short. Use a smaller balance or a smooth loss."
        )


def warn_if_gathered(loss: Loss, margins: np.ndarray, frequency: np.ndarray, n_coefficients: int) -> None:
    """A good part of the rows on corners: the fit is nearly constant, and the margins there have no density."""
    corners = [kink.at for kink in loss.kinks if kink.jump > 0]
    on = np.any([np.abs(margins - at) <= _AT_CORNER for at in corners], axis=0) if corners else np.zeros(len(margins))
    share = (float(frequency @ on) - n_coefficients) / float(frequency.sum())
    if share > _GATHERED:
        _warn(
            f"{share:.0%} of the rows lie on a corner of {loss!r}, as where one class wins everywhere or rows repeat "
            "each other; margins have no density there and the intervals say nothing. Use class_weight='balanced' or "
            "a smooth loss."
        )


def warn_of_other_minima(fit: LinearFit) -> None:
    """A sandwich is the spread of one minimum; a loss that bends down may have others, between which samples choose."""
    if fit.loss.convex:
        return
    share = fit.bent_down
    if _jumps(fit.loss):
        _warn(_JUMPS.format(fit.loss))
    elif share > _BENT_DOWN:
        _warn(
            f"rows on which {fit.loss!r} bends down take {share:.0%} of the curvature away; other minima are near, and "
            "intervals around one of them may be too short. Use a larger sigma or level, or a convex loss."
        )


def _jumps(loss: Loss) -> bool:
    """Whether the best score of a smooth loss jumps from one side to the other: then it has no link."""
    if loss.parts != (loss,):
        return any(_jumps(part) for part in loss.parts)
    if loss.convex or loss.kinks:
        return False
    try:
        loss.probability(np.zeros(1))
    except NoLink:
        return True
    return False


def warn_if_elsewhere(fit: LinearFit, gradient: np.ndarray, errors: np.ndarray) -> None:
    """The coefficients are no minimum of the rows given: other rows, labels or weights than those of the fit."""
    if fit.loss.kinks:
        return  # their gradient is known as well as the rows on corners are
    step = np.abs(fit.bread @ gradient)
    distance = float(np.max(np.divide(step, errors, out=np.zeros_like(step), where=errors > 0), initial=0.0))
    if distance > _ELSEWHERE:
        _warn(
            f"the coefficients lie {distance:.2g} standard errors from those of these rows, labels and weights: they "
            "are the intervals of another fit, or of one that has not converged. Pass X, y and sample_weight as they "
            "were given to fit."
        )


def warn_of_resampling(estimator: Any, crowding: float, limit: float) -> None:
    """Selected models, and many features for the rows."""
    if getattr(estimator, "l1_ratio", 0) > 0 or getattr(estimator, "penalty", None) is not None:
        _warn(
            "bootstrap intervals of coefficients selected by an l1-type penalty describe how they vary; they need not "
            "cover the truth at their level. Use method='split'."
        )
    elif crowding > limit:
        _warn(
            f"{crowding:.2g} features per row: beyond {limit:g} resampled rows exaggerate the spread, and the "
            "intervals are too long. Use method='sandwich' or fewer features."
        )
    elif _jumps(estimator.loss_):
        _warn(_JUMPS.format(estimator.loss_))


def warn_if_shrunk(fit: LinearFit, theta: np.ndarray, errors: np.ndarray) -> None:
    """The penalty moves a coefficient by a good part of its standard error."""
    moved = np.abs(fit.bread @ (fit.ridge * theta)) / np.maximum(errors, 1e-300)
    if moved.max(initial=0.0) > _SHRUNK:
        _warn(
            f"the penalty moves a coefficient by {moved.max():.2g} standard errors towards zero; the intervals are for "
            "the penalised coefficients. Raise C for intervals around the unpenalised ones."
        )


def _warn(message: str) -> None:
    warnings.warn(message, Caution, stacklevel=6)

"""What prediction needs and nothing else: the score functions a fit found, and what a fit leaves behind.

``f_j(x) = b_j + x'beta_j`` for features, ``f_j(x) = b_j + sum_i a_ij k(x_i, x)`` over support rows or landmarks for a
kernel. Every fit makes a new ``FittedScore``; the public attributes ``coef_``, ``dual_coef_``, ``support_`` and
``intercept_`` are read from it, so they cannot disagree with predictions or survive a refit.

Rows of single precision are scored in it where that keeps the scores, measured on some of the training rows, and the
objective, which is to be true of the coefficients as they are held: rows on the margin pay their cost for every digit
that is lost. Large terms that cancel, such as those of an unbounded kernel far from the origin, leave single precision
no digits, and large costs beside a small objective ask for more: there coefficients stay doubles, and scores are summed
in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from softmargin.estimators._base.training_set import TrainingSet
from softmargin.expansions import KernelColumns, KernelScore, LinearScore

__all__ = ["FittedScore", "Scored", "Stake", "fit_or_nothing", "in_their_precision", "without_rows"]

# Training rows whose scores are compared, and how much of the largest of them, and of the objective, may change:
# rounding alone changes about 1e-6 of scores, and probabilities are not quoted with more digits than this.
_SOME_ROWS, _KEPT = 64, 1e-4

# fields of a solution with a number per training row, which certify a fit and predict nothing
_ROW_VECTORS = ("dual", "margins", "base", "kept")


_FEW_ROWS, _DROWNED = 16, 1e-2  # rows whose terms are added up, and the rounding of scores that is too much


@dataclass(frozen=True)
class Stake:
    """What scores cost: ``cost`` of each typical row for a unit of loss, and the ``objective`` of each function."""

    cost: np.ndarray
    objective: np.ndarray

    @classmethod
    def of(cls, data: TrainingSet, C: float, solutions: list[Any]) -> Stake:
        """Of fits of ``C`` times the weights of the rows."""
        return cls(C * data.typical_weight(), np.array([one.objective for one in solutions]))

    def paid(self, rows: Any, score: Any, intercept: np.ndarray) -> np.ndarray:
        """The cost of the sizes of scores, by rows that stand for equal parts of all costs."""
        ends = np.cumsum(self.cost)
        middles = ends[-1] * (np.arange(_SOME_ROWS) + 0.5) / _SOME_ROWS
        chosen, times = np.unique(np.minimum(np.searchsorted(ends, middles), len(ends) - 1), return_counts=True)
        return np.asarray(ends[-1] / _SOME_ROWS * (times @ np.abs(score(rows[chosen]) + intercept)))


@dataclass(frozen=True)
class FittedScore:
    """Scores of new rows, one column per function; ``support`` are row numbers of ``fit``, None for features."""

    score: LinearScore | KernelScore
    intercept: np.ndarray
    support: np.ndarray | None = None

    @classmethod
    def of(cls, data: TrainingSet, coef: np.ndarray, intercept: Any, stake: Stake | None = None) -> FittedScore:
        """The functions with coefficients ``coef`` (n_coef, k) on the expansion of the training rows."""
        dtype = data.X.dtype
        largest = max(float(np.abs(coef).max(initial=0.0)), float(np.abs(intercept).max(initial=0.0)))
        if largest * len(coef) > float(np.finfo(dtype).max):
            raise ValueError(
                f"the coefficients reach {largest:.3g}, which {dtype} does not hold: give X in float64, or lower C or "
                "the weights."
            )
        # in the order that files give back, whatever a solver left: products of another order round otherwise
        coef, intercept = np.array(coef, dtype=np.float64, order="C"), np.array(intercept, dtype=np.float64)
        if isinstance(data.shared, KernelColumns):
            coef = data.shared.balanced(coef)
        score, chosen = data.shared.scorer(coef), data.shared.support(coef)
        if isinstance(score, KernelScore) and not isinstance(data.shared, KernelColumns):  # those are judged beforehand
            _require_digits(score, data.typical()[0])
        if dtype != np.float64:
            score, intercept = in_their_precision(data.typical()[0], score, intercept, stake)
        if chosen is None:
            return cls(score, intercept)
        support = data.numbered(chosen)
        if score.kernel.precomputed:  # the columns a user passes are counted over all rows of fit
            score = KernelScore(score.kernel, support, score.coef)
        return cls(score, intercept, support)

    def __call__(self, X: Any) -> np.ndarray:
        """Scores of shape (n, k), in the type of the rows."""
        return (self.score(X) + self.intercept).astype(X.dtype, copy=False)


def _require_digits(score: KernelScore, rows: Any) -> None:
    """Refuse scores that are nothing but rounding: the same row in another container would have another one."""
    if _is_called_by_pairs(score) or score.kernel.precomputed or not len(score.coef):
        return
    some = rows[np.unique(np.linspace(0, rows.shape[0] - 1, _FEW_ROWS).astype(np.intp))].astype(np.float64)
    similarities = score.kernel(some, score.rows.astype(np.float64))
    scores, terms = similarities @ score.coef, np.abs(similarities) @ np.abs(score.coef)
    if np.finfo(np.float64).eps * float(terms.max(initial=0.0)) > _DROWNED * max(1.0, float(np.abs(scores).max())):
        raise ValueError(
            f"The kernel reaches {float(np.abs(similarities).max()):.3g} and its coefficients "
            f"{float(np.abs(score.coef).max()):.3g}: scores of about one are lost in the rounding of their sums. "
            "Standardise the columns of X, or lower C, the sample weights, degree, gamma or coef0."
        )


def in_their_precision(
    rows: Any, score: Any, intercept: np.ndarray, stake: Stake | None = None
) -> tuple[Any, np.ndarray]:
    """A score and its intercepts in the type of the training ``rows``, unless scores or objective change by that."""
    dtype = rows.dtype
    if dtype == np.float64 or _is_called_by_pairs(score):
        return score, intercept
    rounded, shift = replace(score, coef=score.coef.astype(dtype)), intercept.astype(dtype)
    some = rows[np.unique(np.linspace(0, rows.shape[0] - 1, _SOME_ROWS).astype(np.intp))]
    exact = score(some) + intercept
    with np.errstate(over="ignore", invalid="ignore"):
        change = np.abs(rounded(some) + shift - exact)
    size = np.abs(exact)
    # losses bend at scores of about one, which those of a row far out must not hide
    keeps = np.all(change <= _KEPT * np.minimum(np.maximum(size, 1.0), size.max(axis=0)))
    if keeps and stake is not None:
        lost = replace(score, coef=score.coef - rounded.coef), intercept - shift
        keeps = np.all(stake.paid(rows, *lost) <= _KEPT * np.abs(stake.objective))
    return (rounded, shift) if keeps else (score, intercept)


def _is_called_by_pairs(score: Any) -> bool:
    """Whether a user's function makes the similarities: called for two rows at a time, fewer digits gain it nothing.

    To measure what they lose would take more calls than a fit of a few hundred rows.
    """
    return isinstance(score, KernelScore) and score.kernel.is_own and not score.kernel.precomputed


class Scored:
    """Public attributes of an estimator whose fit is the ``FittedScore`` in ``_score_``."""

    _score_: FittedScore

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the features, a row per function; without a kernel only."""
        score = self._fitted("coef_")
        if score.support is not None:
            raise AttributeError(f"{type(self).__name__} with a kernel has dual_coef_ and support_, no coef_.")
        return score.score.coef.T

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the support rows, a row per function; with a kernel only."""
        score = self._fitted("dual_coef_")
        if score.support is None:
            raise AttributeError(f"{type(self).__name__} without a kernel has coef_, no dual_coef_.")
        return score.score.coef.T

    @property
    def support_(self) -> np.ndarray:
        """Row numbers of the support rows; with a kernel only."""
        score = self._fitted("support_")
        if score.support is None:
            raise AttributeError(f"{type(self).__name__} without a kernel has no support_.")
        return score.support

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts, one per function, beside the kernel (or the features) of the rows as they are."""
        fitted = self._fitted("intercept_")
        score = fitted.score
        moved = isinstance(score, KernelScore) and score.kernel.origin is not None
        return fitted.intercept + score.at_zero if moved else fitted.intercept  # type: ignore[union-attr]

    @property
    def kernel_score_(self) -> KernelScore:
        """The kernel with its support rows; with a kernel only."""
        score = self._fitted("kernel_score_").score
        if not isinstance(score, KernelScore):
            raise AttributeError(f"{type(self).__name__} without a kernel has no kernel_score_.")
        return score

    def _fitted(self, name: str) -> FittedScore:
        if "_score_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name} before fit.")
        return self._score_


@contextmanager
def fit_or_nothing(estimator: Any) -> Iterator[None]:
    """A fit on which nothing of an earlier one answers, and which leaves nothing where it fails or is interrupted."""
    _forget(estimator)
    try:
        yield
    except BaseException:
        _forget(estimator)
        raise


def _forget(estimator: Any) -> None:
    """Remove whatever a fit left on the estimator.

    What a fit leaves has a name that ends in an underscore, private or not, or is in ``_private_fit`` of its class
    (names that files of older versions hold); other names are the user's or scikit-learn's.
    """
    private = getattr(type(estimator), "_private_fit", ())
    for name in [name for name in vars(estimator) if name.endswith("_") or name in private]:
        delattr(estimator, name)


def without_rows(solution: Any) -> Any:
    """A solution, or a list of them, without its vectors of training rows."""
    if isinstance(solution, list):
        return [without_rows(one) for one in solution]
    if solution is None:
        return None
    known = {field.name for field in fields(solution)}
    return replace(solution, **{name: None for name in _ROW_VECTORS if name in known})

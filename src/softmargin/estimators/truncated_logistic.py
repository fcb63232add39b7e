"""``TruncatedLogisticRegression``: logistic regression that gives up on hopeless rows."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import expit

from softmargin._constraints import Constraint, number, one_of, real_numbers
from softmargin.estimators._base.expansion_classifier import ExpansionClassifier
from softmargin.estimators._base.fitted_score import FittedScore
from softmargin.estimators._base.training_set import TrainingSet
from softmargin.estimators._base.trust import robust_engine
from softmargin.expansions import Expansion
from softmargin.losses import CappedByRow, Logistic, NoLink, TruncatedLogistic
from softmargin.probability import (
    bracket,
    couple,
    estimable_or_fallback,
    nearest_estimable,
    outward_weights,
    two_columns,
)
from softmargin.problem import Problem
from softmargin.solvers import Solution, solve_class_weights

__all__ = ["TruncatedLogisticRegression"]

_LOG_2 = math.log(2)
_LEAST = 2 * _LOG_2
_SHARE = 50  # of the steps allowed, for fits of other class weights where the plain one did not converge
_BRACKETS = 20  # scheme 3 fits the class weights 1/20, .., 19/20


def _hat_diagonal(X: Any) -> np.ndarray:
    """The leverages of the rows in least squares with an intercept."""
    if sparse.issparse(X):
        raise ValueError("leverage='hat' needs dense features; give an array of factors for sparse ones.")
    centred = np.asarray(X, dtype=np.float64) - np.mean(X, axis=0)
    U, size, _ = np.linalg.svd(centred, full_matrices=False)
    kept = size > max(size.max(initial=0.0), 1e-300) * max(X.shape) * np.finfo(float).eps
    return np.minimum(1 / len(centred) + np.square(U[:, kept]).sum(axis=1), 1.0)


class _WeightedFits:
    """The fits of other class weights, made when probabilities are first asked for."""

    def __init__(self, fit: Callable[[], FittedScore]) -> None:
        self._fit: Callable[[], FittedScore] | None = fit
        self._score: FittedScore | None = None
        self._making = threading.Lock()  # chunks are predicted by several threads

    def made(self) -> FittedScore:
        """Their scores; from then on the training rows are forgotten."""
        with self._making:
            fit = self._fit
            if self._score is None and fit is not None:
                self._score, self._fit = fit(), None
        assert self._score is not None
        return self._score

    def __call__(self, X: Any) -> np.ndarray:
        return self.made()(X)


class TruncatedLogisticRegression(ExpansionClassifier):
    """Logistic regression whose loss is capped: rows that cost more than ``level`` have no pull at all.

    Minimises ``C * sum_i s_i min(log(1 + exp(-y_i f(x_i))), level) + Omega``, linear or with a kernel, by dropping the
    rows beyond the cap and refitting until the set of retained rows repeats, from plain logistic regression. The rows
    given up are reported in ``outliers_``.

    Parameters
    ----------
    level : float, default=2 log 2
        The cap (t), at least log 2; ``k log 2`` gives up rows whose label has probability below ``2^-k``. inf is
        logistic regression.
    scheme : {1, 2, 3, None}, default=3
        How probabilities are completed where the cap has destroyed them. 1: the score's own where it determines one,
        plain logistic regression elsewhere (free). 2: fits of several class weights, the first within reach. 3: the
        weight at which the sign changes, from 19 weights. 1 and 2 need ``level > 2 log 2``. The further fits
        are made together, to the same ``tol``, when probabilities are first asked for or the model is saved; until then
        the training rows are kept, not copied, so do not change them in place. None fits the classifier alone, without
        ``predict_proba``. The label is always the sign of the score; a probability on the other side of 1/2 is moved to
        1/2.
    leverage : None, "hat" or array-like of shape (n_samples,), default=None
        Pregibon's factor ``h(x)`` in (0, 1]: the cap of row i becomes ``h_i * level``, at least log 2, so that rows
        with leverage are given up sooner. "hat" is ``1 - `` the diagonal of the hat matrix of the features. Needs
        ``scheme=3`` or None.
    init : {"base", "zero"}, default="base"
        Where the fit starts: plain logistic regression, or the zero score.
    n_init : int, default=1
        Number of starts, of which the best is kept; the others are plain fits to random halves. One start ends 2.2%
        above the best of 30 on average with 100 rows and 1.1% with 300, ten end 0.4 and 0.2% above it and take six
        times as long; the labels are no better for it (errors of .258 and .258, .213 and .213: ``python -m benchmarks
        starts``), so one is the default for any number of rows. Fits of other class weights have one start.
    tol : float, default=1e-4
        Rounds end when scores move by less than this, relative to the largest, or when no bound of the objective that
        touches it falls by more than this, relative to it.
    max_iter : int, default=1000
        Largest number of rounds.

    Attributes
    ----------
    outliers_ : ndarray of bool of shape (n_samples,)
        The training rows given up (by any one-against-rest fit, with several classes).
    sample_trust_ : ndarray of shape (n_samples,)
        ``expit`` of the margin of the label given: below 1/2 the label is not believed, and ``outliers_`` are the rows
        below ``exp(-level)``.
    objective_, constant_objective_ : float
        The objective, and that of giving up the smaller class altogether.
    status_ : str
        "ok", or "degenerate" where only rows of one class were retained and the constant classifier is returned.
    weights_ : ndarray
        The class weights that schemes 2 and 3 fitted.
    classes_, coef_, intercept_, dual_coef_, support_, loss_, solution_, n_iter_, n_features_in_
        As in :class:`MarginClassifier`.

    Notes
    -----
    From the thesis to the parameters:

    ================================================  ====================================================
    thesis, chapter 2                                 here
    ================================================  ====================================================
    sum of losses + lambda/2 ``|w|^2``                ``C = 1 / lambda``
    t = -log(expit(s)), the level of truncation       ``level``
    class weights (1 - pi, pi)                        ``2 (1 - pi)``, ``2 pi``: ``C`` is half the thesis's
    schemes I, II, III for probabilities              ``scheme=1``, ``2``, ``3``
    h(x) of (2.2), with ``rho(v) = min(v, t)``        ``leverage``
    ================================================  ====================================================

    References
    ----------
    Park, S. Y. (2010). Robust penalized logistic regression. PhD thesis, chapters 1-2. Park, Liu (2011). Robust
    penalized logistic regression with truncated loss functions. Canadian Journal of Statistics 39.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin import TruncatedLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2))
    >>> y = X[:, 0] > X[:, 1]
    >>> wrong = np.argsort(X[:, 0] - X[:, 1])[:10]
    >>> y[wrong] = True
    >>> model = TruncatedLogisticRegression(C=10).fit(X, y)
    >>> bool(model.outliers_[wrong].all())
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "level": number("a number of at least log 2 = 0.693 (inf caps nothing)", lambda value: value >= _LOG_2),
        "scheme": one_of(1, 2, 3, None),
        "leverage": one_of(None, "hat")
        | Constraint("an array of numbers in (0, 1]", lambda value: not isinstance(value, str) and np.ndim(value) == 1),
    }

    def __init__(
        self,
        *,
        level: float = 2 * math.log(2),
        scheme: int | None = 3,
        leverage: Any = None,
        init: str = "base",
        n_init: int = 1,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        penalty: Any = None,
        kernel: Any = None,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_components: int | str | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        probability_prior: str = "weighted",
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.level = level
        self.scheme = scheme
        self.leverage = leverage
        self.init = init
        self.n_init = n_init
        self.C = C
        self.l1_ratio = l1_ratio
        self.penalty = penalty
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.probability_prior = probability_prior
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _loss(self) -> TruncatedLogistic:
        return TruncatedLogistic(level=float(self.level))

    def _engine(self, problem: Problem) -> Any:
        return robust_engine(self, problem)

    def _check_combination(self) -> None:
        super()._check_combination()
        if self.scheme in (1, 2) and self.level <= _LEAST * (1 + 1e-12):
            raise ValueError(
                f"scheme={self.scheme} needs level > 2 log 2 = {_LEAST:.6g}: at level={self.level!r} no score "
                "determines a probability. Use scheme=3 or raise level."
            )
        if self.leverage is not None and (self.scheme in (1, 2) or (self._by_hat and self.kernel is not None)):
            raise ValueError(
                f"leverage={self.leverage!r} needs scheme=3 or None, and 'hat' needs features; got "
                f"scheme={self.scheme!r} and kernel={self.kernel!r}. Give an array of factors for a kernel."
            )

    @property
    def _by_hat(self) -> bool:
        return isinstance(self.leverage, str)

    # -- fitting -------------------------------------------------------------------------------------------------

    def _fit_from(
        self, start: Solution | None, expansion: Expansion | None, X: Any, y: Any, sample_weight: Any = None
    ) -> Any:
        super()._fit_from(start, expansion, X, y, sample_weight)
        # a row is given up where its label's probability is below exp(-level)
        caps = self.__dict__.pop("_caps_", None)
        if hasattr(self, "sample_trust_"):  # not of chunked rows
            self.outliers_ = self.sample_trust_ < expit(self._loss().at if caps is None else CappedByRow(caps).at)
        return self

    def _training_set(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        data = super()._training_set(X, y, sample_weight)
        if self.leverage is not None and not data.is_resident:
            raise ValueError("leverage needs rows in memory; use leverage=None for chunked rows, or fit a sample.")
        if self.leverage is not None:
            self._caps_ = data.expand(self._caps(data), float(self.level))
        return data

    def _caps(self, data: TrainingSet) -> np.ndarray:
        """The cap of each row: the level times its factor, at least log 2."""
        if self._by_hat:
            factors = 1 - _hat_diagonal(data.X)
        else:
            factors = real_numbers("leverage", self.leverage)
            if factors.shape != (data.n_rows,) or not np.all((factors > 0) & (factors <= 1)):
                raise ValueError(
                    f"leverage must hold a number in (0, 1] for each of the {data.n_rows} rows; got {self.leverage!r}."
                )
            factors = factors[data.rows]
        level = float(self.level)
        return np.maximum(_LOG_2, level * factors) if math.isfinite(level) else np.full(len(factors), np.inf)

    def _problem(self, data: TrainingSet, y: np.ndarray) -> Problem:
        problem = super()._problem(data, y)
        if self.leverage is None or math.isinf(self.level):
            return problem
        return problem.with_loss(CappedByRow(self._caps(data)))

    def _fit_binary(self, data: TrainingSet, y: np.ndarray) -> None:
        super()._fit_binary(data, y)
        problem, reach = self._problem(data, y), self._loss().estimable
        if self.scheme is None or math.isinf(self.level):
            return
        self.weights_: np.ndarray = np.empty(0)
        if self.scheme == 2:
            self.weights_ = outward_weights(reach)
        elif self.scheme == 3:
            self.weights_ = np.arange(1, _BRACKETS) / _BRACKETS
        fitted = copy(self)  # parameters set later do not change what was fitted
        fitted.n_init = 1  # of a machine of another class weight its sign alone is asked
        if not self.solution_.converged:  # nor will the others: no full price for each of them
            fitted.max_iter = max(1, self.max_iter // _SHARE)
        self._family_ = _WeightedFits(lambda: fitted._fit_family(data, problem))

    def _fit_family(self, data: TrainingSet, problem: Problem) -> FittedScore:
        family = self._family(problem)
        if self.scheme in (1, 2):
            family.append(self._base(problem))
        coef, intercepts = np.column_stack([one.coef for one in family]), [one.intercept for one in family]
        return FittedScore.of(data, coef, intercepts)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if isinstance(state.get("_family_"), _WeightedFits):  # training rows stay out of pickles and files
            state["_family_"] = state["_family_"].made()
        return state

    def _family(self, problem: Problem) -> list[Solution]:
        """The fits of all class weights: together where that can be done, else each from its neighbour, outwards."""
        found: dict[int, Solution] = {k: one for k, one in enumerate(self._together(problem)) if one is not None}
        order = np.argsort(self.weights_)
        middle = int(np.searchsorted(self.weights_[order], 0.5))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # extreme weights leave constants, which their signs tell
            for outwards in (order[middle:], order[:middle][::-1]):
                start = self.solution_
                for k in outwards:
                    if k not in found:
                        found[int(k)] = self._weighted(problem, float(self.weights_[k]), start)
                    start = found[int(k)]
        return [found[k] for k in range(len(self.weights_))]

    def _together(self, problem: Problem) -> list[Solution | None]:
        """The fits of all class weights but the one at hand, from where a fit with one start begins."""
        found: list[Solution | None] = [None] * len(self.weights_)
        others = np.flatnonzero(self.weights_ != 0.5)
        if self.init != "base":
            return found
        weights = self.weights_[others]
        made = solve_class_weights(problem, np.array([2 * weights, 2 * (1 - weights)]), self.tol)
        for k, solution in zip(others, made, strict=True):
            found[k] = solution
        return found

    def _weighted(self, problem: Problem, weight: float, start: Solution) -> Solution:
        if weight == 0.5:
            return self.solution_
        return self._solve(problem.weighing(2 * (1 - weight), 2 * weight), start)

    def _base(self, problem: Problem) -> Solution:
        """Plain logistic regression: where the fit started, or fitted now."""
        solution = self.solution_
        if solution.base is not None:
            return solution.base
        return self._solve(problem.with_loss(Logistic()))

    # -- prediction ----------------------------------------------------------------------------------------------

    def _probability(self, X: Any) -> np.ndarray:
        scores = self._decision(X)
        if scores.ndim == 1:
            return two_columns(self._scheme_probability(X, scores), scores)
        parts = [one._scheme_probability(X, column) for one, column in zip(self.estimators_, scores.T, strict=True)]
        return couple(np.column_stack(parts), scores)

    def _scheme_probability(self, X: Any, scores: np.ndarray) -> np.ndarray:
        scores = np.asarray(scores, dtype=np.float64)
        if math.isinf(self.level):
            return expit(scores)
        family = self._family_(X).astype(np.float64)
        reach = self._loss().estimable
        if self.scheme == 1:
            return estimable_or_fallback(scores, expit(family[:, -1]), reach)
        if self.scheme == 2:
            return nearest_estimable(family[:, :-1].T, self.weights_, expit(family[:, -1]), reach)
        return bracket(family).probability

    def _require_probability(self) -> None:
        if self.scheme is None:
            raise NoLink("scheme=None fits the classifier alone; use scheme=1, 2 or 3 for class probabilities.")

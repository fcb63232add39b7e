"""``ProbabilisticSVC``: class probabilities from support vector machines of many class weights, no sigmoid assumed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from softmargin._constraints import NONE, Constraint, integer, one_of
from softmargin._progress import is_heard, report
from softmargin.estimators._base.classifier import ClassifierBase
from softmargin.estimators._base.training_set import TrainingSet
from softmargin.estimators._weight_family import GridFamily, PathFamily, WeightFamily, WeightGrid
from softmargin.expansions import expand
from softmargin.paths import cost_paths
from softmargin.probability import bracket, couple, resampled_interval, two_columns

__all__ = ["ProbabilisticSVC"]

_FINEST, _SIZES, _FOLDS = 40, (4, 5, 8, 10, 20, 40), 5  # grids that "auto" compares: divisors share their weights
_MOST_WEIGHTS = 10_000  # finer than any probability is known
_MANY_ROWS = 1600  # from here the grid stays: half a step of 1/40 is below the error of any estimated probability


def _dense_coef(family: GridFamily, n: int) -> np.ndarray:
    """The coefficients of all rows, zero off the support."""
    coef = np.zeros((n, family.scorer.coef.shape[1]))
    coef[family._support] = family.scorer.coef
    return coef


class ProbabilisticSVC(ClassifierBase):
    """Support vector machine with nonparametric class probabilities.

    Trains the same SVM with costs ``2 (1 - pi)`` on the positive and ``2 pi`` on the negative class for many ``pi``;
    the ``pi`` at which the score of a row changes sign is its probability (bracketing; Wang, Shen and Liu 2008). One
    kernel matrix and warm starts serve all weights. The predicted class is the one of the larger probability.

    Parameters
    ----------
    method : {"svm", "psi"}, default="svm"
        The classifier: the hinge loss, or psi-learning, which gives up on outliers (nonconvex; started at the SVM and
        at the neighbouring weight, the better is kept).
    n_init : int, default=1
        Further starts of each fit of "psi", at machines of random halves of the rows: ``n_init - 1`` beyond those two;
        the best is kept. Of 168 fits, 110, 142 and 152 reach the best of 30 starts with 1, 5 and 10, but errors rise
        from .231 to .246 and .247 (``python -m benchmarks starts``): where the SVM leads is the better machine.
    n_weights : int, "auto" or None, default=None
        The m of the grid ``pi = 1/m, .., (m-1)/m``; None is ``floor(sqrt(n))``, at least 2 and at most 40. "auto" takes
        the divisor of 40 whose probabilities have the least cross-validated log loss (``n_weights_``).
    n_resamples : int, default=0
        Resampled sets of rows to fit as well, for the confidence intervals of ``predict_interval_proba``; 100 give them
        to about a tenth of their length.
    engine : {"grid", "path"}, default="grid"
        "grid" fits each weight from its neighbour. "path" follows the exact solution through all weights and needs
        no grid: the bracket is continuous, clipped to ``[1/2n, 1 - 1/2n]``. For ``method="svm"`` only.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class; probabilities are then those under the weighted classes.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of the score; up to a thousand rows each fit is
        refined to the last digits.
    max_iter : int, default=10000
        Largest number of working sets of one fit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    weights_ : ndarray
        The weights pi fitted.
    coef_ : ndarray of shape (n_weights_fitted, n_features)
        Coefficients for each weight; without a kernel only.
    dual_coef_, support_ : ndarray
        Signed multipliers for each weight, and the row numbers of the support rows; with a kernel only.
    intercept_ : ndarray of shape (n_weights_fitted,)
        Intercepts for each weight.
    n_weights_ : int
        The m used (engine "grid").
    nonmonotone_share_ : float
        Share of the training rows whose score changes sign more than once along the weights.
    mean_width_ : float
        Mean width of their brackets.
    solution_ : Solution
        The fit at ``pi = 1/2``: the plain SVM.

    Notes
    -----
    From the paper to the parameters:

    ==============================================  =========================================================
    paper                                           here
    ==============================================  =========================================================
    ``n^-1 sum S_i L + lambda |h|^2 / 2``           ``C = 1 / (2 n lambda)``: weights are ``2 (1 - pi)``, ``2 pi``
    m + 1 weights ``pi_j = (j - 1) / m``            ``n_weights = m``; the ends need no fit
    sigma of the Gaussian kernel                    ``gamma = 1 / sigma^2``; "median" is the paper's
    psi-learning                                    ``method="psi"``
    solution path in pi (section 4)                 ``engine="path"``, :func:`softmargin.paths.weight_path`
    tuning by estimated GKL (section 3)             ``TunedClassifier(ProbabilisticSVC(), criterion="gkl")``
    ==============================================  =========================================================

    The bracket is the resolution of the grid and says nothing about the sample; ``predict_interval_proba(X, level=)``
    does. With more than two classes (the paper's outlook) each class is bracketed against the rest and the
    probabilities are divided by their sum.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softmargin import ProbabilisticSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = ProbabilisticSVC(kernel="rbf", n_weights=10).fit(X, y)
    >>> model.predict_proba(X[:2]).round(2)
    array([[0.95, 0.05],
           [0.05, 0.95]])
    >>> model.predict_interval_proba(X[:2]).round(2)
    array([[0. , 0.1],
           [0.9, 1. ]])
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "method": one_of("svm", "psi"),
        "n_weights": NONE | one_of("auto") | integer(1, _MOST_WEIGHTS),
        "n_resamples": integer(0, 100_000),
        "engine": one_of("grid", "path"),
    }

    def __init__(
        self,
        *,
        method: str = "svm",
        n_weights: int | str | None = None,
        n_init: int = 1,
        n_resamples: int = 0,
        engine: str = "grid",
        C: float = 1.0,
        kernel: Any = None,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_components: int | str | None = None,
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.n_weights = n_weights
        self.n_init = n_init
        self.n_resamples = n_resamples
        self.engine = engine
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- fitting -------------------------------------------------------------------------------------------------

    def _check_combination(self) -> None:
        landmarks = self.kernel is not None and self.n_components is not None
        if self.engine == "path" and (self.method != "svm" or landmarks):
            raise ValueError(
                f"engine='path' follows the exact SVM only; got method={self.method!r} and "
                f"n_components={self.n_components!r}. Use engine='grid'."
            )

    def _prepare(self, data: TrainingSet) -> Any:
        kernel = self._kernel(data)
        return expand(data.X, kernel, n_components=self.n_components, random_state=self.random_state, free_origin=True)

    def _n_rows(self, data: TrainingSet) -> float:
        """The number of rows, where one of weight two is two rows."""
        whole = np.all(data.counts == np.round(data.counts))
        return float(data.counts.sum()) if whole else len(data.counts)

    def _grid_size_of(self, n_rows: float) -> int:
        if isinstance(self.n_weights, (int, np.integer)):
            return int(self.n_weights)
        return max(2, math.isqrt(round(min(n_rows, _MANY_ROWS))))

    def _chosen_size(self, data: TrainingSet, y: np.ndarray) -> int:
        """The m asked for, or the divisor of the finest whose brackets predict rows of other folds best."""
        smallest = int(min(np.sum(y > 0), np.sum(y < 0)))
        if self.n_weights != "auto" or smallest < 2:
            return self._grid_size_of(self._n_rows(data))
        finest = np.arange(1, _FINEST)
        scores = np.empty((len(y), len(finest)))
        for train, test in StratifiedKFold(min(_FOLDS, smallest), shuffle=True, random_state=0).split(y, y):
            part = data.shared.take(train)
            family = GridFamily(part, y[train], self.C * data.weight[train], self._plan(_FINEST))
            coef = family.scorer.coef if not data.shared.is_kernel else _dense_coef(family, len(train))
            seen = np.asarray(data.shared.cross(test, train) @ coef) + family.intercept
            scores[test] = seen[:, family._on_grid]
        costs = {}
        for m in _SIZES:
            p = bracket(scores[:, finest % (_FINEST // m) == 0]).probability
            costs[m] = -float(data.counts @ np.log(np.where(y > 0, p, 1 - p)))
        return min(_SIZES, key=lambda m: costs[m])

    def _plan(self, m: int) -> WeightGrid:
        seed = int(check_random_state(0 if self.random_state is None else self.random_state).randint(2**31 - 1))
        return WeightGrid(m, self.method, self.tol, self.max_iter, self.n_init, seed)

    def _fit_binary(self, data: TrainingSet, y: np.ndarray) -> None:
        y = y.astype(np.float64, copy=False)
        family: WeightFamily
        if self.engine == "path":
            family = PathFamily(data.X, y, self.C * data.weight, self._kernel(data), self._n_rows(data), self.tol)
        else:
            self.n_weights_ = self._chosen_size(data, y)
            family = GridFamily(data.shared, y, self.C * data.weight, self._plan(self.n_weights_))
        self.solution_ = family.plain
        self.n_iter_ = max(1, family.n_iter)
        if is_heard(self.verbose):
            width = f"brackets {float(np.mean(family.training.width)):.3g} wide on average"
            message = f"{self.engine}, {family.n_iter} steps, gap {family.plain.gap:.2e} at 1/2, {width}"
            report("class weights", message, self.verbose)
        self.nonmonotone_share_ = float(np.mean(~family.training.monotone))
        self.mean_width_ = float(np.mean(family.training.width))
        for name, value in family.attributes(data.rows).items():
            setattr(self, name, value)
        if self.n_resamples:
            self.resampled_ = list(self._resampled(data, y))
        self.family_ = family.detach(data.rows, data.X)
        if not family.converged:
            warnings.warn(
                f"Some of the weighted fits stopped above tol={self.tol:g}. Scale the features, raise max_iter or tol, "
                "or lower C.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _fit_many(self, data: TrainingSet) -> None:
        super()._fit_many(data)
        for name in ("coef_", "intercept_"):
            if hasattr(self.estimators_[0], name):
                setattr(self, name, np.concatenate([getattr(one, name) for one in self.estimators_]))

    def _probabilities_along(self, K: np.ndarray, codes: np.ndarray, rows: np.ndarray, costs: np.ndarray) -> np.ndarray:
        """P(code 1) of all rows of ``K`` for every C, fitted to ``rows``: one exact cost path per class weight."""
        m = self._grid_size_of(len(rows))
        y = np.where(codes == 1, 1.0, -1.0)
        pi = np.arange(1, m)[:, None] / m
        paths = cost_paths(K[np.ix_(rows, rows)], y, 2 * np.where(y > 0, 1 - pi, pi), C_max=float(costs[-1]))
        scores = np.array([path._scores(K[:, rows], costs) for path in paths])
        return np.array([bracket(scores[:, :, c].T).probability for c in range(len(costs))])

    # -- prediction ----------------------------------------------------------------------------------------------

    def _decision(self, X: Any) -> np.ndarray:
        if len(self.classes_) == 2:
            return self.family_.score(X)
        return np.column_stack([one.family_.ranked(X)[1] for one in self.estimators_])

    def _probability(self, X: Any) -> np.ndarray:
        if len(self.classes_) == 2:
            bracket, score = self.family_.answer(X)
            return two_columns(bracket.probability, score)
        found = [one.family_.ranked(X) for one in self.estimators_]
        return couple(
            np.column_stack([one.probability for one, _ in found]), np.column_stack([rank for _, rank in found])
        )

    def _score_card(self, names: list[str]) -> dict[str, Any]:
        fits = [self] if len(self.classes_) == 2 else self.estimators_
        counts = [len(one.weights_) for one in fits]
        return {"form": "family", "words": f"Support vector machines of {max(counts)} class weights per score."}

    def _probability_words(self) -> str:
        return "the class weight at which the score changes its sign"

    def predict_interval_proba(self, X: Any, level: float | None = None) -> np.ndarray:
        """Intervals of P(classes_[1]), shape (n, 2); for k > 2 classes those of each against the rest, (n, k, 2).

        Without ``level`` the brackets: how finely the weights resolve the probability. With a ``level`` such as 0.9
        confidence intervals: quantiles of the brackets of the ``n_resamples`` fits to resampled rows. They are
        about right on average over rows (``tests/svm/test_probability_intervals.py`` simulates it) and hold the truth
        less often where it is near 0 or 1, or where ``C`` is so small that probabilities are pulled towards 1/2.
        """
        X = self._prediction_set(X)
        if level is not None and not hasattr(self if len(self.classes_) == 2 else self.estimators_[0], "resampled_"):
            raise ValueError(f"level={level!r} needs fits to resampled rows; fit with n_resamples=100, say.")
        if level is not None and not 0 < level < 1:
            raise ValueError(f"level must be strictly between 0 and 1; got {level!r}.")
        if len(self.classes_) == 2:
            return self._interval(X, level)
        return np.stack([one._interval(X, level) for one in self.estimators_], axis=1)

    def _interval(self, X: Any, level: float | None) -> np.ndarray:
        if level is None:
            return self.family_.bracket(X).interval
        return resampled_interval([one.bracket(X) for one in self.resampled_], level)

    def _resampled(self, data: TrainingSet, y: np.ndarray) -> Iterator[WeightFamily]:
        """The families of ``n_resamples`` sets of rows drawn with replacement, both classes among them."""
        random = check_random_state(0 if self.random_state is None else self.random_state)
        n, drawn = len(y), 0
        while drawn < self.n_resamples:
            rows = np.sort(random.randint(n, size=n))
            if len(np.unique(y[rows])) < 2:
                continue
            drawn += 1
            kept = rows if self.engine == "path" else np.unique(rows)
            X = data.X[np.ix_(kept, kept)] if self.kernel == "precomputed" else data.X[kept]
            family: WeightFamily
            if self.engine == "path":
                family = PathFamily(X, y[rows], self.C * data.weight[rows], self._kernel(data), n, self.tol)
            else:
                cost = self.C * data.weight * np.bincount(rows, minlength=n)
                family = GridFamily(data.shared.take(kept), y[kept], cost[kept], self._plan(self.n_weights_))
            yield family.detach(data.rows[kept], X)

    def nonmonotone(self, X: Any) -> np.ndarray:
        """Whether the score of each row changes sign more than once along the weights, (n,) or (n, k)."""
        X = self._prediction_set(X)
        if len(self.classes_) == 2:
            return ~self.family_.bracket(X).monotone
        return np.column_stack([~one.family_.bracket(X).monotone for one in self.estimators_])

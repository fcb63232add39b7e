"""Pairs of fits that must agree, whatever they fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils import get_tags

from .containers import messy_csr
from .data import Data, Rng
from .faults import Fault, Refusal, judged
from .oracles import near, scores_of, solutions_of

__all__ = ["RELATIONS", "fit_plain"]

Fit = Callable[..., Any]
TOLERANCE = 1e-3
DISTANCES = ("rbf", "laplacian", "matern")  # kernels of these
_ROUNDING = 1e-14  # of a sum, in units of its largest partial sums
_LARGE_GAP = 1e-3  # of a fit that says it did not converge: its scores are no claim


def fit_plain(model: Any, X: Any, y: Any, weight: Any = None) -> Any:
    """Fit with errors judged; the weights only where there are some. What is refused must leave nothing behind."""
    try:
        with judged():
            return model.fit(X, y) if weight is None else model.fit(X, y, sample_weight=weight)
    except Refusal as refusal:
        left = [name for name in vars(model) if name.endswith("_")]
        if left:
            raise Fault("a refused fit leaves something", f"{left} after {refusal}") from refusal
        raise


def _pair(
    model: Any,
    first: tuple[Any, ...],
    second: tuple[Any, ...],
    X: Any,
    kind: str,
    sign: float = 1.0,
    tolerance: float = TOLERANCE,
) -> None:
    """Fit twice; where one is refused so must the other be."""
    results = []
    for arguments in (first, second):
        try:
            results.append(fit_plain(clone(model), *arguments))
        except Refusal as refusal:
            results.append(refusal)
    refused = [isinstance(result, Refusal) for result in results]
    if refused[0] != refused[1]:
        raise Fault(f"{kind}: one refused", str(results[refused.index(True)]))
    if refused[0]:
        raise results[0]
    _claimed(*results)
    near(scores_of(results[0], X), sign * scores_of(results[1], X), tolerance, kind)


def _claimed(*fits: Any) -> None:
    """Refuse to compare fits that say themselves that their scores are no claim."""
    solutions = [solution for fit in fits for solution in solutions_of(fit)]
    if any(solution.status == "unbounded" for solution in solutions):
        raise Refusal(ValueError("the objective has no minimum, which the fit says"))
    if any(not solution.converged and solution.gap > _LARGE_GAP for solution in solutions):
        raise Refusal(ValueError("the fit did not converge, which it says"))


def row_order(rng: Rng, model: Any, data: Data) -> None:
    """Row order never changes predictions."""
    order = rng.permutation(len(data.codes))
    weight = None if data.times is None else data.times[order]
    _pair(model, (data.dense, data.codes, data.times), (data.dense[order], data.codes[order], weight), data.dense,
          "row order matters")  # fmt: skip


def label_names(rng: Rng, model: Any, data: Data) -> None:
    """Labels are only names."""
    names = np.array([f"name {j}" for j in range(data.k)])
    _pair(model, (data.dense, data.codes, data.times), (data.dense, names[data.codes], data.times), data.dense,
          "label names matter", tolerance=0.0)  # fmt: skip


def swapped_classes(rng: Rng, model: Any, data: Data) -> None:
    """Exchanging two classes turns the scores round."""
    if data.k == 2 and not model.get_params(deep=False).get("positive", False):
        _pair(model, (data.dense, data.codes, data.times), (data.dense, 1 - data.codes, data.times), data.dense,
              "swapped classes do not swap scores", sign=-1.0)  # fmt: skip


def weights_are_repeats(rng: Rng, model: Any, data: Data) -> None:
    """Whole sample weights are repeated rows."""
    own = model.get_params(deep=False)
    if own.get("probability") == "calibrated" and np.bincount(data.codes).min() < 2:
        return  # a row that counts twice cannot be both fitted to and judged by; two rows can
    times = rng.integers(1, 4, size=len(data.codes))
    repeated = np.repeat(data.dense, times, axis=0), np.repeat(data.codes, times)
    _pair(model, (data.dense, data.codes, times.astype(float)), repeated, data.dense, "weights are not repeats")


def zero_weight_is_no_row(rng: Rng, model: Any, data: Data) -> None:
    """A row of zero weight is no row, wherever it lies."""
    weight = rng.choice([0.0, 1.0, 0.5], size=len(data.codes))
    weight[np.unique(data.codes, return_index=True)[1]] = 1.0
    wild = np.where(weight[:, None] == 0, 50.0, data.dense)
    keep = weight > 0
    _pair(model, (wild, data.codes, weight), (data.dense[keep], data.codes[keep], weight[keep]), data.dense[keep],
          "a row of zero weight matters")  # fmt: skip


def sparse_is_dense(rng: Rng, model: Any, data: Data) -> None:
    """Sparse rows are the same rows."""
    if not get_tags(model).input_tags.sparse or callable(model.get_params(deep=False).get("kernel")):
        return
    X = np.where(rng.random(data.dense.shape) < 0.5, 0.0, data.dense)
    forms = (sparse.csr_array(X), sparse.csc_array(X), messy_csr(rng, Data(X, data.codes)))
    rows = forms[rng.integers(3)]
    _pair(model, (X, data.codes, data.times), (rows, data.codes, data.times), X, "sparse differs from dense")


def column_order(rng: Rng, model: Any, data: Data) -> None:
    """The order of the columns never changes predictions.

    But where components may be exchanged at no cost, or dependent columns leave a concave penalty several minima.
    """
    if type(model).__name__ == "AdditiveKernelClassifier" or model.get_params(deep=False).get("penalty") is not None:
        return
    order = rng.permutation(data.dense.shape[1])
    fitted = fit_plain(clone(model), data.dense, data.codes, data.times)
    other = fit_plain(clone(model), data.dense[:, order], data.codes, data.times)
    _claimed(fitted, other)
    near(scores_of(fitted, data.dense), scores_of(other, data.dense[:, order]), TOLERANCE, "column order matters")


def constant_column(rng: Rng, model: Any, data: Data) -> None:
    """A constant column, first, in the middle or last, is no column where there is an intercept, or only distances."""
    own = model.get_params(deep=False)
    free = own.get("fit_intercept", False) and not own.get("penalize_intercept", False)
    kernel = own.get("kernel")
    ridge = own.get("l1_ratio", 0.0) == 0 and own.get("penalty") is None and not own.get("positive", False)
    by_features = free and (kernel is None or (kernel == "linear" and ridge))  # other costs are those of coefficients
    if not by_features and not (kernel in DISTANCES and own["gamma"] != "scale"):
        return
    p = data.dense.shape[1]
    value = float(rng.choice([0.0, 1.0, -7.3, 1e3]))
    wide = np.insert(data.dense, int(rng.choice([0, p // 2, p])), value, axis=1)
    fitted = fit_plain(clone(model), data.dense, data.codes, data.times)
    other = fit_plain(clone(model), wide, data.codes, data.times)
    _claimed(fitted, other)
    near(scores_of(fitted, data.dense), scores_of(other, wide), TOLERANCE, "a constant column matters", f"{value:g}")


def unit_of_features(rng: Rng, model: Any, data: Data) -> None:
    """The unit of all features is nothing to a kernel whose width is taken from them."""
    own = model.get_params(deep=False)
    if own.get("kernel") not in (*DISTANCES, "poly") or not isinstance(own["gamma"], str):
        return
    scaled = data.dense * 2.0 ** rng.integers(-9, 10)
    fitted = fit_plain(clone(model), data.dense, data.codes, data.times)
    other = fit_plain(clone(model), scaled, data.codes, data.times)
    _claimed(fitted, other)
    near(scores_of(fitted, data.dense), scores_of(other, scaled), TOLERANCE, "the unit of features matters")


def linear_kernel_is_features(rng: Rng, model: Any, data: Data) -> None:
    """The linear kernel is the features themselves."""
    own = model.get_params(deep=False)
    if "kernel" not in own or own.get("l1_ratio", 0) or own.get("penalty") is not None or own.get("positive", False):
        return
    first = fit_plain(clone(model).set_params(kernel=None, n_components=None), data.dense, data.codes, data.times)
    second = fit_plain(clone(model).set_params(kernel="linear", n_components=None), data.dense, data.codes, data.times)
    _claimed(first, second)
    near(scores_of(first, data.dense), scores_of(second, data.dense), TOLERANCE, "linear kernel differs from features")


def precomputed_is_kernel(rng: Rng, model: Any, data: Data) -> None:
    """A kernel computed beforehand is the kernel."""
    own = model.get_params(deep=False)
    if "kernel" not in own:
        return
    gamma = float(10 ** rng.uniform(-2, 1))
    K = np.exp(-gamma * cdist(data.dense, data.dense, "sqeuclidean"))
    given = {"kernel": "rbf", "gamma": gamma, "n_components": None}
    first = clone(model).set_params(**{key: value for key, value in given.items() if key in own})
    fitted = fit_plain(first, data.dense, data.codes, data.times)
    other = fit_plain(clone(first).set_params(kernel="precomputed"), K, data.codes, data.times)
    _claimed(fitted, other)
    near(scores_of(fitted, data.dense), scores_of(other, K), TOLERANCE, "a precomputed kernel differs")


def single_precision(rng: Rng, model: Any, data: Data) -> None:
    """Single precision is close to double."""
    X = data.dense.astype(np.float32)
    own = model.get_params(deep=False)
    coarse = clone(model).set_params(**({"tol": 1e-4} if "tol" in own else {}))
    first = fit_plain(clone(coarse), X.astype(np.float64), data.codes, data.times)
    second = fit_plain(clone(coarse), X, data.codes, data.times)
    _claimed(first, second)
    near(scores_of(first, X.astype(float)), scores_of(second, X), 0.05, "single precision is far from double")


def same_again(rng: Rng, model: Any, data: Data) -> None:
    """The same fit twice is the same fit."""
    arguments = (data.dense, data.codes, data.times)
    _pair(model, arguments, arguments, data.dense, "two equal fits differ", tolerance=0.0)


def one_row_at_a_time(rng: Rng, model: Any, data: Data) -> None:
    """Predictions do not depend on the other rows asked about."""
    fitted = fit_plain(clone(model), data.dense, data.codes, data.times)
    whole = scores_of(fitted, data.dense)
    rows = rng.integers(len(data.codes), size=3)
    parts = np.concatenate([scores_of(fitted, data.dense[i : i + 1]) for i in rows])
    tolerance = max(1e-8, _ROUNDING * _largest_terms(fitted, data.dense[rows]) / max(1.0, float(np.abs(whole).max())))
    near(whole[rows], parts, tolerance, "a row alone is scored differently")


def _largest_terms(model: Any, X: Any) -> float:
    """What the terms of a kernel's score add up to without their signs: the rounding of their sum is in its units."""
    score = getattr(model, "kernel_score_", None)
    if score is None or not len(score.coef) or not isinstance(X, np.ndarray) or score.kernel.precomputed:
        return 0.0
    K = np.abs(np.asarray(score.kernel(X, score.rows), dtype=float))
    return float(np.max(K @ np.abs(score.coef), initial=0.0))


RELATIONS: tuple[Callable[[Rng, Any, Data], None], ...] = (
    row_order, label_names, swapped_classes, weights_are_repeats, zero_weight_is_no_row, sparse_is_dense,
    column_order, constant_column, unit_of_features, linear_kernel_is_features, precomputed_is_kernel,
    single_precision, same_again, one_row_at_a_time,
)  # fmt: skip

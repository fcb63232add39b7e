"""Exact paths of the support vector machine in its cost, its class weight and its balance.

In signed form (u = y alpha) each is one ``ParametricQP`` with q = y and, with s the sample weights,

    cost     t = C    y = +1: [0, C s]              y = -1: [-C s, 0]
    weight   t = pi   y = +1: [0, 2 C (1 - pi) s]   y = -1: [-2 C pi s, 0]
    balance  t = v    y = +1: [-C v s, C s]         y = -1: [-C s, C v s]

so what is left here is input checking, where to start, which way to run, and what happens at flat ends.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from softmargin._constraints import check_training_rows, class_codes, finite_numbers
from softmargin.expansions import Kernel, canonical_sparse, require_gram_shape
from softmargin.paths.arguments import check_given
from softmargin.paths.exact.attempts import TraceOptions, trace_path
from softmargin.paths.exact.flat_ends import flat_ends
from softmargin.paths.exact.path import EXACT, Path, PosedPath
from softmargin.paths.exact.pieces import AffinePiece, ParametricQP, Piece
from softmargin.paths.exact.tracer import Tracer
from softmargin.paths.exact.training_rows import TrainingRows
from softmargin.probability import row_weights

__all__ = ["balance_path", "cost_path", "cost_paths", "weight_path"]

Array = np.ndarray
_START_WEIGHT = 0.5003247  # no ratio of small integers, so no intercept jumps there
_FEW_KEYS = 16  # columns up to which rows are sorted by one after the other (150 x 3: 20 us instead of 400)


def cost_path(
    X: Any,
    y: Any,
    *,
    C_min: float = 0.0,
    C_max: float = 1e4,
    kernel: Any = None,
    gamma: Any = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    sample_weight: Any = None,
    jitter: float | None = None,
    max_events: int | None = None,
) -> Path:
    """Support vector machines for every cost C, exactly.

    Parameters
    ----------
    X, y : array-like
        Training rows and their labels, of any two values.
    C_min, C_max : float, default=0.0 and 1e4
        Range of the cost; ``C_max`` may be infinite, else at most 1e20.
    kernel : None, "linear", "rbf", "poly", "precomputed" or callable, default=None
        None uses the features themselves; with few features no n x n matrix is made. A callable gets two rows and
        returns a number; one that takes no single rows gets two matrices of rows and returns that of similarities.
    gamma, degree, coef0 :
        Kernel parameters; ``rbf`` is ``exp(-gamma |x - x'|^2)``.
    sample_weight : array-like of shape (n,), optional
        Factors of the rows' costs; rows of weight zero are left out.
    jitter : float, optional
        Ridge on the diagonal of the training Gram matrix, relative to its mean. By default none, and 1e-8 if rounding
        makes a smooth kernel's matrix too singular to follow (``Path.jitter`` tells).
    max_events : int, optional
        Cap on events, by default ``1000 + 50 n``. A path that reaches it warns and ends there.

    Returns
    -------
    Path

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softmargin.paths import cost_path
    >>> X, y = make_moons(100, noise=0.3, random_state=0)
    >>> path = cost_path(X, y, kernel="rbf", gamma=1.0, C_max=100)
    >>> bool(path.at(2.5).gap < 1e-7)
    True
    """
    check_given(locals())
    if not C_min < C_max:
        raise ValueError(f"C_min and C_max must satisfy 0 <= C_min < C_max; got {C_min!r} and {C_max!r}.")
    rows = _training_rows(X, y, sample_weight, kernel, gamma=gamma, degree=degree, coef0=coef0)
    return _measured(_cost_path(rows, float(C_min), float(C_max), TraceOptions(jitter, max_events)))


def cost_paths(K: Array, y: Array, weights: Array, *, C_max: float) -> Iterator[Path]:
    """The cost paths of one Gram matrix for each row of sample ``weights``, all positive; ``y`` is -1 or +1.

    The matrix is looked at once and the paths are not measured, which would be most
    of the work on small data.
    """
    check_given({"C_max": C_max})
    y = finite_numbers("y", y, None)
    n = len(y)
    K, weights = finite_numbers("K", K, n, n), finite_numbers("weights", weights, None, n)
    if not set(np.unique(y).tolist()) == {-1, 1}:
        raise ValueError(f"y must hold both -1 and +1 and nothing else; got {np.unique(y)[:5].tolist()}.")
    if not (weights > 0).all():
        raise ValueError(f"weights must be positive; got {weights.min()!r}. Leave rows of no weight out of K and y.")
    return _cost_paths(K, y, weights, float(C_max))


def _cost_paths(K: Array, y: Array, weights: Array, C_max: float) -> Iterator[Path]:
    n, options = len(y), TraceOptions()
    for weight in weights:
        rows = TrainingRows(K, Kernel("precomputed"), y, weight, np.arange(n), np.ones(n))
        yield _cost_path(rows, 0.0, C_max, options)


def _cost_path(rows: TrainingRows, C_min: float, C_max: float, options: TraceOptions) -> Path:
    zero = np.zeros_like(rows.bound)
    positive = np.where(rows.y > 0, rows.bound, 0.0)
    problem = ParametricQP(rows.y, zero, positive - rows.bound, zero, positive)
    first = C_min if C_min > 0 else min(1e-2 / float(rows.bound.mean()), 0.5 * C_max)

    def trace(tracer: Tracer) -> tuple[float, ...]:
        if tracer.is_negligible(C_max * float(rows.bound.sum())):
            tracer.pieces.append(_without_scores(rows, C_min, C_max))
            return ()
        start = tracer.start(problem, first)
        growth = C_max / first
        if tracer.is_negligible(growth * float(np.abs(start.u).sum())) or (
            np.isfinite(growth) and tracer.is_flat(growth * start.u)
        ):
            tracer.pieces.append(AffinePiece(zero, start.u / first, start.b, (C_min, C_max)))
            return ()
        tracer.follow(problem, start, C_max)
        if C_min < first:
            tracer.follow(problem, start, C_min)
        return (first,) if C_min < first else ()

    return trace_path("C", PosedPath(rows, problem), trace, options)


def _without_scores(rows: TrainingRows, C_min: float, C_max: float) -> AffinePiece:
    """Costs so small that no score is seen beside a margin of one: the smaller class at its bounds, balanced."""
    plus = rows.y > 0
    totals = float(rows.bound[plus].sum()), float(rows.bound[~plus].sum())
    least = min(totals)
    u1 = rows.bound * np.where(plus, least / totals[0], -least / totals[1])
    return AffinePiece(np.zeros_like(u1), u1, float(np.sign(totals[0] - totals[1])), (C_min, C_max))


def weight_path(
    X: Any,
    y: Any,
    *,
    C: float = 1.0,
    kernel: Any = None,
    gamma: Any = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    sample_weight: Any = None,
    jitter: float | None = None,
    max_events: int | None = None,
) -> Path:
    """Support vector machines for every class weight pi, exactly.

    The sample weights are multiplied by ``2 (1 - pi)`` where y is the second label and by ``2 pi`` where it is the
    first, so ``pi = 1/2`` is the plain machine; the pi at which the score of a row changes sign estimates its
    probability of the second label.

    Parameters
    ----------
    X, y : array-like
        Training rows and their labels, of any two values.
    C : float, default=1.0
        Weight of the sum of losses.
    kernel : None, "linear", "rbf", "poly", "precomputed" or callable, default=None
        None uses the features themselves; with few features no n x n matrix is made. A callable gets two rows and
        returns a number; one that takes no single rows gets two matrices of rows and returns that of similarities.
    gamma, degree, coef0 :
        Kernel parameters; ``rbf`` is ``exp(-gamma |x - x'|^2)``.
    sample_weight : array-like of shape (n,), optional
        Factors of the rows' costs; rows of weight zero are left out.
    jitter : float, optional
        Ridge on the diagonal of the training Gram matrix, relative to its mean. By default none, and 1e-8 if rounding
        makes a smooth kernel's matrix too singular to follow (``Path.jitter`` tells).
    max_events : int, optional
        Cap on events, by default ``1000 + 50 n``. A path that reaches it warns and ends there.

    Returns
    -------
    Path

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softmargin.paths import weight_path
    >>> X, y = make_moons(100, noise=0.3, random_state=0)
    >>> path = weight_path(X, y, kernel="rbf", gamma=1.0)
    >>> path.range
    (0.0, 1.0)
    >>> path.decision_function(X[:2], 0.3).shape
    (2,)
    """
    check_given(locals())
    C, rows = float(C), _training_rows(X, y, sample_weight, kernel, gamma=gamma, degree=degree, coef0=coef0)
    zero = np.zeros_like(rows.bound)
    up = np.where(rows.y > 0, 2 * C * rows.bound, 0.0)
    down = np.where(rows.y < 0, -2 * C * rows.bound, 0.0)
    problem = ParametricQP(rows.y, zero, down, up, -up)

    def trace(tracer: Tracer) -> tuple[float, ...]:
        first = _START_WEIGHT
        if tracer.is_negligible(float(up.sum() - down.sum())):
            tracer.pieces += _constant_pieces(rows, problem)
            return ()
        start = tracer.start(problem, first)
        if tracer.is_flat(start.u):
            low, high = flat_ends(tracer.features(), rows.y, rows.weight / rows.weight.max())
            if high - low <= 1e-7:
                tracer.pieces += _constant_pieces(rows, problem)
                return ()
            first = 0.5 * (low + high)
            start = tracer.start(problem, first)
        tracer.follow(problem, start, 1.0, flat_anchor=1.0)
        tracer.follow(problem, start, 0.0, flat_anchor=0.0)
        return (first,)

    return _measured(trace_path("pi", PosedPath(rows, problem), trace, TraceOptions(jitter, max_events)))


def balance_path(
    X: Any,
    y: Any,
    *,
    C: float = 1.0,
    kernel: Any = None,
    gamma: Any = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    sample_weight: Any = None,
    jitter: float | None = None,
    max_events: int | None = None,
) -> Path:
    """Balancing support vector machines for every balance v, from the plain machine (v = 0) to v = infinity, exactly.

    The loss is ``1 - u`` for margins u below 1 and ``v (u - 1)`` above. Beyond the last breakpoint nothing changes.

    Parameters
    ----------
    X, y : array-like
        Training rows and their labels, of any two values.
    C : float, default=1.0
        Weight of the sum of losses.
    kernel : None, "linear", "rbf", "poly", "precomputed" or callable, default=None
        None uses the features themselves; with few features no n x n matrix is made. A callable gets two rows and
        returns a number; one that takes no single rows gets two matrices of rows and returns that of similarities.
    gamma, degree, coef0 :
        Kernel parameters; ``rbf`` is ``exp(-gamma |x - x'|^2)``.
    sample_weight : array-like of shape (n,), optional
        Factors of the rows' costs; rows of weight zero are left out.
    jitter : float, optional
        Ridge on the diagonal of the training Gram matrix, relative to its mean. By default none, and 1e-8 if rounding
        makes a smooth kernel's matrix too singular to follow (``Path.jitter`` tells).
    max_events : int, optional
        Cap on events, by default ``1000 + 50 n``. A path that reaches it warns and ends there.

    Returns
    -------
    Path

    Examples
    --------
    >>> import math
    >>> from sklearn.datasets import make_moons
    >>> from softmargin.paths import balance_path
    >>> X, y = make_moons(100, noise=0.3, random_state=0)
    >>> path = balance_path(X, y, C=0.5)
    >>> path.range
    (0.0, inf)
    >>> bool(path.at(math.inf).objective >= path.at(1.0).objective)
    True
    """
    check_given(locals())
    C, rows = float(C), _training_rows(X, y, sample_weight, kernel, gamma=gamma, degree=degree, coef0=coef0)
    zero = np.zeros_like(rows.bound)
    plus, minus = np.where(rows.y > 0, C * rows.bound, 0.0), np.where(rows.y < 0, C * rows.bound, 0.0)
    problem = ParametricQP(rows.y, -minus, -plus, plus, minus)

    def trace(tracer: Tracer) -> tuple[float, ...]:
        if tracer.is_negligible(C * float(rows.bound.sum())):
            unseen = _without_scores(rows, 0.0, np.inf)
            tracer.pieces.append(AffinePiece(C * unseen.u1, zero, unseen.b, (0.0, np.inf)))
            return ()
        start = tracer.start(problem, 0.0)
        if tracer.is_flat(start.u) or tracer.is_negligible(float(np.abs(start.u).sum())):
            tracer.pieces.append(AffinePiece(start.u, zero, start.b, (0.0, np.inf)))
        else:
            tracer.follow(problem, start, np.inf, flat_anchor=np.inf)
        return ()

    return _measured(trace_path("v", PosedPath(rows, problem), trace, TraceOptions(jitter, max_events)))


def _constant_pieces(rows: TrainingRows, problem: ParametricQP) -> list[Piece]:
    """h = 0 for every pi: f is +1 up to the share of the positives and -1 from there on."""
    total_plus, total_minus = rows.weight[rows.y > 0].sum(), rows.weight[rows.y < 0].sum()
    turn = float(total_plus / (total_plus + total_minus))
    lo, hi = problem.box(turn)
    u = np.where(rows.y > 0, hi, lo)
    return [
        AffinePiece(np.zeros_like(u), u / turn, 1.0, (0.0, turn)),
        AffinePiece(u / (1 - turn), -u / (1 - turn), -1.0, (turn, 1.0)),
    ]


def _training_rows(X: Any, y: Any, sample_weight: Any, kernel: Any, **parameters: Any) -> TrainingRows:
    X, y = check_training_rows(canonical_sparse(X), y, accept_sparse="csr", dtype=np.float64)
    weight = row_weights(sample_weight, X.shape[0])
    rows = np.flatnonzero(weight > 0)
    classes, codes = class_codes("y", y[rows])
    if len(classes) != 2:
        raise ValueError(f"a path needs two classes among the rows of positive weight; y has {len(classes)}.")
    resolved = None
    if kernel is not None:
        resolved = Kernel.resolve(kernel, X[rows], codes, weight=weight[rows], **parameters)
        if resolved.precomputed:
            require_gram_shape(X.shape)
            X = X.toarray() if sparse.issparse(X) else X
    signs, weight = np.where(codes == 1, 1.0, -1.0), weight[rows]
    if sparse.issparse(X) or (resolved is not None and resolved.precomputed):
        first, member = np.arange(len(rows)), np.arange(len(rows))
    else:
        first, member = _merged(np.column_stack([signs, X[rows]]))
    total = np.bincount(member, weights=weight)
    owner, share = np.full(len(y), -1), np.zeros(len(y))
    owner[rows], share[rows] = member, weight / total[member]
    if resolved is not None and resolved.precomputed:
        data = X[np.ix_(rows, rows)]
    else:
        data = X[rows[first]]
    return TrainingRows(data, resolved, signs[first], total, owner, share)


def _merged(rows: Any) -> tuple[Any, Any]:
    """The first of each kind of row, in the order of their values, and the kind of each row."""
    if rows.shape[1] > _FEW_KEYS:
        _, first, member = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        return first, member.reshape(-1)
    order = np.lexsort(rows.T[::-1])
    new = np.ones(len(rows), dtype=bool)
    np.any(rows[order[1:]] != rows[order[:-1]], axis=1, out=new[1:])
    member = np.empty(len(rows), dtype=np.intp)
    member[order] = np.cumsum(new) - 1
    return order[new], member


def _measured(path: Path) -> Path:
    """The path, with a warning if rounding made it less than exact."""
    if path.gap > EXACT:
        warnings.warn(
            f"the path is not exact: its relative duality gap reaches {path.gap:.2g} (jitter={path.jitter:g}, "
            f"{path.n_bridges} bridges). Use a rougher kernel (a larger gamma), a smaller C or scaled features.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return path

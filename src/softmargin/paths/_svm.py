"""Exact paths of the support vector machine in its cost, its class weight and its balance.

In signed form (u = y alpha) each is one ``ParametricQP`` with q = y and, with s the sample weights,

    cost     t = C    y = +1: [0, C s]              y = -1: [-C s, 0]
    weight   t = pi   y = +1: [0, 2 C (1 - pi) s]   y = -1: [-2 C pi s, 0]
    balance  t = v    y = +1: [-C v s, C s]         y = -1: [-C s, C v s]

so what is left here is input checking, where to start, which way to run, and what happens at flat ends.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_X_y
from sklearn.utils.validation import _check_sample_weight

from softmargin.expansions import Kernel
from softmargin.paths._flat import flat_ends
from softmargin.paths._path import Path, TrainingRows
from softmargin.paths._pieces import AffinePiece, ParametricQP
from softmargin.paths._tracer import Tracer

__all__ = ["balance_path", "cost_path", "weight_path"]

Array = np.ndarray
_START_WEIGHT = 0.5003247  # no ratio of small integers, so no intercept jumps there


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
    """Exact solutions for every C."""
    if not 0 <= C_min < C_max:
        raise ValueError(f"C_min and C_max must satisfy 0 <= C_min < C_max; got {C_min!r} and {C_max!r}.")
    rows = _training_rows(X, y, sample_weight, kernel, gamma, degree, coef0)
    zero = np.zeros_like(rows.weight)
    positive = np.where(rows.y > 0, rows.weight, 0.0)
    problem = ParametricQP(rows.y, zero, positive - rows.weight, zero, positive)
    tracer = _tracer(rows, jitter, max_events)
    t0 = max(C_min, min(1e-2, 0.5 * C_max))
    start = tracer.start(problem, t0)
    if tracer.is_flat(start.u):
        tracer.pieces.append(AffinePiece(zero, start.u / t0, start.b, (C_min, C_max)))
    else:
        tracer.follow(problem, start, C_max)
        if C_min < t0:
            tracer.follow(problem, start, C_min)
    return _finish("C", rows, problem, tracer, seams=(t0,) if t0 > C_min else ())


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
    """Exact solutions for every class weight pi."""
    _check_cost(C)
    rows = _training_rows(X, y, sample_weight, kernel, gamma, degree, coef0)
    zero = np.zeros_like(rows.weight)
    up = np.where(rows.y > 0, 2 * C * rows.weight, 0.0)
    down = np.where(rows.y < 0, -2 * C * rows.weight, 0.0)
    problem = ParametricQP(rows.y, zero, down, up, -up)
    tracer = _tracer(rows, jitter, max_events)
    t0 = _START_WEIGHT
    start = tracer.start(problem, t0)
    if tracer.is_flat(start.u):
        low, high = flat_ends(tracer.features(), rows.y, rows.weight)
        t0 = 0.5 * (low + high)
        if high - low <= 1e-7:
            return _constant_weight_path(rows, problem, tracer)
        start = tracer.start(problem, t0)
    tracer.follow(problem, start, 1.0, flat_anchor=1.0)
    tracer.follow(problem, start, 0.0, flat_anchor=0.0)
    return _finish("pi", rows, problem, tracer, seams=(t0,))


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
    """Exact solutions for every balance v."""
    _check_cost(C)
    rows = _training_rows(X, y, sample_weight, kernel, gamma, degree, coef0)
    zero = np.zeros_like(rows.weight)
    plus, minus = np.where(rows.y > 0, C * rows.weight, 0.0), np.where(rows.y < 0, C * rows.weight, 0.0)
    problem = ParametricQP(rows.y, -minus, -plus, plus, minus)
    tracer = _tracer(rows, jitter, max_events)
    start = tracer.start(problem, 0.0)
    if tracer.is_flat(start.u):
        tracer.pieces.append(AffinePiece(start.u, zero, start.b, (0.0, np.inf)))
    else:
        tracer.follow(problem, start, np.inf, flat_anchor=np.inf)
    return _finish("v", rows, problem, tracer)


def _constant_weight_path(rows: TrainingRows, problem: ParametricQP, tracer: Tracer) -> Path:
    """h = 0 for every pi: f is +1 up to the share of the positives and -1 from there on."""
    total_plus, total_minus = rows.weight[rows.y > 0].sum(), rows.weight[rows.y < 0].sum()
    turn = float(total_plus / (total_plus + total_minus))
    lo, hi = problem.box(turn)
    u = np.where(rows.y > 0, hi, lo)
    tracer.pieces += [
        AffinePiece(np.zeros_like(u), u / turn, 1.0, (0.0, turn)),
        AffinePiece(u / (1 - turn), -u / (1 - turn), -1.0, (turn, 1.0)),
    ]
    return _finish("pi", rows, problem, tracer)


def _check_cost(C: float) -> None:
    if not (np.isfinite(C) and C > 0):
        raise ValueError(f"C must be a positive finite number; got {C!r}.")


def _training_rows(
    X: Any, y: Any, sample_weight: Any, kernel: Any, gamma: Any, degree: int, coef0: float
) -> TrainingRows:
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    rows = np.flatnonzero(weight > 0)
    classes, codes = np.unique(y[rows], return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"a path needs two classes among the rows of positive weight; y has {len(classes)}.")
    resolved = None
    if kernel is not None:
        resolved = Kernel.resolve(kernel, X[rows], codes, gamma=gamma, degree=degree, coef0=coef0)
    signs, weight = np.where(codes == 1, 1.0, -1.0), weight[rows]
    if sparse.issparse(X) or (resolved is not None and resolved.precomputed):
        first, member = np.arange(len(rows)), np.arange(len(rows))
    else:
        _, first, member = np.unique(np.column_stack([signs, X[rows]]), axis=0, return_index=True, return_inverse=True)
        member = member.reshape(-1)
    total = np.bincount(member, weights=weight)
    owner, share = np.full(len(y), -1), np.zeros(len(y))
    owner[rows], share[rows] = member, weight / total[member]
    if resolved is not None and resolved.precomputed:
        data = X[np.ix_(rows, rows)]
    else:
        data = X[rows[first]]
    return TrainingRows(data, resolved, signs[first], total, owner, share, classes)


def _tracer(rows: TrainingRows, jitter: float | None, max_events: int | None) -> Tracer:
    n = len(rows.y)
    linear = rows.kernel is None or rows.kernel.name == "linear"
    if linear and not sparse.issparse(rows.X) and rows.X.shape[1] < n:
        matrix = np.ascontiguousarray(rows.X)
    else:
        linear = False
        kernel = rows.kernel or Kernel("linear")
        matrix = np.ascontiguousarray(kernel(rows.X, rows.X), dtype=np.float64)
    return Tracer(matrix, linear, jitter or 0.0, max_events or 1000 + 50 * n)


def _finish(name: str, rows: TrainingRows, problem: ParametricQP, tracer: Tracer, seams: tuple = ()) -> Path:
    path = Path(
        name,
        rows,
        problem,
        tracer.pieces,
        product=tracer.product,
        seams=seams,
        n_events=tracer.n_events,
        n_bridges=tracer.n_bridges,
        violation=tracer.violation,
        complete=tracer.status == "finished",
        jitter=tracer.jitter,
    )
    if not path.complete:
        warnings.warn(
            f"the path stopped after {tracer.n_events} events ({tracer.status}); it is exact for {name} in "
            f"[{path.range[0]:.6g}, {path.range[1]:.6g}]. Increase max_events, or set jitter=1e-8.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return path

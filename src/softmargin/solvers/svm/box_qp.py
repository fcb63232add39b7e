"""The box QP behind every kinked loss with a kernel: working sets outside, pair steps inside, an exact finish.

    minimise  1/2 u'Ku - q'u   subject to  lo <= u <= hi,  sum u = 0 (with an intercept)

``u = y alpha`` are signed multipliers, the score is ``f = Ku + b`` and ``G = Ku - q``. A point is optimal where no
``-G_i`` with ``u_i < hi_i`` exceeds a ``-G_j`` with ``u_j > lo_j``. Of the intercepts that cost least beside ``Ku`` the
midpoint is used (the finite end if only one is finite), which keeps label-swap symmetry. Points within 1e-9 of their
box's width of a bound are put on it, so that refinement knows who is free.

Outside, the points that violate optimality most form a working set whose matrix fits in cache; inside, compiled pair
steps solve it; the gradient then moves by one product with the changed rows. Small problems, and all problems with a
tight ``tol``, are finished by solving the equations of the free points directly, which gives full accuracy.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from softmargin._compiled.boxqp import Block, descend, descend_pairs, intercept_ends, snap, worst_slope
from softmargin.solvers.svm.box_problem import (
    BoxQP,
    BoxSolution,
    Iterate,
    feasible_start,
    midpoint,
    optimal_intercepts,
)
from softmargin.solvers.svm.kernel_rows import FeatureRows, GramRows

__all__ = [
    "BoxQP",
    "BoxSolution",
    "Iterate",
    "box_report",
    "feasible_start",
    "finish_box_qp",
    "is_refined",
    "midpoint",
    "pair_steps",
    "solve_box_qp",
]

Array = NDArray[np.floating[Any]]

# Beside 256 and 64, these sizes take half the time of a Gaussian hinge and a third of that of a grid of class weights
# (``python -m benchmarks real --only rbf_hinge probabilistic``).
WORKING_SET = 1024
ENTERING = 192  # most violating risers, and as many fallers, that enter per round
ONE_SET = 512  # rows up to which all of them are one working set
EXACT_ROWS = 1000  # up to here all similarities are kept in double precision
FINE_ROWS = 300  # up to here the optimum is refined to the last digits whatever the tolerance, in tens of milliseconds
FREE_LIMIT = 3000  # free points beyond which their equations are not solved directly
FREE_STEPS = 100  # bounds met on the way to the solution of those equations,
FREE_CHEAP, FREE_TRIALS, FREE_LEFT = 100, 5, 0.9  # of many points, if so many bounds leave so much of the way
FREE_PER_DIMENSION = 10  # of the rows: beyond, points on their corners are repeats of few
FREE_WORK = 1e10  # fewer where their factors would take more multiplications than this
FINEST = 1e-10  # the violation at which refinement ends
FEW_ROUNDS = 20  # working sets that refinement may always take
ROUGH = 1e-4  # the violation from which the equations of the free points do the rest
SNAP = 1e-9
# Times the violation reached: where multipliers of huge rows were put on bounds they only came near to. Equations and
# finer rounds make up for less; without them, any spoiling is undone, as finer rounds end no nearer to the bounds.
SPOILT = 10
_TINY = float(np.finfo(np.float64).tiny)
# Cube of the number of equations that take as long as a working set (500 to 2000 free points of Gaussian kernels), and
# the working sets before equations of few points are tried.
EQUATIONS_PER_SET, FEWEST_SETS = 1e8, 10
PATIENCE = 500  # working sets after which the equations of the free points are tried, then four times as many, ...
BEYOND = 1e30  # a bound from where pair steps that do not end soon do not end: their sums hold no digit of the scores
STEPS_PER_ROUND = 100_000
STEPS_COUNTED = 2_000  # pair steps that count as another working set


def solve_box_qp(
    K: Any,
    box: BoxQP,
    *,
    start: Array | Iterate | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    polish: bool | None = None,
) -> BoxSolution:
    """Solve the box QP.

    Parameters
    ----------
    K : array of shape (n, n) or GramRows
        Positive semidefinite matrix, or its rows on demand.
    box : BoxQP
        Linear term, bounds, and whether ``sum u = 0`` is imposed.
    start : array of shape (n,) or Iterate, optional
        Warm start; it is clipped to the box and its sum repaired. A gradient that comes with it is corrected by the
        rows that this changes.
    tol : float
        Largest KKT violation accepted, in units of the score.
    max_iter : int
        Cap on working sets.
    polish : bool, optional
        Finish by solving the equations of the free points; by default when n or ``tol`` is small.
    """
    rows = K if isinstance(K, GramRows | FeatureRows) else GramRows.of(np.asarray(K))
    point = _start(rows, box, start)
    u = point.u
    if polish is None:
        polish = is_refined(len(u), tol)
    if box.largest > BEYOND:
        max_iter = min(max_iter, PATIENCE)
    if polish:
        _rounds_and_equations(rows, box, point, max(tol, ROUGH), max_iter)
    else:
        _rounds(rows, box, point, tol, max_iter)
    return finish_box_qp(rows, box, point, tol=tol, max_iter=max_iter, polish=polish)


def is_refined(n_rows: int, tol: float) -> bool:
    """Whether the optimum of so many rows is refined to its last digits."""
    return n_rows <= FINE_ROWS or tol < 1e-5


def pair_steps(
    rows: GramRows | FeatureRows, box: BoxQP, *, start: Array | Iterate | None, tol: float, max_iter: int
) -> tuple[Iterate, bool]:
    """The point that at most so many working sets reach, and whether its violation is at most ``tol``.

    Of many rows the last working sets find out little by little what the equations of the free points say at once. They
    are tried whenever working sets have taken as long as a trial, twice as long after one that met bounds only.
    """
    point, many = _start(rows, box, start), len(box.q) > EXACT_ROWS
    tried, patience = 0, 1
    while True:
        due = min(tried + patience * _sets_of_a_trial(box, point), max_iter) if many else max_iter
        if point.n_iter < due:
            _rounds(rows, box, point, tol, due)
            if point.n_iter < due or point.n_iter >= max_iter:
                return point, _violation(box, point) <= tol
        else:
            u, value = point.u.copy(), _value(box, point)
            arrived = _solve_free_points(rows, box, point)
            if not _value(box, point) <= value:  # equations that rounding has spoilt
                point.u[:], point.G, arrived = u, _gradient(rows, u, box.q), False
            patience = 1 if arrived else 2 * patience
            tried = point.n_iter


def _value(box: BoxQP, point: Iterate) -> float:
    """``1/2 u'Ku - q'u``."""
    assert point.G is not None
    return 0.5 * float(point.u @ (point.G - box.q))


def _sets_of_a_trial(box: BoxQP, point: Iterate) -> int:
    """Working sets that take as long as what is asked of the equations of the points that are free now."""
    free = float(np.count_nonzero((point.u > box.lo) & (point.u < box.hi)))
    return FEWEST_SETS + int(FREE_TRIALS * free**3 / EQUATIONS_PER_SET)


def finish_box_qp(
    rows: GramRows | FeatureRows, box: BoxQP, point: Iterate, *, tol: float, max_iter: int, polish: bool = True
) -> BoxSolution:
    """From a nearly optimal point to the optimum: exact bounds, equations of the free points, more rounds if needed.

    Digits beyond ``tol`` are refined only while they come cheaply: as many working sets again as it took to get there.
    """
    finest = min(tol, FINEST) if is_refined(len(box.q), tol) else tol
    target, violation = tol, np.inf
    allowance = max_iter
    while True:
        kept, reached = point.u.copy(), np.inf if point.G is None else _violation(box, point)
        snap(point.u, box.lo, box.hi, SNAP)
        if point.G is None or polish:  # what many updates have added up is not accurate enough to refine
            point.G = _gradient(rows, point.u, box.q)
        else:  # a multiplier that is nothing beside the others may matter to its own row, through a large diagonal
            moved = np.flatnonzero(point.u != kept)
            rows.add(moved, (point.u - kept)[moved], point.G)
        if polish:
            _solve_free_points(rows, box, point)
        best, violation = violation, _violation(box, point)
        if violation > (SPOILT if polish else 1) * max(reached, tol):
            point.u[:], point.G = kept, _gradient(rows, kept, box.q)
            break
        if violation <= tol and allowance == max_iter:
            allowance = min(max_iter, 2 * point.n_iter + FEW_ROUNDS)
        done = violation <= finest or target <= 1e-12 or (violation <= tol and violation > best / 2)
        if done or point.n_iter >= allowance or violation <= rows.noise(point.u):
            break
        target = min(target, violation) / 10
        _rounds(rows, box, point, target, allowance)
    return box_report(box, point, tol)


def _start(rows: GramRows | FeatureRows, box: BoxQP, start: Array | Iterate | None) -> Iterate:
    """A feasible point near the one given, and its gradient."""
    if not isinstance(start, Iterate) or start.G is None:
        u = feasible_start(start.u if isinstance(start, Iterate) else start, box)
        return Iterate(u, _gradient(rows, u, box.q))
    u, G = feasible_start(start.u, box), start.G.copy()
    changed = np.flatnonzero(u != start.u)
    rows.add(changed, (u - start.u)[changed], G)
    return Iterate(u, G)


def _gradient(rows: GramRows | FeatureRows, u: Array, q: Array) -> Array:
    G = -q
    support = np.flatnonzero(u)
    rows.add(support, u[support], G)
    return G


def _violation(box: BoxQP, point: Iterate) -> float:
    if box.intercept:
        m, M = intercept_ends(point.u, point.G, box.lo, box.hi)
        return max(0.0, m - M) if isfinite(m) and isfinite(M) else 0.0
    return float(worst_slope(point.u, point.G, box.lo, box.hi))


def _rounds(rows: GramRows | FeatureRows, box: BoxQP, point: Iterate, tol: float, max_iter: int) -> None:
    """Working sets until the violation is at most ``tol`` or ``max_iter`` of them were counted; moves ``point``."""
    solve = descend_pairs if box.intercept else descend
    if rows.whole is not None and len(box.q) <= ONE_SET:  # one working set, and no copies
        _one_set(rows, box, point, tol, max_iter)
        return
    u, G = point.u, point.G
    assert G is not None
    previous = np.flatnonzero((u > box.lo) & (u < box.hi))  # of a warm start; none of a cold one
    while point.n_iter < max_iter:
        violation = _violation(box, point)
        if violation <= max(tol, rows.noise(u)):
            return
        chosen = _working_set(box, point, previous)
        old, inner, g = u[chosen], u[chosen], G[chosen]
        aim = max(tol / 2, violation / 20)
        steps, _ = solve(rows.local(chosen), g, inner, box.lo[chosen], box.hi[chosen], aim, STEPS_PER_ROUND)
        point.n_iter += max(1, steps // STEPS_COUNTED)
        changed = np.flatnonzero(inner != old)
        if len(changed) == 0:
            return
        u[chosen] = inner
        rows.add(chosen[changed], (inner - old)[changed], G)
        previous = chosen


def _rounds_and_equations(rows: GramRows | FeatureRows, box: BoxQP, point: Iterate, tol: float, max_iter: int) -> None:
    """Working sets, and now and then the equations of the free points where a huge box makes pair steps slow."""
    cap = PATIENCE
    while True:
        _rounds(rows, box, point, tol, min(cap, max_iter))
        reached = _violation(box, point)
        if reached <= max(tol, rows.noise(point.u)) or point.n_iter < cap or cap >= max_iter:
            return
        trial = Iterate(point.u.copy(), _gradient(rows, point.u, box.q), point.n_iter)
        _solve_free_points(rows, box, trial)
        if _violation(box, trial) < reached:
            point.u[:], point.G = trial.u, trial.G
        cap *= 4


def _one_set(rows: GramRows | FeatureRows, box: BoxQP, point: Iterate, tol: float, max_iter: int) -> None:
    solve = descend_pairs if box.intercept else descend
    steps, left, block = 1, np.inf, Block.of(rows.whole)
    while point.n_iter < max_iter and left > max(tol, rows.noise(point.u)) and steps > 0:
        cap = min(STEPS_PER_ROUND, STEPS_COUNTED * (max_iter - point.n_iter))
        steps, left = solve(block, point.G, point.u, box.lo, box.hi, tol, cap)
        point.n_iter += -(-steps // STEPS_COUNTED)


def _working_set(box: BoxQP, point: Iterate, previous: NDArray[np.int64]) -> Any:
    """The most violating points, filled up with points of the last set, free ones first."""
    u, G, lo, hi = point.u, point.G, box.lo, box.hi
    n = len(u)
    if n <= ONE_SET:
        return np.arange(n)
    assert G is not None
    rise = np.where(u < hi, -G, -np.inf)
    fall = np.where(u > lo, G, -np.inf)
    # with an intercept a riser violates against the best faller, and the other way round
    first = _largest(rise, -float(fall.max()) if box.intercept else 0.0)
    second = _largest(fall, -float(rise.max()) if box.intercept else 0.0)
    chosen = np.zeros(n, dtype=bool)
    chosen[first] = chosen[second] = True
    kept = previous[~chosen[previous]]
    free = (u[kept] > lo[kept]) & (u[kept] < hi[kept])
    kept = np.concatenate([kept[free], kept[~free]])
    chosen[kept[: WORKING_SET - np.count_nonzero(chosen)]] = True
    return np.flatnonzero(chosen)


def _largest(values: Array, above: float) -> NDArray[np.intp]:
    """The places of the ``ENTERING`` largest values above a level."""
    at = np.flatnonzero(values > above)
    return at if len(at) <= ENTERING else at[np.argpartition(values[at], len(at) - ENTERING)[-ENTERING:]]


def _solve_free_points(rows: GramRows | FeatureRows, box: BoxQP, point: Iterate) -> bool:
    """Move the free points to where their gradients are equal, stopping at bounds; whether they get there.

    Each stop ends a primal active-set step. A tiny ridge makes the equations solvable when rows are dependent: each
    solve is then a proximal-point step, which changes the score by nothing that matters and moves along flat directions
    without harm.
    """
    u, G = point.u, point.G
    assert G is not None
    free = np.flatnonzero((u > box.lo) & (u < box.hi))
    if len(free) == 0 or len(free) > FREE_LIMIT:
        return False
    K, g, v = rows.block(free), G[free], u[free]
    low, high = box.lo[free], box.hi[free]
    others, left = float(u.sum() - v.sum()) - box.total, 1.0
    flat = len(free) > max(FREE_CHEAP, FREE_PER_DIMENSION * (1 + rows.dimension))  # nearly all ways are flat: one step
    for number in range(1 if flat else min(FREE_STEPS, 1 + int(FREE_WORK / len(free) ** 3))):
        if left > FREE_LEFT and number >= FREE_TRIALS and len(free) > FREE_CHEAP:
            break  # bound after bound, and hardly a way between them
        still = np.flatnonzero((v > low) & (v < high))
        if len(still) == 0:
            break
        step = _equality_step(K[np.ix_(still, still)], g[still], others + float(v.sum()) if box.intercept else None)
        if step is None:
            break
        here, bound = v[still], np.where(step > 0, high[still], low[still])
        room = np.full_like(step, np.inf)
        np.divide(bound - here, step, out=room, where=step != 0)
        length = min(1.0, float(room.min()))
        new = v.copy()
        new[still] = np.where(room <= length, bound, np.clip(here + length * step, low[still], high[still]))
        snap(new, low, high, SNAP)
        change, v, left = new - v, new, left * (1 - length)
        if length == 1.0:
            break
        g += K @ change
    rows.add(free, v - u[free], G)
    u[free] = v
    return left == 0.0


def _equality_step(K: Array, G: Array, total: float | None) -> Array | None:
    """The step to the minimum over the free points; ``total`` is the sum to take away, None if there is no sum."""
    m = len(K)
    size = float(K.trace()) / m
    if not size > 0:
        return None
    K.flat[:: m + 1] += 1e-12 * size
    sides = np.ones((2, m))
    np.negative(G, out=sides[0])
    if total is not None:
        K += size  # adds size * (sum of step)^2 / 2, which the constraint makes a constant
    # called directly: for few free points the checks of scipy.linalg would take most of the time
    _, answer, info = dposv(K.T, sides.T, overwrite_a=True, overwrite_b=True)
    if info != 0:
        return None
    step, drift = answer[:, 0], answer[:, 1]
    return step if total is None else step + (-total - step.sum()) / drift.sum() * drift


def box_report(
    box: BoxQP, point: Iterate, tol: float, known: tuple[float, float] | None = None, intercept: float | None = None
) -> BoxSolution:
    """The certificates of a point; ``known``: ``|h|^2 / 2`` and the dual value, where known apart from ``G``.

    A point strictly inside the box (of an interior method) says nothing about the interval of intercepts and brings its
    own ``intercept``; its violation is then the largest residual beside a multiplier with room to move, in widths.
    """
    u, G = point.u, point.G
    assert G is not None
    if intercept is None:
        violation = _violation(box, point)
        interval = optimal_intercepts(-G, box.lo, box.hi, box.total) if box.intercept else (0.0, 0.0)
        b = midpoint(interval)
    else:
        b, interval = intercept, (intercept, intercept)
        width = np.where(np.isfinite(box.hi - box.lo), box.hi - box.lo, 1.0)
        room = np.minimum(np.where(G + b > 0, u - box.lo, box.hi - u) / np.where(width > 0, width, 1.0), 1.0)
        violation = float(np.max(np.abs(G + b) * np.maximum(room, 0.0), initial=0.0))
    residual = -G - b  # q - f
    dual_cost = np.zeros_like(residual)  # an infinite bound costs nothing at a zero residual
    np.multiply(np.where(residual > 0, box.hi, box.lo), residual, out=dual_cost, where=residual != 0)
    half_norm, value = known or (0.5 * float(u @ (G + box.q)), 0.5 * float(u @ (G - box.q)))
    primal = half_norm + float(dual_cost.sum())
    reach = box.hi - box.lo
    reach[np.isinf(reach)] = 0.0
    scale = max(abs(primal), abs(value), 1e-6 * float(reach @ np.abs(box.q)), _TINY)
    gap = float(primal + value) / scale if np.isfinite(primal) else np.inf
    if not (np.isfinite(value) and np.isfinite(violation)):  # a point that is none is never certified
        gap = violation = np.inf
    return BoxSolution(u, G, interval, b, value, primal, max(0.0, gap), violation, point.n_iter, violation <= tol)

"""Dual coordinate descent for the box QP of sparse features, with shrinking and an unpenalised intercept.

    minimise  1/2 |X'u|^2 + 1/2 sum_i D_i u_i^2 - q'u   subject to  lo <= u <= hi  and, with an intercept,  sum u = 0.

One multiplier at a time goes to the minimum of its own parabola, in random order (Hsieh et al. 2008); ``w = X'u`` is
kept, so a step costs the entries of a row. The constraint is treated by the method of multipliers: the parabola gains
``b sum u + rho/2 (sum u)^2`` and the gradient is ``G_i = x_i'w + D_i u_i + b + rho sum u - q_i``. Whenever ``rho sum u``
exceeds what the multipliers themselves violate, they are (nearly) those of the intercept ``b + rho sum u``; their sum
falls with it, so ``b`` moves by ``rho sum u`` at least and otherwise to where the last two sums say it vanishes. Bound
multipliers whose gradient lies beyond the worst of the last pass are set aside until all others are done (shrinking).
The loop ends when, over all rows, the spread of the projected gradients and five times ``rho |sum u|`` are at most
``tol``, in units of the score.

Rows are visited out of order, so what is known of a row lies in one cache line, and the lines of the rows to come are
asked for ahead.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc

__all__ = ["descend_rows"]

DEF FURTHEST = 20.0  # multiples of rho sum u that the intercept may move at once
DEF DRIFT = 5.0
DEF AHEAD = 4

ctypedef fused index:
    int
    int64_t

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define SM_PREFETCH(address) __builtin_prefetch(address)
    #else
    #define SM_PREFETCH(address) ((void) (address))
    #endif
    """
    void SM_PREFETCH(const void* address) noexcept nogil

cdef struct Row:
    double u, lo, hi, q, diagonal, curvature
    int64_t first, last


cdef inline int64_t _draw(uint64_t* state, int64_t count) noexcept nogil:
    """A number below ``count`` by xorshift: order need not be more random than that."""
    state[0] ^= state[0] << 13
    state[0] ^= state[0] >> 7
    state[0] ^= state[0] << 17
    return <int64_t> (((state[0] >> 32) * <uint64_t> count) >> 32)


cdef inline double _further(double drift, double moved, double total, double last) noexcept nogil:
    """How far beyond ``drift`` the intercept should go where a move of it changed the sum from ``last`` to ``total``."""
    if last == 0.0 or moved == 0.0 or total == last:
        return 0.0
    return min(max(-total * moved / (total - last) / drift, 0.0), FURTHEST) * drift


def descend_rows(const index[::1] indptr, const index[::1] indices, const double[::1] data, const double[::1] q,
                 const double[::1] lo, const double[::1] hi, const double[::1] diagonal, double[::1] u, double[::1] w,
                 double[::1] dual, double tol, int64_t max_passes):
    """Descend in place; returns (passes over the entries, violation). ``dual`` holds b and rho (0: no intercept)."""
    cdef int64_t n = u.shape[0], active = n, s, t, k, work = 0, entries = max(<int64_t> data.shape[0], 1)
    cdef double total = 0.0, G, PG, top, bottom, top_old = INFINITY, bottom_old = -INFINITY, step, violation = INFINITY
    cdef double b = dual[0], rho = dual[1], drift, at = 0.0, last_at = 0.0, last_total = 0.0
    cdef uint64_t state = 88172645463325252
    cdef int64_t[::1] order = np.arange(n)
    cdef Row* rows = <Row*> malloc(max(n, 1) * sizeof(Row))
    cdef Row* row
    if rows == NULL:
        raise MemoryError()
    try:
        for s in range(n):
            rows[s] = Row(u[s], lo[s], hi[s], q[s], diagonal[s], rho + diagonal[s], indptr[s], indptr[s + 1])
            total += u[s]
            for k in range(indptr[s], indptr[s + 1]):
                rows[s].curvature += data[k] * data[k]
        while work < max_passes * entries:
            PyErr_CheckSignals()
            top, bottom = -INFINITY, INFINITY
            with nogil:
                for s in range(active):
                    t = s + _draw(&state, active - s)
                    order[s], order[t] = order[t], order[s]
                s = 0
                while s < active:
                    if s + 2 * AHEAD < active:
                        SM_PREFETCH(&rows[order[s + 2 * AHEAD]])
                        k = rows[order[s + AHEAD]].first
                        SM_PREFETCH(&data[0] + k)
                        SM_PREFETCH(&indices[0] + k)
                    row = &rows[order[s]]
                    G = b + rho * total - row.q + row.diagonal * row.u
                    for k in range(row.first, row.last):
                        G += w[indices[k]] * data[k]
                    work += row.last - row.first + 1
                    PG = G
                    if (row.u <= row.lo and G > 0) or (row.u >= row.hi and G < 0):
                        PG = 0.0
                        if (row.u <= row.lo and G > top_old) or (row.u >= row.hi and G < bottom_old):
                            active -= 1
                            order[s], order[active] = order[active], order[s]
                            continue
                    top, bottom = max(top, PG), min(bottom, PG)
                    s += 1
                    if PG == 0.0 or row.curvature <= 0.0:
                        continue
                    step = min(row.hi, max(row.lo, row.u - G / row.curvature)) - row.u
                    row.u += step
                    total += step
                    for k in range(row.first, row.last):
                        w[indices[k]] += step * data[k]
            violation = max(top - bottom, 0.0)
            drift = rho * total
            if fabs(drift) > max(violation, 0.1 * tol):
                at = b + drift
                b = at + _further(drift, at - last_at, total, last_total)
                last_at, last_total = at, total
            violation = max(violation, DRIFT * fabs(drift))
            if violation <= tol and active == n:
                break
            if violation <= tol or active == 0:  # none is left to look at while the intercept still drifts
                active, top_old, bottom_old = n, INFINITY, -INFINITY
                continue
            top_old = top if top > 0 else INFINITY
            bottom_old = bottom if bottom < 0 else -INFINITY
        for s in range(n):
            u[s] = rows[s].u
    finally:
        free(rows)
    dual[0] = b + rho * total
    return work // entries, violation

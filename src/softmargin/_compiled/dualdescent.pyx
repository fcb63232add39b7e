"""Dual coordinate descent for the box QP of sparse features, with shrinking and an unpenalised intercept.

    minimise  1/2 |X'u|^2 - q'u   subject to  lo <= u <= hi  and, with an intercept,  sum u = 0.

One multiplier at a time goes to the minimum of its own parabola, in random order (Hsieh et al. 2008); ``w = X'u`` is
kept, so a step costs the entries of a row. The constraint is treated by the method of multipliers: the parabola gains
``b sum u + rho/2 (sum u)^2``, the gradient is ``G_i = x_i'w + b + rho sum u - q_i``, and ``b`` moves by ``rho sum u``
whenever that exceeds what the multipliers themselves violate. Bound multipliers whose gradient lies beyond the worst of
the last pass are set aside until all others are done (shrinking). The loop ends when, over all rows, both the spread of
the projected gradients and ``rho |sum u|`` are at most ``tol``, in units of the score.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t, uint64_t

__all__ = ["descend_rows"]

ctypedef fused index:
    int
    int64_t


cdef inline uint64_t _next(uint64_t* state) noexcept nogil:
    """xorshift: order need not be more random than that."""
    state[0] ^= state[0] << 13
    state[0] ^= state[0] >> 7
    state[0] ^= state[0] << 17
    return state[0]


def descend_rows(const index[::1] indptr, const index[::1] indices, const double[::1] data, const double[::1] q,
                 const double[::1] lo, const double[::1] hi, double[::1] u, double[::1] w, double[::1] dual,
                 double tol, int64_t max_passes):
    """Descend in place; returns (passes over the entries, violation). ``dual`` holds b and rho (0: no intercept)."""
    cdef int64_t n = u.shape[0], active = n, s, t, k, i, passes = 0, work = 0, entries = max(<int64_t> data.shape[0], 1)
    cdef double total = 0.0, G, PG, top, bottom, top_old = INFINITY, bottom_old = -INFINITY, new, step, violation = INFINITY
    cdef double b = dual[0], rho = dual[1], drift
    cdef uint64_t state = 88172645463325252
    cdef double[::1] curvature = np.full(n, rho)
    cdef int64_t[::1] order = np.arange(n)
    for i in range(n):
        total += u[i]
        for k in range(indptr[i], indptr[i + 1]):
            curvature[i] += data[k] * data[k]
    while work < max_passes * entries:
        PyErr_CheckSignals()
        top, bottom = -INFINITY, INFINITY
        with nogil:
            for s in range(active):
                t = s + <int64_t> (_next(&state) % <uint64_t> (active - s))
                order[s], order[t] = order[t], order[s]
            s = 0
            while s < active:
                i = order[s]
                G = b + rho * total - q[i]
                for k in range(indptr[i], indptr[i + 1]):
                    G += w[indices[k]] * data[k]
                work += indptr[i + 1] - indptr[i] + 1
                PG = G
                if (u[i] <= lo[i] and G > 0) or (u[i] >= hi[i] and G < 0):
                    PG = 0.0
                    if (u[i] <= lo[i] and G > top_old) or (u[i] >= hi[i] and G < bottom_old):
                        active -= 1
                        order[s], order[active] = order[active], order[s]
                        continue
                top, bottom = max(top, PG), min(bottom, PG)
                s += 1
                if PG == 0.0 or curvature[i] <= 0.0:
                    continue
                new = min(hi[i], max(lo[i], u[i] - G / curvature[i]))
                step = new - u[i]
                u[i] = new
                total += step
                for k in range(indptr[i], indptr[i + 1]):
                    w[indices[k]] += step * data[k]
        violation = max(top - bottom, 0.0)
        drift = rho * total
        if fabs(drift) > max(violation, 0.1 * tol):
            b += drift
        violation = max(violation, fabs(drift))
        if violation <= tol:
            if active == n:
                break
            active, top_old, bottom_old = n, INFINITY, -INFINITY
            continue
        top_old = top if top > 0 else INFINITY
        bottom_old = bottom if bottom < 0 else -INFINITY
    dual[0] = b + rho * total
    return work // entries, violation

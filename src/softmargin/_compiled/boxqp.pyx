"""Pairwise and single coordinate descent for the box QP on a matrix that fits in cache.

    minimise  1/2 u'Ku - q'u   subject to  lo <= u <= hi  and, with an intercept,  sum u fixed.

Invariant: ``G = Ku - q``. A point may rise while ``u < hi`` and fall while ``u > lo``; with an intercept ``u`` is
optimal exactly when ``max{-G_i : i may rise} <= min{-G_j : j may fall}``, and the excess of the left side is the
violation that stops the loop. Each step takes the steepest riser ``i`` and the partner ``j`` of largest second-order
decrease ``(G_j - G_i)^2 / (K_ii + K_jj - 2 K_ij)``, moves ``u_i`` up and ``u_j`` down by the same amount and stops at
the first bound, which is hit exactly. Without an intercept one coordinate moves at a time and the violation is the
largest ``|G_i|`` that can still be reduced. Infinite bounds are allowed; a direction of no curvature is given a tiny
one, so that identical rows with opposite labels go straight to their bounds.

Steps read the rows of the points that move and the diagonal, nothing else: a :class:`Block` copies a row out of the
store of kernel rows when it is first asked for.
"""

import numpy as np

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t

__all__ = [
    "Block",
    "add_rows",
    "descend",
    "descend_pairs",
    "gauss_rows",
    "gather",
    "intercept_ends",
    "snap",
    "worst_slope",
]

ctypedef fused real:
    float
    double

cdef extern from "_lanes.h" nogil:
    int64_t sm_update(int64_t n, double *G, const double *ki, const double *kj, double di, double dj,
                      const double *rise, const double *fall, double *top, double *bottom)
    int64_t sm_partner(int64_t n, const double *G, const double *ki, const double *diag, const double *fall,
                       double top, double kii, double tiny)
    void sm_add_rows_double(int64_t n, int64_t rows, const double *K, int64_t stride, const int64_t *at,
                            const double *weight, double *out)
    void sm_add_rows_float(int64_t n, int64_t rows, const float *K, int64_t stride, const int64_t *at,
                           const double *weight, double *out)
    void sm_gauss_double(int64_t n, double *row, double scale, double a, const double *b)
    void sm_gauss_float(int64_t n, float *row, float scale, float a, const float *b)


cdef class Block:
    """``K[at][:, at]``, plus a diagonal: rows in float64, copied from ``store[slots]`` when first asked for."""
    cdef double *values
    cdef const double[:, ::1] twice
    cdef const float[:, ::1] once
    cdef const int64_t[::1] slots, at
    cdef const double[::1] extra
    cdef unsigned char[::1] present
    cdef readonly double[::1] diagonal
    cdef int64_t size
    cdef bint single
    cdef object kept

    def __init__(self, store, const int64_t[::1] slots, const int64_t[::1] at, const double[::1] extra):
        cdef int64_t k
        self.size, self.slots, self.at, self.extra = at.shape[0], slots, at, extra
        self.single = store.dtype == np.float32
        if self.single:
            self.once = store
        else:
            self.twice = store
        self.present = np.zeros(self.size, dtype=np.uint8)
        self.diagonal = np.empty(self.size)
        for k in range(self.size):
            self.diagonal[k] = extra[k] + (self.once[slots[k], at[k]] if self.single else self.twice[slots[k], at[k]])
        self._hold(np.empty((self.size, self.size)))

    @staticmethod
    def of(matrix):
        """The block that is a whole matrix in float64."""
        cdef Block block = Block.__new__(Block)
        block.size = len(matrix)
        block.present = np.ones(block.size, dtype=np.uint8)
        block.diagonal = np.diag(matrix).copy()
        block._hold(matrix)
        return block

    cdef int _hold(self, values) except -1:
        cdef const double[:, ::1] view = values
        self.kept = values
        self.values = <double *>&view[0, 0] if self.size else NULL
        return 0

    cdef const double *row(self, int64_t i) noexcept nogil:
        cdef double *out = self.values + i * self.size
        cdef int64_t k
        if not self.present[i]:
            self.present[i] = 1
            if self.single:
                for k in range(self.size):
                    out[k] = self.once[self.slots[i], self.at[k]]
            else:
                for k in range(self.size):
                    out[k] = self.twice[self.slots[i], self.at[k]]
            out[i] += self.extra[i]
        return out


def descend_pairs(Block K, double[::1] G, double[::1] u, const double[::1] lo, const double[::1] hi, double tol,
                  int64_t max_steps):
    """Pair steps until the violation is at most ``tol``; returns (steps, violation). ``G`` and ``u`` change in place."""
    cdef int64_t n = u.shape[0], steps = 0, i, j
    cdef double top = 0.0, bottom = 0.0, di = 0.0, dj = 0.0, move, bend, tiny
    cdef double[::1] rise = np.empty(n), fall = np.empty(n), diag = K.diagonal
    cdef const double *ki
    cdef const double *kj
    cdef int64_t a = 0, b = 0, k
    if n == 0:
        return 0, 0.0
    tiny = 1e-12 * max(1e-300, float(np.max(diag, initial=0.0)))
    with nogil:
        for k in range(n):
            rise[k] = 0.0 if u[k] < hi[k] else -INFINITY
            fall[k] = 0.0 if u[k] > lo[k] else INFINITY
        ki = kj = K.row(0)
        i = sm_update(n, &G[0], ki, kj, 0.0, 0.0, &rise[0], &fall[0], &top, &bottom)
        while i >= 0 and top - bottom > tol and steps < max_steps:
            ki = K.row(i)
            j = sm_partner(n, &G[0], ki, &diag[0], &fall[0], top, diag[i], tiny)
            if j < 0:
                break
            kj = K.row(j)
            bend = diag[i] + diag[j] - 2.0 * ki[j]
            move = (G[j] - G[i]) / (bend if bend > tiny else tiny)
            a, b = 0, 0
            if move >= hi[i] - u[i]:
                move = hi[i] - u[i]
                a = 1
            if move >= u[j] - lo[j]:
                a = 1 if u[j] - lo[j] == move and a else 0
                move = u[j] - lo[j]
                b = 1
            u[i] = hi[i] if a else u[i] + move
            u[j] = lo[j] if b else u[j] - move
            rise[i] = 0.0 if u[i] < hi[i] else -INFINITY
            rise[j] = 0.0 if u[j] < hi[j] else -INFINITY
            fall[i] = 0.0 if u[i] > lo[i] else INFINITY
            fall[j] = 0.0 if u[j] > lo[j] else INFINITY
            steps += 1
            i = sm_update(n, &G[0], ki, kj, move, -move, &rise[0], &fall[0], &top, &bottom)
    return steps, max(0.0, top - bottom) if np.isfinite(top) and np.isfinite(bottom) else 0.0


def descend(Block K, double[::1] G, double[::1] u, const double[::1] lo, const double[::1] hi, double tol,
            int64_t max_steps):
    """Single steps until no coordinate can lower the objective at a rate above ``tol``; returns (steps, violation)."""
    cdef int64_t n = u.shape[0], steps = 0, k, best
    cdef double worst = 0.0, gain, top_gain, bend, new, delta, tiny
    cdef double[::1] diag = K.diagonal
    cdef const double *row
    tiny = 1e-12 * max(1e-300, float(np.max(diag, initial=0.0)))
    with nogil:
        while True:
            worst, top_gain, best = 0.0, 0.0, -1
            for k in range(n):
                if (G[k] < 0 and u[k] < hi[k]) or (G[k] > 0 and u[k] > lo[k]):
                    worst = max(worst, fabs(G[k]))
                    bend = diag[k] if diag[k] > tiny else tiny
                    gain = G[k] * G[k] / bend
                    if gain > top_gain:
                        top_gain, best = gain, k
            if best < 0 or worst <= tol or steps >= max_steps:
                break
            row = K.row(best)
            bend = diag[best] if diag[best] > tiny else tiny
            new = min(hi[best], max(lo[best], u[best] - G[best] / bend))
            delta = new - u[best]
            u[best] = new
            for k in range(n):
                G[k] += delta * row[k]
            steps += 1
    return steps, worst


def intercept_ends(const double[::1] u, const double[::1] G, const double[::1] lo, const double[::1] hi):
    """``(max{-G_i : u_i < hi_i}, min{-G_i : u_i > lo_i})``."""
    cdef int64_t k
    cdef double top = -INFINITY, bottom = INFINITY
    with nogil:
        for k in range(u.shape[0]):
            if u[k] < hi[k]:
                top = max(top, -G[k])
            if u[k] > lo[k]:
                bottom = min(bottom, -G[k])
    return top, bottom


def worst_slope(const double[::1] u, const double[::1] G, const double[::1] lo, const double[::1] hi):
    """The largest ``|G_i|`` along which ``u_i`` can still move down the objective, without an intercept."""
    cdef int64_t k
    cdef double worst = 0.0
    with nogil:
        for k in range(u.shape[0]):
            if (G[k] < 0 and u[k] < hi[k]) or (G[k] > 0 and u[k] > lo[k]):
                worst = max(worst, fabs(G[k]))
    return worst


def snap(double[::1] u, const double[::1] lo, const double[::1] hi, double share):
    """Put on its bound, in place, whatever is closer to it than ``share`` of the box's width.

    With huge features the largest multiplier is far below the bounds, and sets the scale instead of the width.
    """
    cdef int64_t k
    cdef double top = 0.0, near
    with nogil:
        for k in range(u.shape[0]):
            top = max(top, fabs(u[k]))
        for k in range(u.shape[0]):
            near = share * min(hi[k] - lo[k], 2.0 * top)
            if hi[k] - u[k] <= near:
                u[k] = hi[k]
            elif u[k] - lo[k] <= near:
                u[k] = lo[k]


def add_rows(const real[:, ::1] K, const int64_t[::1] at, const double[::1] weight, double[::1] out):
    """``out += weight @ K[at]`` without copying the rows."""
    if at.shape[0] == 0 or out.shape[0] == 0:
        return
    with nogil:
        if real is double:
            sm_add_rows_double(out.shape[0], at.shape[0], &K[0, 0], K.shape[1], &at[0], &weight[0], &out[0])
        else:
            sm_add_rows_float(out.shape[0], at.shape[0], &K[0, 0], K.shape[1], &at[0], &weight[0], &out[0])


def gather(const real[:, ::1] K, const int64_t[::1] at, const int64_t[::1] columns):
    """``K[at][:, columns]`` as float64."""
    cdef int64_t rows = at.shape[0], width = columns.shape[0], r, c
    block = np.empty((rows, width))
    cdef double[:, ::1] out = block
    with nogil:
        for r in range(rows):
            for c in range(width):
                out[r, c] = K[at[r], columns[c]]
    return block


def gauss_rows(real[:, ::1] products, double gamma, const real[::1] a, const real[::1] b):
    """In place, inner products ``x'z`` become ``exp(-gamma |x - z|^2)``, given ``-gamma |x|^2`` and ``-gamma |z|^2``."""
    cdef int64_t r
    with nogil:
        for r in range(products.shape[0]):
            if real is double:
                sm_gauss_double(products.shape[1], &products[r, 0], 2.0 * gamma, a[r], &b[0])
            else:
                sm_gauss_float(products.shape[1], &products[r, 0], <float>(2.0 * gamma), a[r], &b[0])

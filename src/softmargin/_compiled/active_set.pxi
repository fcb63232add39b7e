# The three sets of a box QP and the linear algebra that follows them: who is free, the factor of K_EE + kappa 11', the
# columns K_:E, the pull g = K u_N of the bound points, and the affine solution of one segment. No event logic here.

import numpy as np
from libc.math cimport fabs
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport daxpy, dgemv

include "cholesky.pxi"

cdef enum:
    LO = 0
    HI = 1
    FREE = 2

cdef double DEPENDENT = 1e-11   # squared pivots below this (times the diagonal) are zero
cdef int REFRESH = 64           # set changes between recomputations of K u_N and of the factor
cdef double CROOKED = 1e-12     # r on the elbow above this (times its scale) calls for a fresh factor
cdef double ROUNDING = 4e-16    # of h, times the size of its summands
cdef double STEEP = 1e-9        # a row that enters with less of its diagonal left than this is solved for afresh


def _extended(values, capacity):
    """`values` at the head of a fresh array of length `capacity`."""
    values = np.asarray(values)
    out = np.zeros(capacity, dtype=values.dtype)
    out[: len(values)] = values
    return out


cdef class ActiveSet:
    """Sets, bounds and linear term of the QP; `retarget` sets the problem, `place` the sets."""

    cdef readonly int n, p, m
    cdef readonly double kappa, shift
    cdef bint linear
    cdef int since_refresh, n_moving    # set changes since g was made afresh; bound points whose bound moves
    cdef bint solved, summed            # p, b and F belong to the present sets; v belongs to the present factor
    cdef double kmax, S0, S1, b0, b1
    cdef const double[:, ::1] K
    cdef double[::1] lo0, lo1, hi0, hi1, q0, q1, g0, g1, F0, F1, work
    cdef signed char[::1] state
    cdef double[:, ::1] columns, L
    cdef int[::1] elbow, slot, owner
    cdef double[::1] p0, p1, p2, v, turns, along, drawn

    def __init__(self, K, bint linear, double jitter):
        """K is the Gram matrix, or the features if `linear` (then columns of K are made on demand)."""
        self.K = K
        self.linear = linear
        self.n, self.p = K.shape
        diagonal = np.einsum("ij,ij->i", K, K) if linear else np.diagonal(K)
        self.kappa = float(np.mean(diagonal)) or 1.0
        self.shift = jitter * self.kappa
        self.kmax = float(np.max(diagonal))
        self.g0, self.g1, self.F0, self.F1 = (np.zeros(self.n) for _ in range(4))
        self.work = np.zeros(max(self.n, self.p))
        self.along, self.drawn = np.zeros(self.n), np.zeros(self.n)
        self.state = np.zeros(self.n, dtype=np.int8)
        self.columns = np.empty((0, self.n))
        self.elbow, self.slot, self.owner = (np.zeros(0, dtype=np.int32) for _ in range(3))
        self.p0, self.p1 = np.zeros(0), np.zeros(0)
        self._grow_elbow(min(self.n, 32))

    def _grow_elbow(self, int capacity):
        old, L = np.asarray(self.columns), np.zeros((capacity, capacity))
        columns = np.empty((capacity, self.n))
        if self.m:
            columns[: self.m] = old[: self.m]
            L[: self.m, : self.m] = np.asarray(self.L)[: self.m, : self.m]
        self.columns, self.L = columns, L
        self.elbow = _extended(self.elbow, capacity)
        self.slot = _extended(self.slot, capacity)
        self.owner = _extended(self.owner, capacity)
        self.p2, self.v, self.turns = (np.zeros(capacity) for _ in range(3))
        self.p0, self.p1 = _extended(self.p0, capacity), _extended(self.p1, capacity)
        self.summed = False

    # -- the problem and the sets ---------------------------------------------------------------------------------

    def retarget(self, q0, q1, lo0, lo1, hi0, hi1):
        """Set q(t) = q0 + t q1 and the bounds; the sets stay."""
        self.q0, self.q1, self.lo0, self.lo1, self.hi0, self.hi1 = q0, q1, lo0, lo1, hi0, hi1
        self._refresh()

    def place(self, state, elbow, u):
        """Put every index at the bound `state` says and free those of `elbow`, made affinely independent.

        A point k that depends on those before it (phi_k = sum c_i phi_i, sum c = 1) slides: moving u_k by s and the
        free u by -s c leaves f as it is, until k or one of them reaches a bound. `u` (at t = 0) changes in place.
        """
        cdef int k, pos
        self.state = np.array(state, dtype=np.int8)
        self.m = 0
        self._refresh()
        if len(elbow) + 2 > self.L.shape[0]:
            self._grow_elbow(min(self.n, 2 * len(elbow) + 2))
        lo, hi = np.asarray(self.lo0), np.asarray(self.hi0)
        for k in elbow:
            for _ in range(self.n):
                if self._enter(k) or self.m == 0:  # alone it depends on nothing: its length is rounding, so it stays
                    break
                factor_backward(&self.L[0, 0], self.m, <int> self.L.shape[1], &self.L[self.m, 0])
                free, c = np.array(self.elbow[: self.m]), np.array(self.L[self.m, : self.m])
                with np.errstate(divide="ignore", invalid="ignore"):
                    room = np.where(c > 0, u[free] - lo[free], hi[free] - u[free]) / np.abs(c)
                pos = int(np.argmin(np.where(np.abs(c) > 1e-9, room, np.inf)))
                step = min(max(room[pos], 0.0), hi[k] - u[k])
                u[free] -= step * c
                u[k] += step
                if hi[k] - u[k] <= 0 or not np.any(np.abs(c) > 1e-9):
                    self.state[k] = HI
                    self._refresh()
                    break
                self._leave(pos, LO if c[pos] > 0 else HI)
                u[free[pos]] = lo[free[pos]] if c[pos] > 0 else hi[free[pos]]

    @property
    def sets(self):
        """(state of every index, the elbow in its order)."""
        return np.array(self.state), np.array(self.elbow[: self.m])

    def solution(self, double t):
        """(u_E in the order of the elbow, b) at t, from the segment solved last."""
        self._segment()
        count = self.m
        return np.array(self.p0[:count]) + t * np.array(self.p1[:count]), self.b0 + t * self.b1

    cdef double _bound0(self, int i) noexcept nogil:
        return self.lo0[i] if self.state[i] == LO else self.hi0[i]

    cdef double _bound1(self, int i) noexcept nogil:
        return self.lo1[i] if self.state[i] == LO else self.hi1[i]

    cdef void _column(self, int k, double* out) noexcept nogil:
        cdef int one = 1
        cdef double unit = 1.0, zero = 0.0
        if self.linear:
            dgemv(b"T", &self.p, &self.n, &unit, <double*> &self.K[0, 0], &self.p, <double*> &self.K[k, 0], &one, &zero,
                  out, &one)
        else:
            memcpy(out, &self.K[k, 0], self.n * sizeof(double))
        out[k] += self.shift

    cdef void _times(self, double[::1] u, double[::1] out) noexcept nogil:
        """out <- (K + jitter I) u."""
        cdef int one = 1, i
        cdef double unit = 1.0, zero = 0.0
        if self.linear:
            dgemv(b"N", &self.p, &self.n, &unit, <double*> &self.K[0, 0], &self.p, &u[0], &one, &zero, &self.work[0], &one)
            dgemv(b"T", &self.p, &self.n, &unit, <double*> &self.K[0, 0], &self.p, &self.work[0], &one, &zero, &out[0], &one)
        else:
            dgemv(b"T", &self.n, &self.n, &unit, <double*> &self.K[0, 0], &self.n, &u[0], &one, &zero, &out[0], &one)
        for i in range(self.n):
            out[i] += self.shift * u[i]

    cdef void _refresh(self) noexcept nogil:
        """g = K u_N and S = 1'u_N from scratch, both coefficients of t."""
        cdef int i
        self.since_refresh = 0
        self.solved = False
        self.S0 = 0.0
        self.S1 = 0.0
        self.n_moving = 0
        for i in range(self.n):
            self.F0[i] = 0.0 if self.state[i] == FREE else self._bound0(i)
            self.F1[i] = 0.0 if self.state[i] == FREE else self._bound1(i)
            self.S0 += self.F0[i]
            self.S1 += self.F1[i]
            self.n_moving += self.F1[i] != 0
        self._times(self.F0, self.g0)
        self._times(self.F1, self.g1)

    cdef void _shift(self, int k, double* column, double sign) noexcept nogil:
        """Add (or with sign -1 take away) index k, at its bound, to g and S."""
        cdef int one = 1
        cdef double c0 = sign * self._bound0(k), c1 = sign * self._bound1(k)
        self.solved = False
        if c1 != 0:
            self.n_moving += 1 if sign > 0 else -1
        daxpy(&self.n, &c0, column, &one, &self.g0[0], &one)
        daxpy(&self.n, &c1, column, &one, &self.g1[0], &one)
        self.S0 += c0
        self.S1 += c1
        if self.n_moving == 0:  # nothing moves any more: leave no rounding noise that would look like motion
            self.S1 = 0.0
            memset(&self.g1[0], 0, self.n * sizeof(double))

    cdef bint _enter(self, int k) noexcept nogil:
        """Free index k; false (and nothing changes) if it is affinely dependent on the elbow."""
        cdef int m = self.m, pos, ld = <int> self.L.shape[1]
        cdef double* column = &self.columns[m, 0]
        cdef double diagonal
        self._column(k, column)
        for pos in range(m):
            self.L[m, pos] = column[self.elbow[pos]] + self.kappa
        diagonal = column[k] + self.kappa
        if factor_append(&self.L[0, 0], m, ld, diagonal) <= DEPENDENT * diagonal:
            return False
        self._shift(k, column, -1.0)
        self.since_refresh += 1
        self.elbow[m] = k
        self.slot[m] = m
        self.owner[m] = m
        self.state[k] = FREE
        self.m = m + 1
        self.summed = False
        return True

    cdef void _leave(self, int pos, int side) noexcept nogil:
        """Put the free index at `pos` of the elbow to a bound."""
        cdef int k = self.elbow[pos], hole = self.slot[pos], last = self.m - 1, i, ld = <int> self.L.shape[1]
        self.state[k] = side
        self._shift(k, &self.columns[hole, 0], 1.0)
        self.since_refresh += 1
        factor_delete(&self.L[0, 0], self.m, ld, pos, &self.v[0], &self.turns[0])
        for i in range(pos, last):
            self.elbow[i] = self.elbow[i + 1]
            self.slot[i] = self.slot[i + 1]
            self.owner[self.slot[i]] = i
        if hole != last:  # columns stay packed in slots 0 .. m-2
            memcpy(&self.columns[hole, 0], &self.columns[last, 0], self.n * sizeof(double))
            self.slot[self.owner[last]] = hole
            self.owner[hole] = self.owner[last]
        self.m = last
        self.summed = False

    # -- one segment ----------------------------------------------------------------------------------------------

    cdef void _solve_bordered(self, double* rhs, double total, double* b) noexcept nogil:
        """rhs <- u with K_EE u + b = rhs, 1'u = total; `v` holds (K_EE + kappa 11')^-1 1."""
        cdef int i, ld = <int> self.L.shape[1]
        cdef double sum_w = 0.0, sum_v = 0.0, shifted
        if not self.summed:
            for i in range(self.m):
                self.v[i] = 1.0
            factor_forward(&self.L[0, 0], self.m, ld, &self.v[0])
            factor_backward(&self.L[0, 0], self.m, ld, &self.v[0])
            self.summed = True
        factor_forward(&self.L[0, 0], self.m, ld, rhs)
        factor_backward(&self.L[0, 0], self.m, ld, rhs)
        for i in range(self.m):
            sum_w += rhs[i]
            sum_v += self.v[i]
        shifted = (sum_w - total) / sum_v
        for i in range(self.m):
            rhs[i] -= shifted * self.v[i]
        b[0] = shifted + self.kappa * total

    cdef void _combine(self, double* p, double constant, double* g, double* q, double* out) noexcept nogil:
        """out <- g + K_:E p + constant - q."""
        cdef int i, one = 1
        cdef double unit = 1.0
        for i in range(self.m):
            self.work[self.slot[i]] = p[i]
        for i in range(self.n):
            out[i] = g[i] + constant - q[i]
        dgemv(b"N", &self.n, &self.m, &unit, &self.columns[0, 0], &self.n, &self.work[0], &one, &unit, out, &one)

    cdef void _factorize(self) noexcept nogil:
        """The factor from scratch: thousands of updates wear it out where K_EE is nearly singular."""
        cdef int i, j, ld = <int> self.L.shape[1]
        cdef double diagonal
        for i in range(self.m):
            for j in range(i):
                self.L[i, j] = self.columns[self.slot[i], self.elbow[j]] + self.kappa
            diagonal = self.columns[self.slot[i], self.elbow[i]] + self.kappa
            if factor_append(&self.L[0, 0], i, ld, diagonal) <= 0:
                self.L[i, i] = sqrt(DEPENDENT * diagonal)
        self.summed = False

    cdef void _segment(self) noexcept nogil:
        """u_E = p0 + t p1, b = b0 + t b1, r = F0 + t F1 for the present sets; r must vanish on the elbow."""
        cdef int tries
        if self.since_refresh >= REFRESH:
            self._refresh()
            self._factorize()
        if not self.solved or self._is_crooked():
            self._solve_segment()
        if self.since_refresh > 0 and self._is_crooked():
            self._refresh()
            self._factorize()
            self._solve_segment()
        for tries in range(3):
            if not self._is_crooked():
                break
            self._refine()

    cdef bint _is_crooked(self) noexcept nogil:
        """Does r on the elbow, or sum u, differ from zero by more than rounding of the right-hand sides?"""
        cdef int pos, i
        cdef double off0 = 0.0, off1 = 0.0, size0 = 1.0, size1 = fabs(self.b1), sum0 = self.S0, sum1 = self.S1
        cdef double mass0 = fabs(self.S0), mass1 = fabs(self.S1)
        for pos in range(self.m):
            i = self.elbow[pos]
            off0 = max(off0, fabs(self.F0[i]))
            off1 = max(off1, fabs(self.F1[i]))
            size0 = max(size0, fabs(self.q0[i] - self.g0[i]))
            size1 = max(size1, fabs(self.q1[i] - self.g1[i]))
            sum0 += self.p0[pos]
            sum1 += self.p1[pos]
            mass0 += fabs(self.p0[pos])
            mass1 += fabs(self.p1[pos])
        return (off0 > CROOKED * size0 or off1 > CROOKED * size1
                or fabs(sum0) > CROOKED * mass0 or fabs(sum1) > CROOKED * mass1)

    cdef void _refine(self) noexcept nogil:
        """One step of iterative refinement: solve for what r on the elbow and sum u still miss."""
        cdef int pos
        cdef double sum0 = self.S0, sum1 = self.S1, b = 0.0
        for pos in range(self.m):
            sum0 += self.p0[pos]
            sum1 += self.p1[pos]
            self.p2[pos] = -self.F0[self.elbow[pos]]
        self._solve_bordered(&self.p2[0], -sum0, &b)
        self.b0 += b
        for pos in range(self.m):
            self.p0[pos] += self.p2[pos]
            self.p2[pos] = -self.F1[self.elbow[pos]]
        self._solve_bordered(&self.p2[0], -sum1, &b)
        self.b1 += b
        for pos in range(self.m):
            self.p1[pos] += self.p2[pos]
        self._residuals()

    cdef void _solve_segment(self) noexcept nogil:
        cdef int i, pos
        for pos in range(self.m):
            i = self.elbow[pos]
            self.p0[pos] = self.q0[i] - self.g0[i]
            self.p1[pos] = self.q1[i] - self.g1[i]
        self.solved = True
        self._solve_bordered(&self.p0[0], -self.S0, &self.b0)
        self._solve_bordered(&self.p1[0], -self.S1, &self.b1)
        self._residuals()

    cdef void _residuals(self) noexcept nogil:
        """r = F0 + t F1 everywhere."""
        self._combine(&self.p0[0], self.b0, &self.g0[0], &self.q0[0], &self.F0[0])
        self._combine(&self.p1[0], self.b1, &self.g1[0], &self.q1[0], &self.F1[0])

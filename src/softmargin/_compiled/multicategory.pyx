"""Block coordinate ascent for the duals of simultaneous support vector machines.

k score functions that sum to zero are ``f_j = offset_j + sum_i beta_ij (K(x_i, .) + shift)``. Every machine is the dual

    maximise  sum_ij lin_ij b_ij - 1/2 sum_j beta_j' (K + shift) beta_j - offset' sum_i beta_i,   lo_ij <= b_ij <= hi_ij,

where bounds and ``lin`` take one value for the own class of a row (times its cost) and one for all other classes, and
``beta_i`` follows from ``b_i`` in one of three ways (``link``):

    CENTER  beta = b - mean(b)                     naive, Lee-Lin-Wahba, reinforced, bounded
    OWN     beta_j = b_j (j != y), beta_y = -sum   Weston-Watkins
    ZERO    beta = b, sum b = 0                    Crammer-Singer

A block is one row. With ``G`` its scores without its own part and ``q = K_ii + shift``, its exact maximiser is

    b_j = clip(h_j + m, lo_j, hi_j),   h_j = (lin_j - G_j [+ G_y: OWN]) / q,   sum_j b_j = kappa m,

kappa = k, -1, 0 for the three links: one monotone piecewise linear equation in the scalar ``m``, solved by Newton's
method inside a bracket. A row whose block moves its own scores by less than a tenth of ``tol`` in two consecutive
passes leaves the active set. Passes end when no active block moves its scores by more than ``tol``; the caller then
computes all scores afresh and certifies the duality gap.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fabs, INFINITY, isinf
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from scipy.linalg.cython_blas cimport daxpy

cdef extern from "_weights.h" nogil:
    void sm_scores(long k, long p, const double* theta, const double* x, double* scores)
    void sm_rank_one(long k, long p, double* theta, const double* x, const double* delta)

CENTER, OWN, ZERO = 0, 1, 2

cdef enum:
    LINK_CENTER = 0
    LINK_OWN = 1
    LINK_ZERO = 2

cdef int ONE = 1
cdef double SIGNAL_WORK = 2e7  # multiplications between two looks at pending signals: some hundredths of a second


cdef inline double larger(double x, double y) noexcept nogil:
    return x if x > y else y  # the one of libm is a call


cdef inline double smaller(double x, double y) noexcept nogil:
    return x if x < y else y


cdef Machine machine_of(tuple form):
    cdef Machine machine
    machine.link = form[0]
    (machine.own_lo, machine.own_hi, machine.other_lo, machine.other_hi, machine.own_lin, machine.other_lin) = form[1:]
    return machine


cdef double level(double* h, double* lo, double* hi, int k, int link, double start) noexcept nogil:
    """The root m of ``sum_j clip(h_j + m, lo_j, hi_j) - kappa m``."""
    cdef double kappa = k if link == LINK_CENTER else (-1.0 if link == LINK_OWN else 0.0)
    cdef double m = start, value, slope, x, left = -INFINITY, right = INFINITY, scale, step, total = 0
    cdef double own = -INFINITY, top = -INFINITY
    cdef int j, it, n_free
    if link != LINK_ZERO:
        left = right = 0
        for j in range(k):
            left += lo[j]
            right += hi[j]
        if link == LINK_CENTER:
            left, right = left / k, right / k
        else:
            left, right = -right, -left
    if link == LINK_ZERO:  # the sum is not positive where any of the classes with the own one would add up to zero
        for j in range(k):
            total += h[j]
            if hi[j] > 0:
                own = h[j]
            else:
                top = larger(top, h[j])
        m = larger(-total / k, larger(-own, -0.5 * (own + top))) if own > -INFINITY else -total / k
    m = smaller(larger(m, left), right)
    for it in range(200):
        value = -kappa * m
        scale = fabs(kappa * m)
        n_free = 0
        for j in range(k):
            x = h[j] + m
            if x <= lo[j]:
                x = lo[j]
            elif x >= hi[j]:
                x = hi[j]
            else:
                n_free += 1
            value += x
            scale += fabs(x)
        if fabs(value) <= 4e-16 * scale:
            return m
        # CENTER decreases in m, the others increase
        if (value > 0) == (link == LINK_CENTER):
            left = m
        else:
            right = m
        slope = n_free - kappa
        step = m - value / slope if slope != 0 else INFINITY
        if not (left < step < right):
            if isinf(left) or isinf(right):
                step = m + 2 * (fabs(m) + 1) if isinf(right) else m - 2 * (fabs(m) + 1)
            else:
                step = 0.5 * (left + right)
        if step == m:
            return m
        m = step
    return m


cdef double block(Machine* machine, double cost, int own, int k, double q, double* scores, double* b, double* beta,
                  double* delta, double* h, double* lo, double* hi) noexcept nogil:
    """Maximise over one row; writes the new ``b`` and the change of ``beta``; returns its largest entry times q."""
    cdef int j, link = machine.link
    cdef double own_rest = scores[own] - q * beta[own], m, total = 0, largest = 0, new, mean = 0, scale = 1 / q
    for j in range(k):
        lo[j] = cost * machine.other_lo
        hi[j] = cost * machine.other_hi
        h[j] = machine.other_lin - (scores[j] - q * beta[j])
        total += b[j]
    lo[own] = cost * machine.own_lo
    hi[own] = cost * machine.own_hi
    h[own] = machine.own_lin - own_rest
    for j in range(k):
        if link == LINK_OWN:
            h[j] += own_rest
        h[j] *= scale
    m = level(h, lo, hi, k, link, total / k if link == LINK_CENTER else -total)
    total = 0
    for j in range(k):
        h[j] = smaller(larger(h[j] + m, lo[j]), hi[j])
        total += h[j]
    if link == LINK_CENTER:
        mean = total / k
    for j in range(k):
        new = h[j] - mean
        if link == LINK_OWN and j == own:
            new = -(total - h[own])
        delta[j] = new - beta[j]
        largest = larger(largest, fabs(delta[j]))
    return largest * q


cdef void shuffle(long* rows, long n, uint64_t* state) noexcept nogil:
    cdef long i, j, keep
    for i in range(n - 1, 0, -1):
        state[0] ^= state[0] << 13
        state[0] ^= state[0] >> 7
        state[0] ^= state[0] << 17
        j = <long> (state[0] % <uint64_t> (i + 1))
        keep = rows[i]
        rows[i] = rows[j]
        rows[j] = keep


cdef class _Store:
    """How scores are kept: primal weights of dense or sparse rows, or scores updated by Gram rows."""
    cdef int k
    cdef double shift

    cdef double row_work(self):
        """Multiplications of a read and a move, per class."""
        return 0

    cdef double curvature(self, long i) noexcept nogil:
        return 0

    cdef void read(self, long i, double* scores) noexcept nogil:
        pass

    cdef void move(self, long i, double* delta, long* active, long n_active) noexcept nogil:
        pass


cdef class DenseStore(_Store):
    """``scores = offset + x'theta + shift * bias``, with theta (p, k) updated in place."""
    cdef const double[:, ::1] X
    cdef double[:, ::1] theta
    cdef double[::1] bias, offset, norms
    cdef int p

    def __init__(self, X, theta, bias, offset, shift):
        self.X, self.theta, self.bias, self.offset, self.shift = X, theta, bias, offset, shift
        self.norms = np.einsum("ij,ij->i", X, X) + shift
        self.p, self.k = X.shape[1], theta.shape[1]

    cdef double row_work(self):
        return 2 * self.p

    cdef double curvature(self, long i) noexcept nogil:
        return self.norms[i]

    cdef void read(self, long i, double* scores) noexcept nogil:
        cdef int j
        for j in range(self.k):
            scores[j] = self.offset[j] + self.shift * self.bias[j]
        sm_scores(self.k, self.p, &self.theta[0, 0], &self.X[i, 0], scores)

    cdef void move(self, long i, double* delta, long* active, long n_active) noexcept nogil:
        cdef int j
        for j in range(self.k):
            self.bias[j] += delta[j]
        sm_rank_one(self.k, self.p, &self.theta[0, 0], &self.X[i, 0], delta)


cdef class SparseStore(_Store):
    """The same for CSR rows."""
    cdef const double[::1] data
    cdef const int[::1] indices, indptr
    cdef double[::1] bias, offset, norms
    cdef double[:, ::1] theta

    def __init__(self, X, theta, bias, offset, shift):
        self.data, self.indices, self.indptr = X.data, X.indices, X.indptr
        self.theta, self.bias, self.offset, self.shift = theta, bias, offset, shift
        self.norms = np.asarray(X.multiply(X).sum(axis=1)).ravel() + shift
        self.k = theta.shape[1]

    cdef double row_work(self):
        return 2 * <double> len(self.data) / max(len(self.norms), 1)

    cdef double curvature(self, long i) noexcept nogil:
        return self.norms[i]

    cdef void read(self, long i, double* scores) noexcept nogil:
        cdef int j, t
        cdef double x
        cdef double* row
        for j in range(self.k):
            scores[j] = self.offset[j] + self.shift * self.bias[j]
        for t in range(self.indptr[i], self.indptr[i + 1]):
            x = self.data[t]
            row = &self.theta[self.indices[t], 0]
            for j in range(self.k):
                scores[j] += x * row[j]

    cdef void move(self, long i, double* delta, long* active, long n_active) noexcept nogil:
        cdef int j, t
        cdef double x
        cdef double* row
        for j in range(self.k):
            self.bias[j] += delta[j]
        for t in range(self.indptr[i], self.indptr[i + 1]):
            x = self.data[t]
            row = &self.theta[self.indices[t], 0]
            for j in range(self.k):
                row[j] += x * delta[j]


cdef class GramStore(_Store):
    """Scores (k, n) without intercept, kept up to date with rows of the kernel matrix, one class at a time.

    While most rows are active all are updated, by one long vector operation per class that moves; later only those.
    """
    cdef const double[:, ::1] K
    cdef double[:, ::1] scores
    cdef double[::1] bias, offset
    cdef int n

    def __init__(self, K, scores, bias, offset, shift):
        self.K, self.scores, self.bias, self.offset, self.shift = K, scores, bias, offset, shift
        self.k, self.n = scores.shape[0], scores.shape[1]

    cdef double row_work(self):
        return self.n

    cdef double curvature(self, long i) noexcept nogil:
        return self.K[i, i] + self.shift

    cdef void read(self, long i, double* scores) noexcept nogil:
        cdef int j
        for j in range(self.k):
            scores[j] = self.scores[j, i] + self.offset[j] + self.shift * self.bias[j]

    cdef void move(self, long i, double* delta, long* active, long n_active) noexcept nogil:
        cdef long a, l
        cdef int j
        cdef double* row
        cdef double* similar = <double*> &self.K[i, 0]
        for j in range(self.k):
            if delta[j] == 0:
                continue
            self.bias[j] += delta[j]
            row = &self.scores[j, 0]
            if 5 * n_active > self.n:
                daxpy(&self.n, &delta[j], similar, &ONE, row, &ONE)
            else:
                for a in range(n_active):
                    l = active[a]
                    row[l] += similar[l] * delta[j]


def ascend(_Store store, tuple form, tuple rows, double tol, long max_passes, uint64_t seed):
    """Passes over the rows until no active block moves by more than ``tol``; returns the number of blocks visited
    and whether that came about.

    ``form`` is (link, own_lo, own_hi, other_lo, other_hi, own_lin, other_lin) and ``rows`` is (cost, codes, b, beta);
    ``b``, ``beta`` and the store's arrays are changed in place. Scores of rows that left the active set are stale
    afterwards. Signals are served between blocks.
    """
    cdef Machine machine = machine_of(form)
    cdef double[::1] cost = rows[0]
    cdef int[::1] codes = rows[1]
    cdef double[:, ::1] b = rows[2], beta = rows[3]
    cdef long n = beta.shape[0], n_active = n, passes = 0, visited = 0, a, i
    cdef long per_signal = 1 + <long> (SIGNAL_WORK / (beta.shape[1] * (store.row_work() + 100)))
    cdef int k = beta.shape[1], j
    cdef double move, worst = INFINITY, q
    cdef uint64_t state = seed * 2654435761u + 88172645463325252u
    cdef double* work = <double*> malloc(5 * k * sizeof(double))
    cdef long* active = <long*> malloc(n * sizeof(long))
    cdef char* still = <char*> malloc(n)
    if work == NULL or active == NULL or still == NULL:
        free(work); free(active); free(still)
        raise MemoryError("no memory for the working arrays of block coordinate ascent")
    cdef double* scores = work
    cdef double* delta = work + k
    cdef double* h = work + 2 * k
    try:
        with nogil:
            for i in range(n):
                active[i] = i
                still[i] = 0
            while passes < max_passes and n_active > 0:
                passes += 1
                worst = 0
                shuffle(active, n_active, &state)
                a = 0
                while a < n_active:
                    visited += 1
                    if visited % per_signal == 0:
                        with gil:
                            PyErr_CheckSignals()
                    i = active[a]
                    q = larger(store.curvature(i), 1e-10)  # a row of zeros without intercept: b goes to its bounds at once
                    store.read(i, scores)
                    move = block(&machine, cost[i], codes[i], k, q, scores, &b[i, 0], &beta[i, 0], delta, h, work + 3 * k,
                                 work + 4 * k)
                    worst = larger(worst, move)
                    if move > 0.1 * tol or (q == 1e-10 and passes == 1):
                        still[i] = 0
                        for j in range(k):
                            b[i, j] = h[j]
                            beta[i, j] += delta[j]
                        store.move(i, delta, active, n_active)
                    else:
                        still[i] += 1
                        if still[i] >= 2:
                            n_active -= 1
                            active[a] = active[n_active]
                            active[n_active] = i
                            continue
                    a += 1
                if worst <= tol:
                    break
    finally:
        free(work)
        free(active)
        free(still)
    return visited, worst <= tol or n_active == 0

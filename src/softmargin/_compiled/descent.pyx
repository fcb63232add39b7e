"""Coordinate descent for a convex quadratic with l1 costs: the one inner loop of every elastic-net fit.

    minimise over b:  Q(b) + sum_j l_j |b_j|        (optionally b >= 0)

``Q`` is a second-order model of any loss, so nothing here knows a loss. A ``Quadratic`` answers two questions, its
partial derivative at the present ``b`` and what a move of one coordinate changes, and comes in three forms:

* ``GramQuadratic``: the Hessian ``H`` is at hand, a move costs O(k);
* ``DenseQuadratic``: columns ``x_j`` in Fortran order, residual form. With ``g`` the slopes and ``h`` the curvatures of
  the data term in each score, ``r = g + h d`` for the present change of scores ``d``: a move costs O(n), and no working
  response (a division by vanishing curvature) is ever formed;
* ``SparseQuadratic``: the same over the stored entries of CSC columns.

Invariant of the residual forms: the intercept is always optimal. Its shift is ``a = -sum r / sum h`` and enters each
derivative as ``a x_j'h``, so eliminating it costs O(1) per coordinate, whatever the column means.

Certificate: a full sweep in which no coordinate moved by more than ``H_jj step^2 <= tolerance``, that is, the squared
violation of every coordinate's optimality condition, in its own curvature, was below the tolerance.

Sweeps that go on are extrapolated (Anderson's acceleration): from the moves of the last five, to where they seem to end.

Interrupts are served after every ``INTERRUPTIBLE`` multiplications, a few hundredths of a second.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fabs, hypot
from scipy.linalg.cython_blas cimport daxpy, ddot, dtrsv
from scipy.linalg.cython_lapack cimport dposv, dpotrf

__all__ = ["DenseQuadratic", "GramQuadratic", "Quadratic", "SparseQuadratic", "descend"]

DEF INTERRUPTIBLE = 50000000
DEF DEPTH = 5
DEF ROUNDING = 1e-14

ctypedef fused real:
    float
    double


cdef inline double _dot(const real* x, const double* r, Py_ssize_t n) noexcept nogil:
    """Four partial sums, which the compiler may keep in vector registers."""
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    cdef Py_ssize_t i, whole = n - n % 4
    for i in range(0, whole, 4):
        s0 += x[i] * r[i]
        s1 += x[i + 1] * r[i + 1]
        s2 += x[i + 2] * r[i + 2]
        s3 += x[i + 3] * r[i + 3]
    for i in range(whole, n):
        s0 += x[i] * r[i]
    return (s0 + s1) + (s2 + s3)


cdef inline double _gathered(const real* x, const int* at, const double* r, Py_ssize_t n) noexcept nogil:
    """The same over the rows of sparse entries: a sum would wait for the one before it, four need not."""
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    cdef Py_ssize_t i, whole = n - n % 4
    for i in range(0, whole, 4):
        s0 += x[i] * r[at[i]]
        s1 += x[i + 1] * r[at[i + 1]]
        s2 += x[i + 2] * r[at[i + 2]]
        s3 += x[i + 3] * r[at[i + 3]]
    for i in range(whole, n):
        s0 += x[i] * r[at[i]]
    return (s0 + s1) + (s2 + s3)


cdef inline void _add_scaled(const real* x, const double* h, double step, double* r, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        r[i] += step * (h[i] * x[i])


cdef inline void _moments(const real* x, const double* h, Py_ssize_t n, double* first, double* second) noexcept nogil:
    """``sum h x`` and ``sum h x^2``."""
    cdef double s1 = 0, s2 = 0, hx
    cdef Py_ssize_t i
    for i in range(n):
        hx = h[i] * x[i]
        s1 += hx
        s2 += hx * x[i]
    first[0] = s1
    second[0] = s2


cdef class Quadratic:
    """A convex quadratic seen one coordinate at a time; ``coef`` is its present point, shared with the caller."""

    cdef readonly Py_ssize_t size
    cdef double[::1] b
    cdef double[::1] diagonal
    cdef double price  # multiplications per coordinate
    cdef double work  # since interrupts were last looked for

    @property
    def coef(self):
        return np.asarray(self.b)

    @property
    def curvatures(self):
        """The second derivative along each coordinate."""
        return np.asarray(self.diagonal)

    cdef double slope(self, Py_ssize_t j) noexcept nogil:
        return 0.0

    cdef void move(self, Py_ssize_t j, double step) noexcept nogil:
        pass

    def gradient(self):
        """All partial derivatives at the present point."""
        cdef Py_ssize_t j
        cdef double[::1] out = np.empty(self.size)
        for j in range(self.size):
            out[j] = self.slope(j)
        return np.asarray(out)


include "gram_quadratic.pxi"


cdef class _ResidualQuadratic(Quadratic):
    """What dense and sparse columns share: the residual, the eliminated intercept and the ridge."""

    cdef double[::1] h, r, first
    cdef double total, mass, ridge

    def __init__(self, g, h, b, double ridge, bint intercept):
        self.size = b.shape[0]
        self.b, self.ridge = b, ridge
        self.h = np.ascontiguousarray(h, dtype=np.float64)
        self.r = np.array(g, dtype=np.float64)
        self.first, self.diagonal = np.empty(self.size), np.empty(self.size)
        self.total = float(np.sum(g))
        self.mass = float(np.sum(h)) if intercept else 0.0

    def _finish(self):
        """From raw moments to the curvature of each coordinate, the intercept eliminated."""
        first, diagonal = np.asarray(self.first), np.asarray(self.diagonal)
        diagonal += self.ridge
        if self.mass > 0:
            raw = diagonal.copy()
            diagonal -= first**2 / self.mass
            diagonal[diagonal < 1e-12 * raw] = 0.0  # a constant column is the intercept itself

    @property
    def intercept(self):
        """The optimal shift of the intercept at the present point."""
        return -self.total / self.mass if self.mass > 0 else 0.0

    cdef double rest(self, Py_ssize_t j) noexcept nogil:
        """The part of a derivative that needs no column: the intercept's and the ridge's."""
        cdef double value = self.ridge * self.b[j]
        if self.mass > 0:
            value -= self.total / self.mass * self.first[j]
        return value


cdef class DenseQuadratic(_ResidualQuadratic):
    """Columns of a Fortran-ordered float32 or float64 matrix."""

    cdef const double[::1, :] X64
    cdef const float[::1, :] X32
    cdef bint single
    cdef Py_ssize_t n

    def __init__(self, X, g, h, double[::1] b, double ridge, bint intercept):
        cdef Py_ssize_t j
        super().__init__(g, h, b, ridge, intercept)
        self.n = X.shape[0]
        self.price = 2 * self.n
        self.single = X.dtype == np.float32
        if self.single:
            self.X32 = X
            for j in range(self.size):
                _moments(&self.X32[0, j], &self.h[0], self.n, &self.first[j], &self.diagonal[j])
        else:
            self.X64 = X
            for j in range(self.size):
                _moments(&self.X64[0, j], &self.h[0], self.n, &self.first[j], &self.diagonal[j])
        self._finish()

    cdef double slope(self, Py_ssize_t j) noexcept nogil:
        cdef int one = 1, n = <int>self.n
        if self.single:
            return _dot(&self.X32[0, j], &self.r[0], self.n) + self.rest(j)
        return ddot(&n, <double*>&self.X64[0, j], &one, &self.r[0], &one) + self.rest(j)

    cdef void move(self, Py_ssize_t j, double step) noexcept nogil:
        if self.single:
            _add_scaled(&self.X32[0, j], &self.h[0], step, &self.r[0], self.n)
        else:
            _add_scaled(&self.X64[0, j], &self.h[0], step, &self.r[0], self.n)
        self.total += step * self.first[j]


cdef class SparseQuadratic(_ResidualQuadratic):
    """CSC columns of float32 or float64 entries."""

    cdef const double[::1] data64
    cdef const float[::1] data32
    cdef double[::1] bent64  # entries times the curvatures of their rows
    cdef const int[::1] indices, indptr
    cdef bint single

    def __init__(self, X, g, h, double[::1] b, double ridge, bint intercept):
        cdef Py_ssize_t j, k
        cdef double x, s1, s2
        super().__init__(g, h, b, ridge, intercept)
        self.indices, self.indptr = X.indices, X.indptr
        self.single = X.data.dtype == np.float32
        self.price = 1 + 2 * X.nnz / max(self.size, 1)
        if self.single:
            self.data32 = X.data
        else:
            self.data64 = X.data
        self.bent64 = np.empty(X.nnz)
        for j in range(self.size):
            s1 = s2 = 0
            for k in range(self.indptr[j], self.indptr[j + 1]):
                x = self.data32[k] if self.single else self.data64[k]
                self.bent64[k] = self.h[self.indices[k]] * x
                s1 += self.bent64[k]
                s2 += self.bent64[k] * x
            self.first[j], self.diagonal[j] = s1, s2
        self._finish()

    cdef double slope(self, Py_ssize_t j) noexcept nogil:
        cdef Py_ssize_t first = self.indptr[j], n = self.indptr[j + 1] - first
        if n == 0:
            return self.rest(j)
        if self.single:
            return _gathered(&self.data32[first], &self.indices[first], &self.r[0], n) + self.rest(j)
        return _gathered(&self.data64[first], &self.indices[first], &self.r[0], n) + self.rest(j)

    cdef void move(self, Py_ssize_t j, double step) noexcept nogil:
        cdef Py_ssize_t k, first = self.indptr[j], n = self.indptr[j + 1] - first
        cdef const int* at
        cdef const double* bent
        cdef double* r
        if n > 0:
            at, bent, r = &self.indices[first], &self.bent64[first], &self.r[0]
            for k in range(n):
                r[at[k]] += step * bent[k]
        self.total += step * self.first[j]


cdef inline double _target(double b, double slope, double curvature, double cost, bint positive) noexcept nogil:
    """The minimiser along one coordinate."""
    cdef double z = curvature * b - slope
    if z > cost:
        return (z - cost) / curvature
    if z < -cost and not positive:
        return (z + cost) / curvature
    return 0.0


cdef double _sweep(Quadratic q, const double[::1] cost, bint positive, bint nonzeros_only) except -1 nogil:
    """Minimise along each coordinate in turn; the largest ``H_jj step^2``."""
    cdef double worst = 0, step, curvature
    cdef Py_ssize_t j
    for j in range(q.size):
        curvature = q.diagonal[j]
        if (curvature <= 0 or nonzeros_only) and q.b[j] == 0:
            continue
        q.work += q.price
        if q.work > INTERRUPTIBLE:
            q.work = 0
            with gil:
                PyErr_CheckSignals()
        if curvature > 0:
            step = _target(q.b[j], q.slope(j), curvature, cost[j], positive) - q.b[j]
        else:  # what it costs buys nothing
            step = -q.b[j] if 0 < cost[j] and fabs(q.slope(j)) <= cost[j] else 0.0
        if step != 0:
            q.b[j] += step
            q.move(j, step)
            worst = max(worst, curvature * step * step)
    return worst


include "extrapolation.pxi"


def descend(Quadratic q, const double[::1] cost, bint positive, double tolerance, Py_ssize_t max_sweeps):
    """Sweep until a full sweep meets the tolerance; between full sweeps only nonzero coefficients move.

    Coordinates without curvature (zero columns without ridge) are zero where they cost anything, and stay where they
    are where they do not. Returns the number of sweeps and whether the certificate was reached.
    """
    cdef Py_ssize_t done = 0
    cdef int held
    cdef bint certified = False
    cdef double[:, ::1] kept = np.empty((DEPTH + 1, q.size))
    with nogil:
        while done < max_sweeps:
            done += 1
            held = -DEPTH  # the first sweeps still find out which coefficients matter
            if _sweep(q, cost, positive, False) <= tolerance:
                certified = True
                break
            while done < max_sweeps:
                done += 1
                if _sweep(q, cost, positive, True) <= tolerance:
                    break
                if held >= 0:
                    kept[held, :] = q.b
                held += 1
                if held > DEPTH:
                    held = 0
                    done += 2  # as much work as two sweeps
                    _extrapolate(q, cost, kept)
    return done, certified

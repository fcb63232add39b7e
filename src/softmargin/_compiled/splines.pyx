"""Sums of spline kernels of single features, the matrix of no feature made on the way.

    K_ij += sum_v w_v k(x_vi, z_vj),   k(x, z) = m (k_1(x) k_1(z) + k_2(x) k_2(z) + 1/720 - (t - t^2)^2 / 24),

``t = |x - z|``, ``k_1(x) = x - 1/2``, ``k_2 = (k_1^2 - 1/12) / 2`` for numbers in [0, 1], ``m`` a common factor. For one
``x`` all but the last term is a polynomial of ``z - 1/2`` of degree two, so an entry costs one number read and a dozen
operations, and a stretch of a row of ``K`` stays in cache while one feature after the other is added to it.

Rows are those of ``x``; where both sides are the same rows the lower triangle is added up and mirrored. Interrupts are
served after every ``INTERRUPTIBLE`` entries, a few hundredths of a second.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fabs

__all__ = ["spline_sum"]

DEF STRETCH = 512
DEF INTERRUPTIBLE = 50000000


cdef void _add(double x, const double* z, double weight, double* row, Py_ssize_t n) noexcept nogil:
    """Add the kernels of ``x`` with ``n`` numbers to a stretch of a row."""
    cdef double a = x - 0.5
    cdef double second = 0.5 * (a * a - 1.0 / 12)
    cdef double c0 = weight * (1.0 / 720 - second / 24), c1 = weight * a, c2 = 0.5 * weight * second, c4 = weight / 24
    cdef double b, t
    cdef Py_ssize_t j
    for j in range(n):
        b = z[j] - 0.5
        t = fabs(b - a)
        t = t - t * t
        row[j] += c0 + b * (c1 + b * c2) - c4 * t * t


def spline_sum(const double[:, ::1] x, const double[:, ::1] z, const double[::1] weights):
    """The matrix for features ``x`` (k, n) and ``z`` (k, m), a row each; ``z`` is ``x`` for the rows themselves."""
    cdef Py_ssize_t k = x.shape[0], n = x.shape[1], m = z.shape[1], i, j, v, first, size, end
    cdef double[:, ::1] out = np.zeros((n, m))
    cdef bint same = k > 0 and n > 0 and m == n and &x[0, 0] == &z[0, 0]
    cdef double work = 0
    with nogil:
        for i in range(n if k > 0 else 0):
            end = i + 1 if same else m
            for first in range(0, end, STRETCH):
                size = min(<Py_ssize_t>STRETCH, end - first)
                for v in range(k):
                    _add(x[v, i], &z[v, first], weights[v], &out[i, first], size)
            work += <double>k * end
            if work > INTERRUPTIBLE:
                work = 0
                with gil:
                    PyErr_CheckSignals()
        if same:
            for i in range(n):
                for j in range(i):
                    out[j, i] = out[i, j]
    return np.asarray(out)

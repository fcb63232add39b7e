# cython: language_level=3
"""Exponentials of margins, many at once: ``exp(x)`` for ``x <= 0`` and the logistic loss with its derivatives.

Vector arithmetic makes them four to five times as fast as the library functions NumPy calls on processors without
512-bit registers; results agree with those to a few units in the last place.
"""

import numpy as np
from libc.stdint cimport int64_t

cdef extern from "_lanes.h" nogil:
    void sm_decay(int64_t n, const double *x, double *out)
    void sm_logistic_value(int64_t n, const double *u, double *value, double *slope, double *curvature)
    void sm_logistic_slope(int64_t n, const double *u, double *value, double *slope, double *curvature)
    void sm_logistic_all(int64_t n, const double *u, double *value, double *slope, double *curvature)


def decay(const double[::1] x):
    """``exp(x)`` for ``x <= 0``."""
    out = np.empty(x.shape[0])
    cdef double[::1] view = out
    if x.shape[0]:
        with nogil:
            sm_decay(x.shape[0], &x[0], &view[0])
    return out


def logistic_value(const double[::1] u):
    """``log(1 + exp(-u))``."""
    out = np.empty(u.shape[0])
    cdef double[::1] view = out
    if u.shape[0]:
        with nogil:
            sm_logistic_value(u.shape[0], &u[0], &view[0], NULL, NULL)
    return out


def logistic_slope(const double[::1] u):
    """``-1 / (1 + exp(u))``."""
    out = np.empty(u.shape[0])
    cdef double[::1] view = out
    if u.shape[0]:
        with nogil:
            sm_logistic_slope(u.shape[0], &u[0], NULL, &view[0], NULL)
    return out


def logistic_parts(const double[::1] u):
    """``log(1 + exp(-u))``, its slope and its curvature."""
    value, slope, curvature = np.empty(u.shape[0]), np.empty(u.shape[0]), np.empty(u.shape[0])
    cdef double[::1] v = value, s = slope, c = curvature
    if u.shape[0]:
        with nogil:
            sm_logistic_all(u.shape[0], &u[0], &v[0], &s[0], &c[0])
    return value, slope, curvature

"""``P_j = max(0, (A_j - mu) / D_j)`` with ``mu`` such that every row sums to one.

The level of the classes still in is ``mu = (sum A/D - 1) / sum 1/D``. Dropping the classes at or below it raises it, so
drops are final and the classes in are those above the last level: a row ends after at most k rounds, usually two or
three. The first level is ``max_j A_j - D_j``, as no class may exceed one. If rounding leaves none in, the largest ``A``
takes all.
"""

import numpy as np

cdef extern from "_waterfill.h" nogil:
    enum: SM_ROWS
    void sm_waterfill(long k, long row, long column, const double* A, const double* D, double a0, double a1,
                      double d0, double d1, double* P, double* room)


def fill(A, D, double a0=0.0, double a1=1.0, double d0=0.0, double d1=1.0):
    """The water-filled rows of ``a0 + a1 A`` and ``d0 + d1 D`` (n, k); the latter must be positive.

    Fastest, and in Fortran order like its input, if both are in Fortran order.
    """
    n, k = A.shape
    if n < SM_ROWS:  # whole groups of rows only
        repeats = np.minimum(np.arange(SM_ROWS), n - 1)
        return fill(A[repeats], D[repeats], a0, a1, d0, d1)[:n] if n else np.empty((0, k))
    by_class = A.flags.f_contiguous and D.flags.f_contiguous
    order = "F" if by_class else "C"
    out = np.empty((n, k), order=order)
    cdef const double[:, :] numerator = np.asarray(A, dtype=np.float64, order=order)
    cdef const double[:, :] denominator = np.asarray(D, dtype=np.float64, order=order)
    cdef double[:, :] P = out
    cdef double[::1] room = np.empty(2 * SM_ROWS * k)
    cdef long first = 0, last = n - SM_ROWS, n_rows = n, row = 1 if by_class else k, column = n if by_class else 1
    cdef int n_classes = k
    with nogil:
        while first < n_rows:
            first = min(first, last)  # the last group may repeat rows
            sm_waterfill(n_classes, row, column, &numerator[first, 0], &denominator[first, 0], a0, a1, d0, d1,
                         &P[first, 0], &room[0])
            first += SM_ROWS
    return out

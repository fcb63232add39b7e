"""``P_j = max(0, (A_j - mu) / D_j)`` with ``mu`` such that every row sums to one.

The level of the classes still in is ``mu = (sum A/D - 1) / sum 1/D``. Dropping the classes at or below it raises it, so
drops are final and the classes in are those above the last level: a row ends after at most k rounds, usually two or
three. The first level is ``max_j A_j - D_j``, as no class may exceed one. If rounding leaves none in, the largest ``A``
takes all.
"""

import numpy as np

from libc.math cimport INFINITY


cdef inline double larger(double x, double y) noexcept nogil:
    return x if x > y else y


def fill(const double[:, ::1] A, const double[:, ::1] D):
    """The water-filled rows of ``A`` and ``D`` (n, k); ``D`` must be positive."""
    cdef long n = A.shape[0], i
    cdef int k = A.shape[1], j, n_in, last, top, above
    cdef double level, mass, total, share
    out = np.empty((n, k))
    cdef double[:, ::1] P = out
    cdef const double* a
    cdef double* p
    with nogil:
        for i in range(n):
            a = &A[i, 0]
            p = &P[i, 0]
            level = -INFINITY
            for j in range(k):
                p[j] = 1 / D[i, j]
                level = larger(a[j] - D[i, j], level)
            last = k + 1
            while True:
                n_in = 0
                mass = 0
                total = -1
                for j in range(k):
                    above = a[j] > level
                    share = above * p[j]  # no branch: which classes are in is hard to predict
                    n_in += above
                    mass += share
                    total += share * a[j]
                if n_in >= last or n_in == 0:  # rounding may let one back in: it stays out
                    break
                level = larger(total / mass, level)
                last = n_in
            total = 0
            for j in range(k):
                p[j] *= larger(a[j] - level, 0)
                total += p[j]
            if total > 0:
                share = 1 / total
                for j in range(k):
                    p[j] *= share
            else:
                top = 0
                for j in range(k):
                    p[j] = 0
                    if a[j] > a[top]:
                        top = j
                p[top] = 1
    return out

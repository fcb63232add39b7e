"""``P_j = max(0, (A_j - mu) / D_j)`` with ``mu`` such that every row sums to one.

The level of the classes still in is ``mu = (sum A/D - 1) / sum 1/D``. Dropping the classes at or below it raises it, so
drops are final: a row ends after at most k rounds, usually two or three. The largest ``A`` of a row is never dropped.
"""

import numpy as np


def fill(const double[:, ::1] A, const double[:, ::1] D):
    """The water-filled rows of ``A`` and ``D`` (n, k); ``D`` must be positive."""
    cdef long n = A.shape[0], i
    cdef int k = A.shape[1], j, top, n_in, last
    cdef double level = 0, mass, total
    out = np.zeros((n, k))
    cdef double[:, ::1] P = out
    with nogil:
        for i in range(n):
            top = 0
            for j in range(k):
                P[i, j] = 1  # still in
                if A[i, j] > A[i, top]:
                    top = j
            last = k + 1
            n_in = k
            while n_in < last:
                last = n_in
                mass = 0
                total = -1
                for j in range(k):
                    if P[i, j] > 0:
                        mass += 1 / D[i, j]
                        total += A[i, j] / D[i, j]
                level = total / mass
                n_in = 0
                for j in range(k):
                    if P[i, j] > 0 and (A[i, j] > level or j == top):
                        n_in += 1
                    else:
                        P[i, j] = 0
            total = 0
            for j in range(k):
                if P[i, j] > 0:
                    P[i, j] = (A[i, j] - level) / D[i, j]
                    if P[i, j] < 0:
                        P[i, j] = 0
                    total += P[i, j]
            for j in range(k):
                P[i, j] /= total
    return out

"""Rounded multicategory hinge losses: the Moreau envelope of each row's loss, and sums over the rows it bends.

With the dual of ``multicategory.pyx``, the loss of a row is ``max_b lin'b - F'beta``, and its envelope around ``beta0``

    e(F) = max_b  lin'b - F'beta - q/2 |beta - beta0|^2,    q = width / cost,

is the subproblem of block ascent with ``q`` for the curvature: convex, with slope ``-beta`` and slopes that change at
a rate of ``1/q`` at most. Where the maximiser is smooth its Jacobian is

    d beta = -(I - 11'/|S|) dF / q   on a set S of classes, nothing elsewhere:

for Weston and Watkins' machine (OWN) the own class and those whose multipliers are strictly between their bounds, for
Crammer and Singer's (ZERO) the classes below their upper bound. A row bends where ``S`` has two classes or more. Few do
once scores are near the solution, and the Hessian is a sum over these alone.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.stdlib cimport free, malloc
from scipy.linalg.cython_blas cimport dgemm
from softmargin._compiled.multicategory cimport Machine, block, machine_of

OWN, ZERO = 1, 2

cdef enum:
    LINK_OWN = 1
    LINK_ZERO = 2
    BATCH = 64

cdef double ONE = 1.0


cdef int bent_set(Machine* machine, double cost, int own, int k, double* b, int* found) noexcept nogil:
    """The set ``S`` of a row; returns its size."""
    cdef int j, size = 0
    cdef double lo, hi
    for j in range(k):
        lo = cost * (machine.own_lo if j == own else machine.other_lo)
        hi = cost * (machine.own_hi if j == own else machine.other_hi)
        if lo < b[j] < hi or (j == own and machine.link == LINK_OWN):
            found[size] = j
            size += 1
    return size if size > 1 else 0


cdef bint costs_nothing(int own, int k, double* F) noexcept nogil:
    """Whether the own class leads every other by the margin 1."""
    cdef int j
    cdef double need = F[own] - 1
    for j in range(k):
        if F[j] > need and j != own:
            return False
    return True


cdef double plain_loss(Machine* machine, double cost, int own, int k, double* F) noexcept nogil:
    """The loss itself, ``max_b lin'b - F'beta``."""
    cdef int j
    cdef double total = 0, worst = 0, r
    for j in range(k):
        r = 1 - F[own] + F[j]
        if r > 0 and j != own:
            total += r
            worst = max(worst, r)
    return cost * (worst if machine.link == LINK_ZERO else total)


def envelope(double[:, ::1] F, tuple form, tuple rows, double width, tuple bent):
    """The envelope at scores ``F``, the loss, and ``lin'b - F'beta``, summed over the rows; and the rows that bend.

    ``rows`` is (cost, codes, beta0, b, beta), the last two for the maximisers; ``bent`` is (row, start, classes): the
    sets ``S`` one after the other. A row of ``beta`` that is zero for its own class must be zero.
    """
    cdef Machine machine = machine_of(form)
    cdef double[::1] cost = rows[0]
    cdef int[::1] codes = rows[1]
    cdef double[:, ::1] beta0 = rows[2], b = rows[3], beta = rows[4]
    cdef int[::1] row = bent[0], classes = bent[2]
    cdef long[::1] start = bent[1]
    cdef int k = F.shape[1], j, size, own
    cdef long n = F.shape[0], i, count = 0, filled = 0
    cdef double q, value = 0, loss = 0, gain, total = 0, away
    cdef double* work = <double*> malloc(4 * k * sizeof(double))
    if work == NULL:
        raise MemoryError("no memory for the working arrays of the envelope")
    PyErr_CheckSignals()
    with nogil:
        start[0] = 0
        for i in range(n):
            own = codes[i]
            if beta0[i, own] == 0 and costs_nothing(own, k, &F[i, 0]):
                if beta[i, own] != 0:
                    for j in range(k):
                        b[i, j] = beta[i, j] = 0
                continue
            q = width / cost[i]
            block(&machine, cost[i], own, k, q, &F[i, 0], &b[i, 0], &beta0[i, 0], work, work + k, work + 2 * k, work + 3 * k)
            gain = 0
            away = 0
            for j in range(k):
                b[i, j] = work[k + j]
                beta[i, j] = beta0[i, j] + work[j]
                gain += work[k + j] * (machine.own_lin if j == own else machine.other_lin) - F[i, j] * beta[i, j]
                away += work[j] * work[j]
            total += gain
            value += gain - 0.5 * q * away
            loss += plain_loss(&machine, cost[i], own, k, &F[i, 0])
            size = bent_set(&machine, cost[i], own, k, &b[i, 0], &classes[filled])
            if size > 0:
                row[count] = i
                filled += size
                count += 1
                start[count] = filled
    free(work)
    return value, loss, total, count


cdef void add_products(double* at, int k, int m, int* filled, const double* rows, const double* scaled) noexcept nogil:
    """Add the products of the rows that wait for one block of the Hessian, and empty their place."""
    cdef int width = k * m
    if filled[0] > 0:
        dgemm("N", "T", &m, &m, filled, &ONE, <double*> rows, &m, <double*> scaled, &m, &ONE, at, &width)
        filled[0] = 0


def hessian(const double[:, ::1] Z, double[::1] weight, tuple bent, long count, long stride, double[:, :, :, ::1] H):
    """``H[j, l] += weight (delta_jl - 1/|S|) x x'`` over the rows that bend, for ``j >= l`` in their sets.

    Every ``stride``-th row stands for as many. Rows wait until there are enough of them for a product of matrices.
    """
    cdef const int[::1] row = bent[0], classes = bent[2]
    cdef const long[::1] start = bent[1]
    cdef int k = H.shape[0], m = Z.shape[1]
    cdef long part, c, i, s, t, u, j, l, at, place
    cdef double w
    cdef int[:, ::1] filled = np.zeros((k, k), dtype=np.int32)
    cdef double[:, :, ::1] waiting = np.empty((2, k * (k + 1) // 2 * BATCH, m))
    with nogil:
        for part in range((count + stride - 1) // stride):
            c = part * stride
            i = row[c]
            for s in range(start[c], start[c + 1]):
                j = classes[s]
                for t in range(start[c], s + 1):
                    l = classes[t]
                    w = stride * weight[i] * ((s == t) - 1.0 / (start[c + 1] - start[c]))
                    place = (j * (j + 1) // 2 + l) * BATCH
                    at = place + filled[j, l]
                    for u in range(m):
                        waiting[0, at, u] = Z[i, u]
                        waiting[1, at, u] = w * Z[i, u]
                    filled[j, l] += 1
                    if filled[j, l] == BATCH:
                        add_products(&H[j, 0, l, 0], k, m, &filled[j, l], &waiting[0, place, 0], &waiting[1, place, 0])
        for j in range(k):
            for l in range(j + 1):
                place = (j * (j + 1) // 2 + l) * BATCH
                add_products(&H[j, 0, l, 0], k, m, &filled[j, l], &waiting[0, place, 0], &waiting[1, place, 0])

# One change of the sets, and the segment carried over it.
#
# Moving one u_k by s while the elbow E holds r = 0 moves u_E by s d, b by s e and r by s w, where
#     K_EE d + e = -K_Ek,   1'd = -1,   w = K_:k + K_:E d + e.
# A row that leaves E moves from its own affine function to that of its bound, one that enters moves as far as its r is
# from zero, in both coefficients of t: one product with the columns instead of two, and two solves instead of three.
# What rounding adds up is measured on the elbow before every segment, and all is made afresh with g and the factor.

include "active_set.pxi"

cdef int FEW = 32               # elbows up to this are solved afresh: that costs little, and adds no rounding up


cdef class CarriedSet(ActiveSet):
    """An active set whose segment follows a row that enters or leaves, where one is known."""

    cdef double _direction(self, int m, const double* column) noexcept nogil:
        """`p2` <- d and `along` <- w for the first m of the elbow, and e; p2 holds -K_Ek."""
        cdef int i, one = 1, whole = self.m
        cdef double unit = 1.0, e = 0.0
        self.m = m
        self._solve_bordered(&self.p2[0], -1.0, &e)
        self.m = whole
        for i in range(m):
            self.work[self.slot[i]] = self.p2[i]
        for i in range(self.n):
            self.along[i] = column[i] + e
        dgemv(b"N", &self.n, &m, &unit, &self.columns[0, 0], &self.n, &self.work[0], &one, &unit, &self.along[0], &one)
        return e

    cdef void _move(self, int m, double e, double s0, double s1) noexcept nogil:
        """The segment with u_k moved by s0 + t s1."""
        cdef int one = 1
        daxpy(&m, &s0, &self.p2[0], &one, &self.p0[0], &one)
        daxpy(&m, &s1, &self.p2[0], &one, &self.p1[0], &one)
        daxpy(&self.n, &s0, &self.along[0], &one, &self.F0[0], &one)
        daxpy(&self.n, &s1, &self.along[0], &one, &self.F1[0], &one)
        self.b0 += s0 * e
        self.b1 += s1 * e

    cdef bint _release(self, int k) noexcept nogil:
        """`_enter`, and the segment with it where it was solved."""
        cdef int i, m = self.m
        cdef bint solved = self.solved and m > FEW, summed = self.summed
        cdef double at0 = self._bound0(k), at1 = self._bound1(k), e, pivot, step0, step1
        cdef double* column = &self.columns[m, 0]
        if not self._enter(k):
            return False
        if not solved:
            return True
        for i in range(m):
            self.p2[i] = -column[self.elbow[i]]
        self.summed = summed  # the factor of the old elbow is the head of the new one
        e = self._direction(m, column)
        self.summed = False
        pivot = self.along[k]
        if pivot > STEEP * (column[k] + self.kappa):
            step0, step1 = -self.F0[k] / pivot, -self.F1[k] / pivot
            self.p0[m] = at0 + step0
            self.p1[m] = at1 + step1
            self._move(m, e, step0, step1)
            self.solved = True
        return True

    cdef void _bind(self, int pos, int side) noexcept nogil:
        """`_leave`, and the segment with it where it was solved."""
        cdef int i, k = self.elbow[pos]
        cdef bint solved = self.solved and self.m > FEW
        cdef double from0 = self.p0[pos], from1 = self.p1[pos], e
        memcpy(&self.drawn[0], &self.columns[self.slot[pos], 0], self.n * sizeof(double))
        self._leave(pos, side)
        for i in range(pos, self.m):
            self.p0[i] = self.p0[i + 1]
            self.p1[i] = self.p1[i + 1]
        if not solved:
            return
        for i in range(self.m):
            self.p2[i] = -self.drawn[self.elbow[i]]
        e = self._direction(self.m, &self.drawn[0])
        self._move(self.m, e, self._bound0(k) - from0, self._bound1(k) - from1)
        self.solved = True

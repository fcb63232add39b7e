# A quadratic by its matrix, part of descent.pyx: moves of one coordinate, and steps on the support by Cholesky's factor.


cdef class GramQuadratic(Quadratic):
    """``Q`` by its Hessian ``H`` (symmetric, C order) and its gradient at ``b``; both arrays are used in place."""

    cdef double[:, ::1] H
    cdef double[::1] grad
    cdef double shift  # in units of each curvature, which dependent columns have needed so far

    def __init__(self, double[:, ::1] H, double[::1] gradient, double[::1] b):
        self.size = b.shape[0]
        self.H, self.grad, self.b = H, gradient, b
        self.diagonal = np.array(np.diagonal(H))
        self.price = self.size

    cdef double slope(self, Py_ssize_t j) noexcept nogil:
        return self.grad[j]

    cdef void move(self, Py_ssize_t j, double step) noexcept nogil:
        cdef int one = 1, n = <int>self.size
        daxpy(&n, &step, &self.H[j, 0], &one, &self.grad[0], &one)

    def polish(self, const double[::1] cost):
        """Move within the present orthant to the minimiser on the support; a coefficient that gets to zero leaves it.

        The model decreases all the way. One factor of the support's matrix serves for all who leave: a row less is a
        few rotations, and fewest at the end, where the smallest coefficients are. A nearly singular matrix is shifted a little, which still gives steps that decrease the model.
        """
        cdef Py_ssize_t j, k, size = 0, blocked = 0
        cdef Py_ssize_t[::1] support = np.empty(self.size, dtype=np.intp)
        cdef double[::1] step = np.empty(self.size), left = np.empty(self.size), before = np.array(self.b)
        cdef double[::1] cosine = np.empty(self.size), sine = np.empty(self.size)
        cdef double[:, ::1] L
        cdef double length, limit, moved, bend, change
        cdef int one = 1, n = <int>self.size
        for j in np.argsort(-np.abs(self.b) * np.sqrt(self.diagonal), kind="stable"):
            if self.b[j] != 0 and self.diagonal[j] > 0:
                support[size] = j
                left[size] = -self.grad[j] - (cost[j] if self.b[j] > 0 else -cost[j])
                size += 1
        L = np.empty((size, size))
        if size == 0 or not self._factorise(support[:size], L):
            return
        while size > 0 and blocked >= 0:
            self._solve(L, size, left, step)
            length, blocked = 1.0, -1
            for k in range(size):
                j = support[k]
                if (self.b[j] > 0) != (self.b[j] + step[k] > 0) or self.b[j] + step[k] == 0:
                    limit = -self.b[j] / step[k]
                    if limit < length or blocked < 0:
                        length, blocked = limit, k
            for k in range(size):
                j = support[k]
                self.b[j] += length * step[k]
                left[k] += length * (self.shift * self.diagonal[j] * step[k] - left[k])
            if blocked >= 0:
                self.b[support[blocked]] = 0.0
                _leave(L, size, blocked, cosine, sine)
                size -= 1
                for k in range(blocked, size):
                    support[k], left[k] = support[k + 1], left[k + 1]
            self.work += 3.0 * size * size
            if self.work > INTERRUPTIBLE:
                self.work = 0
                PyErr_CheckSignals()
        bend = change = 0.0
        step[:] = 0.0
        with nogil:
            for j in range(self.size):
                moved = self.b[j] - before[j]
                if moved != 0:
                    daxpy(&n, &moved, &self.H[j, 0], &one, &step[0], &one)
            for j in range(self.size):
                moved = self.b[j] - before[j]
                bend += moved * step[j]
                change += moved * self.grad[j] + cost[j] * (fabs(self.b[j]) - fabs(before[j]))
            if not (bend >= 0 and change + 0.5 * bend <= 0):  # a direction that rounding has made
                self.b[:] = before
                self.shift = max(100 * self.shift, ROUNDING)
            else:
                for j in range(self.size):
                    self.grad[j] += step[j]

    cdef bint _factorise(self, const Py_ssize_t[::1] support, double[:, ::1] L):
        """Cholesky's factor of the support's matrix; shifts are in units of each curvature, as columns of 1e8 and 1 may
        stand side by side.
        """
        cdef double shift = self.shift
        cdef Py_ssize_t j, k
        cdef int n = <int>support.shape[0], failed = 1
        while failed and shift <= 1e-6:
            with nogil:
                for k in range(n):
                    for j in range(k + 1):
                        L[k, j] = self.H[support[k], support[j]]
                    L[k, k] += shift * self.diagonal[support[k]]
                dpotrf(b"U", &n, &L[0, 0], &n, &failed)
            self.shift, shift = shift, max(100 * shift, ROUNDING)
        return not failed

    cdef void _solve(self, double[:, ::1] L, Py_ssize_t size, const double[::1] right, double[::1] out) noexcept nogil:
        """``out = (L L')^-1 right`` on the first ``size`` rows."""
        cdef int n = <int>size, row = <int>L.shape[1], one = 1
        out[:size] = right[:size]
        dtrsv(b"U", b"T", b"N", &n, &L[0, 0], &row, &out[0], &one)
        dtrsv(b"U", b"N", b"N", &n, &L[0, 0], &row, &out[0], &one)


cdef void _leave(
    double[:, ::1] L, Py_ssize_t size, Py_ssize_t gone, double[::1] cosine, double[::1] sine
) noexcept nogil:
    """Cholesky's factor of the matrix without one row and its column.

    What is left of the factor has an entry beyond the diagonal in every row below; rotation i of columns i and i + 1
    takes away that of row i. The numbers of rotations are kept in ``cosine`` and ``sine``.
    """
    cdef Py_ssize_t i, k
    cdef double radius, ahead
    cdef double* row
    cdef const double* old
    for k in range(gone, size - 1):
        row, old = &L[k, 0], &L[k + 1, 0]
        for i in range(gone):
            row[i] = old[i]
        ahead = old[gone]
        for i in range(gone, k):
            row[i] = cosine[i] * ahead + sine[i] * old[i + 1]
            ahead = cosine[i] * old[i + 1] - sine[i] * ahead
        radius = hypot(ahead, old[k + 1])
        cosine[k], sine[k], row[k] = ahead / radius, old[k + 1] / radius, radius

# A growing and shrinking Cholesky factor, kept row-major: row i of the lower triangle starts at L + i * ld.
#
# append: one triangular solve, O(m^2).  delete: the rows below move up and Givens rotations restore the triangle, row
# by row so that memory is read in order, O(m^2).  BLAS reads the row-major lower triangle as a column-major upper one.

from libc.math cimport sqrt
from libc.string cimport memmove
from scipy.linalg.cython_blas cimport ddot, drotg, dtrsv


cdef inline void factor_forward(const double* L, int m, int ld, double* x) noexcept nogil:
    """x <- L^-1 x."""
    cdef int one = 1
    dtrsv(b"U", b"T", b"N", &m, <double*> L, &ld, x, &one)


cdef inline void factor_backward(const double* L, int m, int ld, double* x) noexcept nogil:
    """x <- L^-T x."""
    cdef int one = 1
    dtrsv(b"U", b"N", b"N", &m, <double*> L, &ld, x, &one)


cdef inline double factor_append(double* L, int m, int ld, double diagonal) noexcept nogil:
    """Finish row m, which holds the new cross products; returns the squared pivot (the row is complete if positive)."""
    cdef int one = 1
    cdef double* row = L + <size_t> m * ld
    cdef double pivot
    factor_forward(L, m, ld, row)
    pivot = diagonal - ddot(&m, row, &one, row, &one)
    row[m] = sqrt(pivot) if pivot > 0 else 0.0
    return pivot


cdef inline void factor_delete(double* L, int m, int ld, int k, double* cosine, double* sine) noexcept nogil:
    """Remove row and column k from an m x m factor; cosine and sine are work space of length m."""
    cdef int i, r
    cdef double left, right
    cdef double* row
    for r in range(k, m - 1):
        row = L + <size_t> r * ld
        memmove(row, L + <size_t> (r + 1) * ld, (r + 2) * sizeof(double))
        for i in range(k, r):
            left = row[i]
            right = row[i + 1]
            row[i] = cosine[i] * left + sine[i] * right
            row[i + 1] = cosine[i] * right - sine[i] * left
        left = row[r]
        right = row[r + 1]
        drotg(&left, &right, &cosine[r], &sine[r])
        row[r] = left
        if left < 0:  # keep the diagonal positive
            row[r] = -left
            cosine[r] = -cosine[r]
            sine[r] = -sine[r]
        row[r + 1] = 0.0

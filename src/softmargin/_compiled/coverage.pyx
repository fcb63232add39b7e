"""Which rows a rule covers, as bitsets, and the products a solver needs of the +-1 columns they stand for.

Rule ``t`` is the column ``h_it = +1`` on covered rows and ``-1`` elsewhere; its coverage is one bit per row (64 rows a
word, tail bits zero), so a hundred rules over a million rows take 12.5 MB.

``H' diag(d) H`` is added up by blocks of rows whose bits become doubles, eight at a time through a table of 256 rows,
for BLAS. Products take the bits of eight rules from one byte per row: ``H a`` is one table look-up for all eight
(``add_up``) and ``H'v`` the histogram of that byte (``rules.fill``).
"""

from libc.math cimport isnan, sqrt
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset
from scipy.linalg.cython_blas cimport dsyrk

__all__ = ["add_up", "cover", "gram", "rows_of", "score_rows"]

cdef enum:
    BLOCK = 512         # rows unpacked at a time: 512 x k doubles stay in cache for k of some hundreds

cdef double _bits[256][8]
cdef int _byte, _position
for _byte in range(256):
    for _position in range(8):
        _bits[_byte][_position] = (_byte >> _position) & 1


def cover(const uint8_t[::1] codes, const uint8_t[::1] accepted, uint64_t[::1] bits):
    """Keep in ``bits`` only the rows whose code is accepted (a table of 256 flags)."""
    cdef Py_ssize_t word, n = codes.shape[0]
    cdef int i, length
    cdef uint64_t keep
    cdef const uint8_t *code
    with nogil:
        for word in range(bits.shape[0]):
            if bits[word] == 0:
                continue
            code = &codes[64 * word]
            length = 64 if 64 * word + 64 <= n else <int>(n - 64 * word)
            keep = 0
            for i in range(length):
                keep |= <uint64_t>accepted[code[i]] << i
            bits[word] &= keep


def rows_of(const uint64_t[::1] bits, int32_t[::1] rows):
    """Write the covered row numbers in increasing order and return how many there are."""
    cdef Py_ssize_t word, count = 0, room = rows.shape[0]
    cdef uint64_t rest
    cdef int i
    with nogil:
        for word in range(bits.shape[0]):
            rest = bits[word]
            i = 0
            while rest != 0 and count < room:
                rows[count] = <int32_t>(64 * word + i)
                count += rest & 1
                rest >>= 1
                i += 1
    return count


def add_up(const uint8_t[:, :] groups, const double[:, ::1] tables, double[::1] out):
    """``out[i]``, the sum over the groups of ``tables[group, groups[group, i]]``; rows of ``groups`` are contiguous."""
    cdef Py_ssize_t g = 0, i, n = out.shape[0], count = groups.shape[0]
    cdef const uint8_t *c0
    cdef const uint8_t *c1
    cdef const double *t0
    cdef const double *t1
    if groups.shape[1] != n or tables.shape[0] != count or tables.shape[1] != 256 or (n > 1 and groups.strides[1] != 1):
        raise ValueError("the bytes do not fit the tables or the rows")
    if n == 0:
        return
    with nogil:
        memset(&out[0], 0, n * sizeof(double))
        while g + 2 <= count:
            c0, c1 = &groups[g, 0], &groups[g + 1, 0]
            t0, t1 = &tables[g, 0], &tables[g + 1, 0]
            for i in range(n):
                out[i] += t0[c0[i]] + t1[c1[i]]
            g += 2
        if g < count:
            c0, t0 = &groups[g, 0], &tables[g, 0]
            for i in range(n):
                out[i] += t0[c0[i]]


def gram(const uint64_t[:, ::1] bits, const double[::1] weights, double[::1, :] out):
    """``out = H' diag(weights) H`` for nonnegative weights (the upper triangle and its mirror)."""
    cdef Py_ssize_t start = 0, t, s, n = weights.shape[0]
    cdef int k = <int>bits.shape[0], rows, i
    cdef double root[BLOCK]
    cdef double *block
    if k == 0:
        return
    block = <double *>malloc(<size_t>k * BLOCK * sizeof(double))
    if block == NULL:
        raise MemoryError
    with nogil:
        while start < n:
            rows = BLOCK if start + BLOCK <= n else <int>(n - start)
            for i in range(rows):
                root[i] = sqrt(weights[start + i])
            for t in range(k):
                _unpack(&bits[t, start // 64], rows, root, block + t * BLOCK)
            _rank_update(block, k, rows, start > 0, &out[0, 0])
            start += BLOCK
        for t in range(k):
            for s in range(t):
                out[t, s] = out[s, t]
    free(block)


def score_rows(const double[:, :] X, const int32_t[::1] features, const int32_t[::1] ops, const double[::1] values,
               const int32_t[::1] starts, const double[:, ::1] points, const double[::1] base, double[:, ::1] out):
    """``out[i] = base + sum of points[t] over the rules that hold on row i``.

    Rule ``t`` is the conjunction of the literals ``starts[t]:starts[t + 1]``; a literal is (feature, op, value) with op
    0 ``<=``, 1 ``>`` and 4 "is missing"; NaN fails the first two.
    """
    cdef Py_ssize_t i, t, q, k, n = X.shape[0], n_rules = points.shape[0], channels = base.shape[0]
    cdef double x
    cdef bint holds
    if not _is_program(X.shape[1], features, ops, values, starts, points, base, out, n):
        raise ValueError("the literals do not fit the rules or the columns")
    with nogil:
        for i in range(n):
            for k in range(channels):
                out[i, k] = base[k]
            for t in range(n_rules):
                holds = True
                for q in range(starts[t], starts[t + 1]):
                    x = X[i, features[q]]
                    if ops[q] == 0:
                        holds = x <= values[q]
                    elif ops[q] == 1:
                        holds = x > values[q]
                    else:
                        holds = isnan(x)
                    if not holds:
                        break
                if holds:
                    for k in range(channels):
                        out[i, k] += points[t, k]


cdef bint _is_program(Py_ssize_t d, const int32_t[::1] features, const int32_t[::1] ops, const double[::1] values,
                     const int32_t[::1] starts, const double[:, ::1] points, const double[::1] base,
                     double[:, ::1] out, Py_ssize_t n) noexcept:
    """Whether every index of ``score_rows`` stays inside its array: programs may come from files."""
    cdef Py_ssize_t q, t, count = features.shape[0], n_rules = points.shape[0]
    if ops.shape[0] != count or values.shape[0] != count or starts.shape[0] != n_rules + 1:
        return False
    if out.shape[0] != n or out.shape[1] != base.shape[0] or points.shape[1] != base.shape[0] or starts[0] != 0:
        return False
    for t in range(n_rules):
        if starts[t + 1] < starts[t] or starts[t + 1] > count:
            return False
    for q in range(count):
        if features[q] < 0 or features[q] >= d:
            return False
    return True


cdef void _unpack(const uint64_t *bits, int rows, const double *root, double *out) noexcept nogil:
    cdef int i
    for i in range(rows):
        out[i] = (2 * _bits[(bits[i >> 6] >> (i & 56)) & 255][i & 7] - 1) * root[i]


cdef void _rank_update(double *block, int k, int rows, double keep, double *out) noexcept nogil:
    cdef int stride = BLOCK
    cdef char upper = b'U', transposed = b'T'
    cdef double one = 1
    dsyrk(&upper, &transposed, &k, &rows, &one, block, &stride, &keep, out, &k)

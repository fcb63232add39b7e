"""Histograms of signed weights over binned features, and the literal of each feature with the largest edge.

With ``g_i = c_i y_i w_i`` (one channel per class) and ``G`` its total, the rule "+1 on the rows covered, -1 elsewhere"
has the edge ``E = 2 G(covered) - G``. Features are stored as uint8 codes, one contiguous row per feature: bins or
categories first, then one code shared by unlisted categories, then one for missing values. A literal is then a set of
codes: ``<=`` a prefix of the bins, ``>`` the other bins, ``==`` one category, ``!=`` all others, and "missing" one code.

A last column of ones beside the channels of ``g`` counts the rows of every code. Signed weights may cancel, so only the
count tells an empty coverage (which is the constant, not a rule) from one whose weights sum to zero; searches ask for it
where the constant's own edge could win.

``fill`` adds up ``g`` by code for some features, ``scan`` reads every literal off prefix sums. Each feature is
summed by one thread in row order, so results do not depend on the number of threads. Scores are compared as integers
(``scale`` counts 1e-8 of the total weight) and ties go to the lowest code: rounding noise never picks a rule.
"""

from libc.math cimport fabs, isnan, llrint
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

__all__ = ["bin_column", "fill", "scan"]


def bin_column(const double[::1] values, const double[::1] edges, int missing, uint8_t[::1] codes):
    """Code of each value: the number of edges strictly below it; NaN gets the code ``missing``."""
    cdef Py_ssize_t i
    cdef int half, length, n_edges = <int>edges.shape[0]
    cdef double x
    cdef const double *low
    if values.shape[0] == 0:
        return
    with nogil:
        for i in range(values.shape[0]):
            x = values[i]
            if isnan(x):
                codes[i] = <uint8_t>missing
                continue
            low = &edges[0] if n_edges > 0 else NULL
            length = n_edges
            while length > 1:
                half = length >> 1
                low += half * (low[half - 1] < x)   # no branch to mispredict
                length -= half
            codes[i] = <uint8_t>(0 if n_edges == 0 else (low - &edges[0]) + (low[0] < x))


def fill(const uint8_t[:, ::1] codes, const int32_t[::1] rows, const double[:, ::1] g, const int32_t[::1] offsets,
         const int32_t[::1] features, double[:, ::1] hist):
    """Sum ``g`` by code for ``features``; ``rows`` (may be None) says which rows ``g`` holds.

    Every feature needs room for all its codes, ``offsets[j + 1] - offsets[j]``: one without a literal has none and
    must not be among ``features``.
    """
    cdef Py_ssize_t n = g.shape[0], width = g.shape[1], stride = codes.shape[1]
    cdef int k = 0, j, count = <int>features.shape[0]
    cdef const int32_t *row = NULL if rows is None or rows.shape[0] == 0 else &rows[0]
    cdef const uint8_t *c[4]
    cdef double *h[4]
    for k in range(count):
        j = features[k]
        if not 0 <= j < codes.shape[0] or offsets[j + 1] <= offsets[j] or offsets[j + 1] > hist.shape[0]:
            raise ValueError(f"feature {j} has no room in the histogram")
    if count == 0 or n == 0:
        for k in range(count):
            hist[offsets[features[k]]:offsets[features[k] + 1], :] = 0
        return
    with nogil:
        for k in range(count):
            j = features[k]
            memset(&hist[offsets[j], 0], 0, (offsets[j + 1] - offsets[j]) * width * sizeof(double))
        k = 0
        while width == 1 and k + 4 <= count:
            for j in range(4):
                c[j] = &codes[features[k + j], 0]
                h[j] = &hist[offsets[features[k + j]], 0]
            _fill_four(c, h, row, &g[0, 0], n)
            k += 4
        while k < count:
            _fill_one(&codes[features[k], 0], row, &g[0, 0], n, width, &hist[offsets[features[k]], 0])
            k += 1


cdef void _fill_four(const uint8_t **codes, double **hist, const int32_t *rows, const double *g, Py_ssize_t n) noexcept nogil:
    # four features at once: g is read once and the four additions do not wait for each other
    cdef const uint8_t *c0 = codes[0]
    cdef const uint8_t *c1 = codes[1]
    cdef const uint8_t *c2 = codes[2]
    cdef const uint8_t *c3 = codes[3]
    cdef double *h0 = hist[0]
    cdef double *h1 = hist[1]
    cdef double *h2 = hist[2]
    cdef double *h3 = hist[3]
    cdef Py_ssize_t i, r
    cdef double v
    if rows == NULL:
        for i in range(n):
            v = g[i]
            h0[c0[i]] += v
            h1[c1[i]] += v
            h2[c2[i]] += v
            h3[c3[i]] += v
    else:
        for i in range(n):
            v = g[i]
            r = rows[i]
            h0[c0[r]] += v
            h1[c1[r]] += v
            h2[c2[r]] += v
            h3[c3[r]] += v


cdef void _fill_one(const uint8_t *codes, const int32_t *rows, const double *g, Py_ssize_t n, Py_ssize_t width,
                    double *hist) noexcept nogil:
    cdef Py_ssize_t i, k
    cdef double *cell
    for i in range(n):
        cell = hist + <Py_ssize_t>codes[i if rows == NULL else rows[i]] * width
        for k in range(width):
            cell[k] += g[i * width + k]


cdef int64 score_of(const Criterion *rule, const double *covered) noexcept nogil:
    """|E| summed over channels as an integer; -1 when no row is covered, where rows are counted."""
    cdef double edge = 0
    cdef int k
    if rule.width > rule.channels and covered[rule.channels] < 0.5:
        return -1
    for k in range(rule.channels):
        edge += fabs(2 * covered[k] - rule.total[k])
    return llrint(edge * rule.scale)


cdef inline void _offer(Choice *best, int64 score, int code) noexcept nogil:
    if score > best.score:
        best.score = score
        best.code = code


cdef void read_feature(const double *hist, const Feature *feature, const Criterion *rule, Choice *best, double *work) noexcept nogil:
    """The best literal of each of the three shapes; ``work`` has room for 3 x width."""
    cdef int k, v, K = rule.width, listed = feature.n_values + feature.n_other
    cdef double *present = work
    cdef double *below = work + K
    cdef double *above = work + 2 * K
    for v in range(3):
        best[v].score = -1
        best[v].code = -1
    for k in range(K):
        present[k] = 0
        below[k] = 0
        for v in range(listed):
            present[k] += hist[v * K + k]
    if feature.categorical:
        for v in range(feature.n_values if listed > 1 or feature.missing >= 0 else 0):
            _offer(&best[0], score_of(rule, hist + v * K), v)
            if listed > 2:
                for k in range(K):
                    above[k] = present[k] - hist[v * K + k]
                _offer(&best[1], score_of(rule, above), v)
    else:
        for v in range(feature.n_values - 1):
            for k in range(K):
                below[k] += hist[v * K + k]
                above[k] = present[k] - below[k]
            _offer(&best[0], score_of(rule, below), v)
            _offer(&best[1], score_of(rule, above), v)
    if feature.missing >= 0 and listed > 0:
        _offer(&best[2], score_of(rule, hist + feature.missing * K), feature.missing)


def scan(const double[:, ::1] hist, const int32_t[::1] offsets, const int32_t[:, ::1] features,
         const double[::1] total, double scale, long long[:, ::1] scores, int32_t[:, ::1] best_codes):
    """Best score and code of the literal shapes (<= or ==, > or !=, missing) of every feature; score -1: none."""
    cdef int j, shape, d = <int>features.shape[0]
    cdef Feature feature
    cdef Criterion rule
    cdef Choice best[3]
    cdef double *work
    if d == 0:
        return
    work = <double *>malloc(3 * hist.shape[1] * sizeof(double))
    if work == NULL:
        raise MemoryError
    rule.channels = <int>total.shape[0]
    rule.width = <int>hist.shape[1]
    rule.total = &total[0]
    rule.scale = scale
    with nogil:
        for j in range(d):
            feature.n_values = features[j, 0]
            feature.n_other = features[j, 1]
            feature.categorical = features[j, 2]
            feature.missing = features[j, 3]
            if offsets[j + 1] > offsets[j]:
                read_feature(&hist[offsets[j], 0], &feature, &rule, best, work)
            else:
                for shape in range(3):
                    best[shape].score = -1
                    best[shape].code = -1
            for shape in range(3):
                scores[j, shape] = best[shape].score
                best_codes[j, shape] = best[shape].code
    free(work)

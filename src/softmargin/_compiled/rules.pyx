"""Histograms of signed weights over binned features, and the literal of each feature with the largest edge.

With ``g_i = c_i y_i w_i`` (one channel per class) and ``G`` its total, the rule "+1 on the rows covered, -1 elsewhere"
has the edge ``E = 2 G(covered) - G``. Features are stored as uint8 codes, one contiguous row per feature: bins or
categories first, then one code shared by unlisted categories, then one for missing values. A literal is then a set of
codes: ``<=`` a prefix of the bins, ``>`` the other bins, ``==`` one category, ``!=`` all others, and "missing" one code.

``fill`` adds up ``g`` by code for a block of features, ``scan`` reads every literal off prefix sums. Each feature is
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
         int first, int last, double[:, ::1] hist):
    """Sum ``g`` by code for the features ``first`` to ``last``; ``rows`` (may be None) says which rows ``g`` holds."""
    cdef Py_ssize_t n = g.shape[0], channels = g.shape[1]
    cdef int j
    cdef const int32_t *row = NULL if rows is None or rows.shape[0] == 0 else &rows[0]
    if n == 0:
        hist[offsets[first]:offsets[last], :] = 0
        return
    with nogil:
        memset(&hist[offsets[first], 0], 0, (offsets[last] - offsets[first]) * channels * sizeof(double))
        j = first
        if channels == 1:
            while j + 4 <= last:
                _fill_four(&codes[j, 0], codes.shape[1], row, &g[0, 0], n, &offsets[j], &hist[0, 0])
                j += 4
        while j < last:
            _fill_one(&codes[j, 0], row, &g[0, 0], n, channels, &hist[offsets[j], 0])
            j += 1


cdef void _fill_four(const uint8_t *codes, Py_ssize_t stride, const int32_t *rows, const double *g, Py_ssize_t n,
                     const int32_t *offsets, double *hist) noexcept nogil:
    # four features at once: g is read once and the four additions do not wait for each other
    cdef const uint8_t *c0 = codes
    cdef const uint8_t *c1 = codes + stride
    cdef const uint8_t *c2 = codes + 2 * stride
    cdef const uint8_t *c3 = codes + 3 * stride
    cdef double *h0 = hist + offsets[0]
    cdef double *h1 = hist + offsets[1]
    cdef double *h2 = hist + offsets[2]
    cdef double *h3 = hist + offsets[3]
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


cdef void _fill_one(const uint8_t *codes, const int32_t *rows, const double *g, Py_ssize_t n, Py_ssize_t channels,
                    double *hist) noexcept nogil:
    cdef Py_ssize_t i, k
    cdef double *cell
    for i in range(n):
        cell = hist + <Py_ssize_t>codes[i if rows == NULL else rows[i]] * channels
        for k in range(channels):
            cell[k] += g[i * channels + k]


cdef int64 score_of(const Criterion *rule, const double *covered) noexcept nogil:
    """|E| summed over channels as an integer; -1 when the coverage weighs nothing (an empty rule is the constant)."""
    cdef double weight = 0, edge = 0
    cdef int k
    for k in range(rule.channels):
        weight += fabs(covered[k])
        edge += fabs(2 * covered[k] - rule.total[k])
    return -1 if weight <= rule.empty else llrint(edge * rule.scale)


cdef inline void _offer(Choice *best, int64 score, int code) noexcept nogil:
    if score > best.score:
        best.score = score
        best.code = code


cdef void read_feature(const double *hist, const Feature *feature, const Criterion *rule, Choice *best, double *work) noexcept nogil:
    """The best literal of each of the three shapes; ``work`` has room for 3 x channels."""
    cdef int k, v, K = rule.channels, listed = feature.n_values + feature.n_other
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
         const double[::1] total, double empty, double scale, long long[:, ::1] scores, int32_t[:, ::1] best_codes):
    """Best score and code of the literal shapes (<= or ==, > or !=, missing) of every feature; score -1: none."""
    cdef int j, shape, d = <int>features.shape[0]
    cdef Feature feature
    cdef Criterion rule
    cdef Choice best[3]
    cdef double *work
    if d == 0:
        return
    work = <double *>malloc(3 * total.shape[0] * sizeof(double))
    if work == NULL:
        raise MemoryError
    rule.channels = <int>total.shape[0]
    rule.total = &total[0]
    rule.empty = empty
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
            for shape in range(3):
                scores[j, shape] = best[shape].score
                best_codes[j, shape] = best[shape].code
    free(work)

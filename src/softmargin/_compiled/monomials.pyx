"""The best conjunction of literals, exactly.

``best_pair`` (exhaustive, two literals): the joint histogram of two features holds the signed weight of every pair of
bins. Adding its rows up literal by literal of the first feature leaves a histogram of the second, which is read like
any other: O(n) per pair of features for the sums, independent of how many literals there are. From ``<= c`` and
``> c`` to the next code one row of the joint histogram joins or leaves.

``best_monomial`` (branch and bound, any length): depth first over literals in increasing order. If ``P`` and ``N`` are
the sums of the positive and of the absolute negative ``g`` over the rows still covered, every refinement has
``|E| <= max(|2 P - G|, |2 N + G|)`` (summed over channels), so a branch that cannot beat the best edge known is cut.
A histogram split by the sign of ``g`` gives both the score and the bound of every child for one pass over the rows.
Both serve signals: between pairs of features, and every few branches.

Literals are numbered (feature, op, code) with op 0 ``<=``, 1 ``>``, 2 ``==``, 3 ``!=``, 4 missing; a monomial is a
row of such triples, -1 where unused. Equal scores (see ``rules``) keep the monomial found first in this order.
"""

from libc.math cimport fabs, fmax, llrint
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from softmargin._compiled.rules cimport Choice, Criterion, Feature, int64, read_feature, score_of

__all__ = ["best_monomial", "best_pair"]

cdef extern from "Python.h":
    int check_signals "PyErr_CheckSignals"()

cdef enum:
    NO_MEMORY = 1
    INTERRUPTED = 2
    BRANCHES = 64   # between two looks at the signals


cdef int _raise_pending() except -1:
    """Let the error that a signal handler has set take its course."""
    return -1


cdef Feature _feature(const int32_t[:, ::1] features, int j) noexcept nogil:
    cdef Feature feature
    feature.n_values = features[j, 0]
    feature.n_other = features[j, 1]
    feature.categorical = features[j, 2]
    feature.missing = features[j, 3]
    return feature


cdef bint _has_literal(const Feature *f, int op, int code) noexcept nogil:
    """Whether the grammar holds the literal: the same one that ``read_feature`` reads."""
    cdef int listed = f.n_values + f.n_other
    if op == 4:
        return f.missing >= 0 and code == f.missing and listed > 0
    if f.categorical:
        if op == 2:
            return code < f.n_values and (listed > 1 or f.missing >= 0)
        return op == 3 and code < f.n_values and listed > 2
    return op < 2 and code < f.n_values - 1


cdef bint _accepts(const Feature *f, int op, int code, int value) noexcept nogil:
    if value == f.missing:
        return op == 4
    if op == 0:
        return value <= code
    if op == 1:
        return value > code
    if op == 2:
        return value == code
    return op == 3 and value != code


def best_pair(const uint8_t[:, ::1] codes, const int32_t[::1] rows, const double[:, ::1] g,
              const int32_t[::1] offsets, const int32_t[:, ::1] features, const double[::1] total,
              double scale, int first, int last, int32_t[:, ::1] best):
    """The best two literals, the first of them on the features ``first`` to ``last``; returns the score, -1 if none."""
    cdef Py_ssize_t n = g.shape[0]
    cdef int K = <int>g.shape[1], a, b, width_a, width_b, d = <int>features.shape[0], op, code, shape, failed = 0
    cdef int64 score = -1
    cdef Feature fa, fb
    cdef Criterion rule
    cdef Choice choice[3]
    cdef double *joint
    cdef double *line
    cdef const int32_t *row = NULL if rows is None or rows.shape[0] == 0 else &rows[0]
    if n == 0:
        return -1
    joint = <double *>malloc(<size_t>65536 * K * sizeof(double))
    line = <double *>malloc((256 + 3) * K * sizeof(double))
    if joint == NULL or line == NULL:
        free(joint)
        free(line)
        raise MemoryError
    rule.channels = <int>total.shape[0]
    rule.width = K
    rule.total = &total[0]
    rule.scale = scale
    with nogil:
        for a in range(first, last):
            width_a = offsets[a + 1] - offsets[a]
            fa = _feature(features, a)
            for b in range(a, d if width_a > 0 and failed == 0 else a):
                width_b = offsets[b + 1] - offsets[b]
                if width_b == 0 or failed:
                    continue
                with gil:
                    failed = INTERRUPTED if check_signals() else 0
                fb = _feature(features, b)
                _joint(&codes[a, 0], &codes[b, 0], row, &g[0, 0], n, K, width_a, width_b, joint)
                for op in range(5):
                    for code in range(width_a):
                        _next_sums(&fa, op, code, width_a, joint, width_b * K, line)
                        if not _has_literal(&fa, op, code):
                            continue
                        read_feature(line, &fb, &rule, choice, line + 256 * K)
                        for shape in range(3):
                            if choice[shape].score > score:
                                score = choice[shape].score
                                best[0, 0] = a
                                best[0, 1] = op
                                best[0, 2] = code
                                best[1, 0] = b
                                best[1, 1] = 4 if shape == 2 else shape + 2 * fb.categorical
                                best[1, 2] = choice[shape].code
    free(joint)
    free(line)
    if failed:
        _raise_pending()
    return score


cdef void _next_sums(const Feature *f, int op, int code, int width, const double *rows, int length,
                     double *sums) noexcept nogil:
    """Sums of the rows (of ``length`` numbers, one per value) the literal keeps, from those of the code before."""
    cdef int value
    if f.categorical or op > 1:
        memset(sums, 0, length * sizeof(double))
        for value in range(width if _has_literal(f, op, code) else 0):
            if _accepts(f, op, code, value):
                _add(sums, rows + value * length, length, 1.0)
        return
    if code == 0:
        memset(sums, 0, length * sizeof(double))
        for value in range(1, width if op == 1 else 1):
            if value != f.missing:
                _add(sums, rows + value * length, length, 1.0)
    if code != f.missing and (op == 0 or code > 0):
        _add(sums, rows + code * length, length, 1.0 if op == 0 else -1.0)


cdef inline void _add(double *total, const double *part, int length, double sign) noexcept nogil:
    cdef int i
    for i in range(length):
        total[i] += sign * part[i]


cdef void _joint(const uint8_t *a, const uint8_t *b, const int32_t *rows, const double *g, Py_ssize_t n, int K,
                 int width_a, int width_b, double *joint) noexcept nogil:
    cdef Py_ssize_t i, r
    cdef int k
    cdef double *cell
    memset(joint, 0, <size_t>width_a * width_b * K * sizeof(double))
    for i in range(n):
        r = i if rows == NULL else rows[i]
        cell = joint + (<Py_ssize_t>a[r] * width_b + b[r]) * K
        for k in range(K):
            cell[k] += g[i * K + k]


cdef struct Tree:
    const uint8_t *codes
    Py_ssize_t stride
    const int32_t *offsets
    const double *g
    int n_features
    int max_literals
    int64 best_score
    int32_t *best           # (max_literals, 3): the best monomial so far
    int32_t *path           # (max_literals, 3): the monomial being refined
    Criterion rule
    long long n_nodes


def best_monomial(const uint8_t[:, ::1] codes, const double[:, ::1] g, const int32_t[::1] offsets,
                  const int32_t[:, ::1] features, const double[::1] total, double scale,
                  int max_literals, long long incumbent, int32_t[:, ::1] best):
    """Write the best monomial of at most ``max_literals`` literals that beats the score ``incumbent``.

    Returns (score, nodes visited); the score is ``incumbent`` and ``best`` untouched when nothing beats it.
    """
    cdef Tree tree
    cdef Py_ssize_t i, n = codes.shape[1]
    cdef int failed
    cdef int32_t *rows
    if n == 0 or features.shape[0] == 0:
        return incumbent, 0
    rows = <int32_t *>malloc(n * sizeof(int32_t))
    tree.path = <int32_t *>malloc(3 * max_literals * sizeof(int32_t))
    if rows == NULL or tree.path == NULL:
        free(rows)
        free(tree.path)
        raise MemoryError
    tree.codes = &codes[0, 0]
    tree.stride = n
    tree.offsets = &offsets[0]
    tree.g = &g[0, 0]
    tree.n_features = <int>features.shape[0]
    tree.max_literals = max_literals
    tree.best_score = incumbent
    tree.best = &best[0, 0]
    tree.rule.channels = <int>total.shape[0]
    tree.rule.width = <int>g.shape[1]
    tree.rule.total = &total[0]
    tree.rule.scale = scale
    tree.n_nodes = 0
    with nogil:
        for i in range(n):
            rows[i] = <int32_t>i
        failed = _grow(&tree, features, rows, n, 0, 0, 0)
    free(rows)
    free(tree.path)
    if failed == INTERRUPTED:
        _raise_pending()
    if failed:
        raise MemoryError
    return tree.best_score, tree.n_nodes


cdef int _grow(Tree *tree, const int32_t[:, ::1] features, const int32_t *rows, Py_ssize_t n, int depth, int first,
               int first_op) noexcept nogil:
    """Try every literal on feature ``first`` or later (there, op ``first_op`` or later) on top of ``tree.path``."""
    cdef int K = tree.rule.width, j, op, code, width, k, failed = 0
    cdef Py_ssize_t kept
    cdef int64 score
    cdef Feature f
    cdef int32_t *inside = <int32_t *>malloc(n * sizeof(int32_t))
    cdef double *hist = <double *>malloc(2 * 256 * K * sizeof(double))
    cdef double *sums = <double *>malloc(3 * K * sizeof(double))
    cdef bint last = depth + 1 == tree.max_literals
    if inside == NULL or hist == NULL or sums == NULL:
        failed = NO_MEMORY
    tree.n_nodes += 1
    if tree.n_nodes % BRANCHES == 0 and failed == 0:
        with gil:
            failed = INTERRUPTED if check_signals() else 0
    for j in range(first, tree.n_features if failed == 0 else first):
        width = tree.offsets[j + 1] - tree.offsets[j]
        if width == 0 or failed:
            continue
        f = _feature(features, j)
        _signed_histogram(tree.codes + j * tree.stride, rows, n, tree.g, K, width, hist)
        for op in range(first_op if j == first and depth > 0 else 0, 5):
            for code in range(width):
                _next_sums(&f, op, code, width, hist, 2 * K, sums)
                if not _has_literal(&f, op, code) or (j == first and depth > 0 and op == first_op and
                                                      (op != 3 or code <= tree.path[3 * depth - 1])):
                    continue    # two literals of one shape on one feature say no more than one, except !=
                for k in range(K):
                    sums[2 * K + k] = sums[2 * k] - sums[2 * k + 1]
                tree.path[3 * depth] = j
                tree.path[3 * depth + 1] = op
                tree.path[3 * depth + 2] = code
                score = score_of(&tree.rule, sums + 2 * K)
                if score > tree.best_score:
                    tree.best_score = score
                    memcpy(tree.best, tree.path, 3 * (depth + 1) * sizeof(int32_t))
                    for k in range(depth + 1, tree.max_literals):
                        tree.best[3 * k] = -1
                if last or _bound(&tree.rule, sums) <= tree.best_score:
                    continue
                kept = _filter(&f, op, code, tree.codes + j * tree.stride, rows, n, inside)
                if 0 < kept < n and failed == 0:
                    failed = _grow(tree, features, inside, kept, depth + 1, j, op)
    free(inside)
    free(hist)
    free(sums)
    return failed


cdef void _signed_histogram(const uint8_t *codes, const int32_t *rows, Py_ssize_t n, const double *g, int K, int width,
                            double *hist) noexcept nogil:
    cdef Py_ssize_t i
    cdef int k
    cdef double v
    memset(hist, 0, 2 * width * K * sizeof(double))
    for i in range(n):
        for k in range(K):
            v = g[<Py_ssize_t>rows[i] * K + k]
            hist[2 * (codes[rows[i]] * K + k) + (v < 0)] += fabs(v)


cdef int64 _bound(const Criterion *rule, const double *sums) noexcept nogil:
    cdef int k
    cdef double edge = 0
    for k in range(rule.channels):
        edge += fmax(fabs(2 * sums[2 * k] - rule.total[k]), fabs(2 * sums[2 * k + 1] + rule.total[k]))
    return llrint(edge * rule.scale)


cdef Py_ssize_t _filter(const Feature *f, int op, int code, const uint8_t *codes, const int32_t *rows, Py_ssize_t n,
                        int32_t *inside) noexcept nogil:
    cdef uint8_t accepted[256]
    cdef Py_ssize_t i, kept = 0
    cdef int value
    for value in range(256):
        accepted[value] = _accepts(f, op, code, value)
    for i in range(n):
        inside[kept] = rows[i]
        kept += accepted[codes[rows[i]]]
    return kept

"""Weighted sums over the rows of a CSR matrix: what second-order steps ask of sparse features.

    gram:           sum_i w_i x_i x_i'    (p x p, dense),        sum_i nnz_i^2 / 2 multiplications
    squared_norms:  sum_i w_i x_ij^2      for each column j,     one multiplication per entry
    bent_product:   sum_i w_i x_i x_i'd   and the scores x_i'd,  two multiplications per entry
    has_repeats:    whether an entry is stored in two parts

Rows of zero weight cost nothing. Indices must be without repeats within each row, and sorted for the Gram matrix, so
that a row touches the upper triangle only, in order. Sums are made in float64 whatever the data. Interrupts are served between blocks of rows.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals

__all__ = ["bent_product", "gram", "has_repeats", "squared_norms"]

DEF INTERRUPTIBLE = 50000000

ctypedef fused real:
    float
    double


def gram(const real[::1] data, const int[::1] indices, const int[::1] indptr, const double[::1] weights, Py_ssize_t p):
    """``X' diag(weights) X`` as a symmetric array."""
    out = np.zeros((p, p))
    cdef double[:, ::1] G = out
    cdef Py_ssize_t i, n = indptr.shape[0] - 1, work = 0
    cdef int a, b, first, last
    cdef double w, wx
    cdef double* row
    if n == 0 or p == 0 or data.shape[0] == 0:
        return out
    with nogil:
        for i in range(n):
            w = weights[i]
            if w == 0:
                continue
            first, last = indptr[i], indptr[i + 1]
            for a in range(first, last):
                wx = w * data[a]
                row = &G[indices[a], 0]
                for b in range(a, last):
                    row[indices[b]] += wx * data[b]
            work += (last - first) * (last - first)
            if work > INTERRUPTIBLE:
                work = 0
                with gil:
                    PyErr_CheckSignals()
    diagonal = np.diagonal(out).copy()
    out += np.triu(out, 1).T
    np.fill_diagonal(out, diagonal)
    return out


def squared_norms(
    const real[::1] data, const int[::1] indices, const int[::1] indptr, const double[::1] weights, Py_ssize_t p
):
    """``sum_i weights_i X_ij^2`` of each column."""
    out = np.zeros(p)
    cdef double[::1] total = out
    cdef Py_ssize_t i, n = indptr.shape[0] - 1
    cdef int a
    cdef double w
    with nogil:
        for i in range(n):
            w = weights[i]
            if w == 0:
                continue
            for a in range(indptr[i], indptr[i + 1]):
                total[indices[a]] += w * data[a] * data[a]
    return out


def bent_product(
    const real[::1] data, const int[::1] indices, const int[::1] indptr, const double[::1] weights,
    const double[::1] direction, double shift
):
    """``s = X d``, ``X'(W (s + shift))`` and the sum of ``W (s + shift)``: each row is read once, not twice."""
    cdef Py_ssize_t i, n = indptr.shape[0] - 1
    scores, image = np.empty(n), np.zeros(direction.shape[0])
    cdef double[::1] s = scores
    cdef double[::1] out = image
    cdef int a
    cdef double score, flow, total = 0.0
    with nogil:
        for i in range(n):
            score = 0.0
            for a in range(indptr[i], indptr[i + 1]):
                score += data[a] * direction[indices[a]]
            s[i] = score
            flow = weights[i] * (score + shift)
            total += flow
            for a in range(indptr[i], indptr[i + 1]):
                out[indices[a]] += flow * data[a]
    return scores, image, total


def has_repeats(const int[::1] indices, const int[::1] indptr, Py_ssize_t p):
    """Whether a column is named twice within a row."""
    cdef int[::1] seen = np.full(p, -1, dtype=np.int32)
    cdef Py_ssize_t i, n = indptr.shape[0] - 1
    cdef int a
    with nogil:
        for i in range(n):
            for a in range(indptr[i], indptr[i + 1]):
                if seen[indices[a]] == i:
                    with gil:
                        return True
                seen[indices[a]] = <int> i
    return False

"""Where one algorithm for ridge problems becomes cheaper than another, and where that is measured.

Prices are nanoseconds on one core of a current x86 processor; only their ratios matter. They are estimates from single
fits (logistic loss; a9a, w8a, sylva, news20 and dense Gaussian tables); ``python -m benchmarks thresholds`` times both
ways around the constants below, and the topics smooth and real race what they choose against other libraries. Near a
threshold both ways cost about the same, so a price that is wrong by a factor of two costs little.
"""

from __future__ import annotations

from softmargin.expansions import Expansion

__all__ = [
    "CHEAP_FACTOR",
    "FEW_ROWS",
    "LEAST_SHARE",
    "MANY_ROWS",
    "MOST_SHARE",
    "ROWS_PER_COLUMN",
    "SAMPLE_PER_COLUMN",
    "SINGLE_PRECISION",
    "STEEP",
    "prefers_factor",
    "prefers_rows",
    "products_per_factor",
]

# (``python -m benchmarks thresholds``)
_DENSE_LIMIT = 3000  # rows or columns: a dense factor of that size takes as long as 30 products with 3000 x 30000 data
_ENTRY = 1.2  # a stored entry in a product with sparse features, each way
_PAIR = 0.5  # a pair of entries of one sparse row in a Hessian
_PIVOT = 0.015  # p^3 of these make a Cholesky factor
_PRODUCTS = 30  # pairs of products conjugate gradients need for a step (median over the sparse sets named above)

# A new factor up to so many multiplications costs no more than the rest of a Newton step: it is made at every step
# (``python -m benchmarks thresholds``).
CHEAP_FACTOR = 3e7
# Beyond, a kernel's factor in single precision halves its time; STEEP is the largest eigenvalue beside 1 at which it
# still has digits to spare (``python -m benchmarks thresholds``).
SINGLE_PRECISION, STEEP = 2.5e7, 1e5
# From so many rows, and so many per column, a fit of a sample pays as a start: reading all rows is then the price
# (``python -m benchmarks thresholds``).
MANY_ROWS, ROWS_PER_COLUMN = 8000, 50
# The sample has so many rows per column, since its Hessian errs by the root of columns per row, within these shares of
# all rows. (Ten thousand to 160000 rows of 5 to 100 columns: 27 rows per column take as long as 40, 15 a half more.)
SAMPLE_PER_COLUMN, LEAST_SHARE, MOST_SHARE = 40, 0.04, 0.1
# Up to so many rows nonconvex fits settle scores to tol and take Newton steps whole or not at all: which of several
# minima is found is then decided by the method and not by rounding (``benchmarks robust``).
FEW_ROWS = 1000


def prefers_rows(expansion: Expansion) -> bool:
    """Whether features are better seen through the inner products of their rows: more columns than (few) rows."""
    n, p = expansion.shape
    if p <= n:
        return False
    if expansion.is_sparse:
        return prefers_factor(expansion)
    return n <= _DENSE_LIMIT


def prefers_factor(expansion: Expansion) -> bool:
    """Whether a factor of the smaller of ``Phi'W Phi`` and ``Phi Phi'`` costs less than conjugate gradients."""
    if not expansion.is_sparse:
        return min(expansion.shape) <= _DENSE_LIMIT
    return products_per_factor(expansion) <= _PRODUCTS


def products_per_factor(expansion: Expansion) -> float:
    """How many pairs of products with sparse features cost as much as a factor."""
    n, entries = expansion.shape[0], max(expansion.n_stored, 1)
    return (_PAIR * entries * entries / (2 * max(n, 1)) + _PIVOT * min(expansion.shape) ** 3) / (2 * _ENTRY * entries)

"""The second-order model of a problem on a few columns, and its exact elastic-net minimiser.

At the present point the data term has slopes ``g`` and curvatures ``h`` in each score. On the columns ``M = Phi_A``

    minimise over (b, a):  g'd + 1/2 d' diag(h) d + ridge/2 |b|^2 + sum_j l_j |b_j|,    d = M (b - b_0) + a

(``b'K b`` in place of ``|b|^2`` for kernel columns). The intercept ``a`` is eliminated, so column means never slow the
descent. ``GramModel`` forms ``H = M' diag(h) M`` and is preferred for dense columns unless there are many more columns
than rows, and for the sparse columns of a small table; ``ResidualModel`` never does. Sweeps find the support; on a Gram
matrix the support's linear system then gives the rest at once: steps towards the minimiser within the orthant decrease
the model up to the first sign change, where that coefficient leaves the support. Sweeps and such steps alternate until
a full sweep certifies the point.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin._compiled.descent import DenseQuadratic, GramQuadratic, SparseQuadratic, descend
from softmargin.expansions import Expansion

__all__ = ["Columns", "GramModel", "ResidualModel", "Target"]

Array = NDArray[np.floating[Any]]

_MOST = 10  # times the entries of a sparse set: if that is all there are, measuring all costs little more
# products with all columns that a Gram matrix costs: measuring all costs little more (half the steps, higgs)
_DEAR = 10
# Beyond this many columns a Gram matrix costs more than it saves (``python -m benchmarks thresholds`` times both ways
# on columns that share factors: of independent ones residuals take a third of the time, of repeated ones 270 times).
_GRAM_COLUMNS = 2000
_FEW_COLUMNS = 200  # whose Gram matrix costs little, however few the rows are
# Entries of which a dense copy costs no more than the calls around a step: sparse columns then have a Gram matrix too,
# whose support is solved for where sweeps over dependent columns would crawl.
_SMALL = 2**15
_FULL = 0.1  # of the entries of few columns stored: they cost no more dense
_BENT = 0.9  # of the rows, up to which a copy of those that bend costs less than the products of the others
_GRAM_PRECISION = 1e-2
_RESIDUAL_PRECISION = 1e-1
_SWEEPS_PER_POLISH = 1 / 8  # times the number of columns: about the price of a Cholesky factorisation
_MOST_SWEEPS = 24  # sweeps wait for memory where a factorisation does not (2438 kernel columns in half the time)
_SWEEPS = 2000
_POLISHES, _FEW_POLISHES = 50, 10  # ten do, unless rounding of the matrix leaves nothing to end at; of large ones
_EQUAL = 100.0  # times the last digit of their mean: entries of a column that differ by no more are equal


class Target(NamedTuple):
    """A minimiser of the model: coefficients on the columns, and the shift of the intercept."""

    coef: Array
    shift: float


class Model(Protocol):
    """A model that can be minimised from ``coef`` for given l1 costs."""

    def minimise(self, coef: Array, cost: Array, positive: bool, violation: Array) -> Target: ...


class Columns:
    """The columns ``A`` of an expansion, gathered once, with everything a model of them needs.

    ``measures`` says that a step on them costs so much that all columns may be looked at after each.
    """

    def __init__(self, expansion: Expansion, index: NDArray[np.intp], ridge: float, fit_intercept: bool) -> None:
        self.index, self.ridge, self.fit_intercept = index, ridge, fit_intercept
        M = expansion.columns(index)
        entries = M.shape[0] * M.shape[1]
        full = sparse.issparse(M) and M.nnz > _FULL * entries and len(index) <= _FEW_COLUMNS
        self.M = M.toarray() if full or (sparse.issparse(M) and entries <= _SMALL) else M
        self.is_kernel = expansion.is_kernel
        if sparse.issparse(self.M):
            self.measures = _MOST * self.M.nnz > expansion.n_stored
        else:
            self.measures = len(index) ** 2 > _DEAR * expansion.shape[1]
        self._seen: tuple[Array, Curvature] | None = None

    def apply(self, step: Array) -> Array:
        """``M step`` in float64."""
        return np.asarray(self.M @ step.astype(self.M.dtype, copy=False)).astype(np.float64, copy=False)

    def transpose(self, r: Array) -> Array:
        """``M' r`` in float64."""
        return np.asarray(self.M.T @ r.astype(self.M.dtype, copy=False)).astype(np.float64, copy=False)

    def gradient(self, g: Array, coef: Array, scores: Array) -> Array:
        """The derivative of the smooth part in each of these coefficients; ``scores`` is ``Phi beta``."""
        size = scores[self.index] if self.is_kernel else coef[self.index]
        return self.transpose(g) + self.ridge * size

    def model(self, g: Array, h: Array, coef: Array, scores: Array) -> Model:
        """The cheaper of the two forms."""
        n, k = self.M.shape
        if self.is_kernel or not (sparse.issparse(self.M) or k > max(min(2 * n, _GRAM_COLUMNS), _FEW_COLUMNS)):
            return self.curvature(h).model(1.0, float(g.sum()), self.gradient(g, coef, scores))
        return ResidualModel(self.M, g, h, self.ridge, self.fit_intercept)

    def curvature(self, h: Array) -> Curvature:
        """The curvature of the data term along these columns; squares keep theirs from step to step."""
        if self._seen is None or not np.array_equal(self._seen[0], h):
            self._seen = h, self._curvature(h)
        return self._seen[1]

    def _curvature(self, h: Array) -> Curvature:
        metric = self.ridge * self.M[self.index] if self.is_kernel else self.ridge
        root, M = np.sqrt(h).astype(self.M.dtype, copy=False)[:, None], self.M
        bent = np.flatnonzero(root)
        if len(bent) < _BENT * len(root):  # rows that a capped loss gave up
            root, M = root[bent], M[bent]
        if not self.fit_intercept:
            scaled = M * root
            return Curvature(np.ascontiguousarray(scaled.T @ scaled, dtype=np.float64), metric, None, 0.0)
        moment, mass = self.transpose(h), float(h.sum())
        mean = (moment / mass).astype(self.M.dtype, copy=False)
        scaled = (M - mean) * root  # before the product: columns far from zero would lose the digits that differ
        H = np.ascontiguousarray(scaled.T @ scaled, dtype=np.float64)
        flat = np.diagonal(H) <= (_EQUAL * np.finfo(self.M.dtype).eps * mean.astype(np.float64)) ** 2 * mass
        if flat.any():  # a constant column is the intercept itself
            H[flat] = 0.0
            H[:, flat] = 0.0
        return Curvature(H, metric, moment, mass)


class Curvature(NamedTuple):
    """The Hessian ``M' diag(h) M`` with the intercept eliminated, the ridge's part, ``M'h`` and ``sum h``."""

    data: Array
    ridge: Array | float
    moment: Array | None
    mass: float

    def model(self, C: float, drift: float, gradient: Array) -> GramModel:
        """The model whose curvatures are ``C`` times those seen here, at a point with ``sum g = drift``."""
        H = C * self.data
        if np.ndim(self.ridge) == 0:
            H.flat[:: len(H) + 1] += self.ridge
        else:
            H += self.ridge
        if self.moment is None:
            return GramModel(H, gradient, None, 0.0, 0.0)
        return GramModel(H, gradient - self.moment * (drift / self.mass), self.moment, drift / C, self.mass)


class GramModel:
    """The model by its Hessian and its gradient at the point where it was made."""

    def __init__(self, H: Array, gradient: Array, moment: Array | None, drift: float, mass: float) -> None:
        self.H, self.gradient, self.moment = H, gradient, moment
        self.drift, self.mass = drift, mass

    def minimise(self, coef: Array, cost: Array, positive: bool, violation: Array) -> Target:
        """Minimise from ``coef``, whose optimality conditions are violated by ``violation``."""
        b, gradient = coef.copy(), self.gradient.copy()
        quadratic = GramQuadratic(self.H, gradient, b)
        tolerance = _tolerance(violation, np.diagonal(self.H), _GRAM_PRECISION)
        price = max(2, int(_SWEEPS_PER_POLISH * len(b)))
        patience = min(price, _MOST_SWEEPS)
        for _ in range(min(_POLISHES, max(_SWEEPS // price, _FEW_POLISHES))):
            _, certified = descend(quadratic, cost, positive, tolerance, patience)
            if certified:
                break
            quadratic.polish(cost)
        shift = 0.0
        if self.moment is not None:
            shift = -(self.drift + float(self.moment @ (b - coef))) / self.mass
        return Target(b, shift)


class ResidualModel:
    """The model by its columns, for sparse columns and for more columns than a Gram matrix is good for."""

    def __init__(self, M: Any, g: Array, h: Array, ridge: float, fit_intercept: bool) -> None:
        self.M, self.g, self.h, self.ridge, self.fit_intercept = M, g, h, ridge, fit_intercept

    def minimise(self, coef: Array, cost: Array, positive: bool, violation: Array) -> Target:
        """Minimise from ``coef``, whose optimality conditions are violated by ``violation``."""
        form = SparseQuadratic if sparse.issparse(self.M) else DenseQuadratic
        b = coef.copy()
        quadratic = form(self.M, self.g, self.h, b, self.ridge, self.fit_intercept)
        tolerance = _tolerance(violation, quadratic.curvatures, _RESIDUAL_PRECISION)
        descend(quadratic, cost, positive, tolerance, _SWEEPS)
        return Target(b, quadratic.intercept)


def _tolerance(violation: Array, curvatures: Array, precision: float) -> float:
    """Inner work tied to outer need: the descent stops once conditions hold ``precision`` times better than now."""
    curved = curvatures > 0
    return float(precision**2 * np.max(violation[curved] ** 2 / curvatures[curved], initial=0.0))

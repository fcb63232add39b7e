"""Where the coefficients live: what one Newton step and one certificate cost in each expansion.

With ``g = y (w phi'(u) + tilt)`` the derivative of the data term in each score and ``W = w phi''(u)``, a ridge problem
has the Newton system

    features:  (Phi'W Phi + ridge I) dbeta + Phi'W 1 db = -(ridge beta + Phi'g),   1'W Phi dbeta + 1'W 1 db = -1'g
    kernels:   (ridge I + W K) dbeta + W 1 db = -(ridge beta + g),                 1'(beta + dbeta) = 0.

The kernel form never inverts ``K``: with ``S = W^(1/2)`` and ``B = I + S K S / ridge``,
``(ridge I + W K)^(-1) r = (r - S B^(-1) S K r / ridge) / ridge``, and only rows with curvature enter ``B``. Features
with more columns than rows use the kernel form with ``K = Phi Phi'``.

Certificate. Once the intercept is optimal, the slopes are dual feasible and Fenchel-Young holds with equality, whatever
the loss: the duality gap is ``|ridge beta + Phi'g|^2 / (2 ridge)``, for kernels ``r'K r / (2 ridge)`` with
``r = ridge beta + g``. A geometry keeps the residual it certified, because the next step starts from it, and the last
factor, because steps with a stale Hessian still descend and cost little.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from softmargin._compiled.boxqp import add_rows
from softmargin.expansions import Expansion
from softmargin.solution import Solution

__all__ = ["FeatureGeometry", "Geometry", "KernelGeometry", "Step"]

Array = NDArray[np.floating[Any]]


_DENSE = 0.8  # share of rows with coefficients from which a product with the whole matrix is as fast
_LARGE = 2e8  # multiplications from which half the digits of a kernel's factor are worth half its time
_STEEP = 1e5  # the largest eigenvalue, beside 1, at which single precision has digits to spare
_EPS = float(np.finfo(np.float64).eps)
_CHEAP = 3e7  # multiplications up to which a new factor costs no more than the rest of a step


class Step(NamedTuple):
    """A direction: of the coefficients, of the intercept, and of the scores ``Phi beta``."""

    coef: Array
    intercept: float
    scores: Array

    def scaled(self, factor: float) -> Step:
        """The same direction, ``factor`` times as far."""
        return Step(factor * self.coef, factor * self.intercept, factor * self.scores)


class Geometry(Protocol):
    """The questions Newton's method asks."""

    size: int
    total: float | None  # the sum of the curvatures that were factored, None before
    seen: object  # whose residual is kept
    reach: float  # the squared norm of a typical row in units of the ridge; 0 where huge weights do no harm
    patience: float  # a stale factor is kept while each step brings the gap below this fraction of the last

    def coef_of(self, start: Solution) -> Array:
        """The coefficients of a solution, in this geometry."""
        ...

    def scores(self, coef: Array) -> Array:
        """``Phi beta``."""
        ...

    def inner(self, coef: Array, other: Array, other_scores: Array) -> float:
        """The inner product of the ridge norm, given the scores of the second vector."""
        ...

    def gap(self, coef: Array, scores: Array, g: Array) -> float:
        """The duality gap, for an optimal intercept."""
        ...

    def factor(self, W: Array) -> None:
        """Prepare steps for the curvatures ``W``."""
        ...

    def step(self, coef: Array, g: Array, gap: float) -> Step:
        """The direction from the point certified last, to an accuracy worth its relative gap."""
        ...


class FeatureGeometry:
    """Cholesky of the ``p x p`` Hessian. From ``many`` rows on, a fit on one row in ``share`` pays as a start."""

    share, reach = 16, 0.0

    def __init__(self, expansion: Expansion, ridge: float, fit_intercept: bool) -> None:
        self.expansion, self.ridge, self.fit_intercept = expansion, ridge, fit_intercept
        self.size = expansion.shape[1]
        self.total: float | None = None
        self.seen: object = None
        self.many = max(20_000, 100 * self.size)
        self.patience = 0.02 if expansion.shape[0] * self.size**2 > _CHEAP else 0.0

    def coef_of(self, start: Solution) -> Array:
        return np.array(start.coef, dtype=np.float64)

    def scores(self, coef: Array) -> Array:
        return self.expansion.apply(coef)

    def inner(self, coef: Array, other: Array, other_scores: Array) -> float:
        return float(coef @ other)

    def gap(self, coef: Array, scores: Array, g: Array) -> float:
        self.residual = self.ridge * coef + self.expansion.transpose(g)
        return float(self.residual @ self.residual) / (2 * self.ridge)

    def factor(self, W: Array) -> None:
        hessian, self.border = self.expansion.moments(W)
        hessian[np.diag_indices_from(hessian)] += self.ridge
        self.cholesky = _cholesky(hessian)
        self.shadow = linalg.cho_solve(self.cholesky, self.border, check_finite=False)
        self.total = float(W.sum())
        self.bend = self.total - float(self.border @ self.shadow)

    def step(self, coef: Array, g: Array, gap: float) -> Step:
        dcoef, dintercept = self.solve(-self.residual, -float(g.sum()))
        return Step(dcoef, dintercept, self.expansion.apply(dcoef))

    def solve(self, r: Array, total: float) -> tuple[Array, float]:
        """The factored Hessian's inverse times a vector for the coefficients and a number for the intercept."""
        dcoef = linalg.cho_solve(self.cholesky, r, check_finite=False)
        if not self.fit_intercept or self.bend <= 0:
            return dcoef, 0.0
        dintercept = (total - float(self.border @ dcoef)) / self.bend
        return dcoef - dintercept * self.shadow, dintercept

    def inverse(self, residual: Array) -> Array:
        """The same for both in one vector, the intercept's last."""
        return np.append(*self.solve(residual[:-1], float(residual[-1])))

    def of(self, expansion: Expansion) -> FeatureGeometry:
        """The geometry of some of the rows."""
        return type(self)(expansion, self.ridge, self.fit_intercept)

    def adopt(self, part: FeatureGeometry) -> None:
        """Use the factor of a sample of the rows."""
        self.cholesky, self.border, self.shadow = part.cholesky, part.border, part.shadow
        self.bend, self.total = part.bend, part.total


class KernelGeometry:
    """Cholesky of ``I + S K S / ridge`` on the rows with curvature."""

    def __init__(self, K: Array, ridge: float, fit_intercept: bool) -> None:
        self.K = K if K.flags.c_contiguous else np.ascontiguousarray(K)
        self.ridge, self.fit_intercept = ridge, fit_intercept
        self.size = len(K)
        self.total: float | None = None
        self.seen: object = None
        self.reach = float(np.diagonal(K).mean()) / ridge
        self.patience = 0.3 if self.size**3 > _CHEAP else 0.0

    def coef_of(self, start: Solution) -> Array:
        # the signed dual point is ridge times the coefficients, and exists for features as well
        if len(start.coef) == self.size or start.dual is None:
            return np.array(start.coef if len(start.coef) == self.size else np.zeros(self.size), dtype=np.float64)
        return np.array(start.dual / self.ridge, dtype=np.float64)

    def scores(self, coef: Array) -> Array:
        used = np.flatnonzero(coef)
        if len(used) > _DENSE * self.size:
            return (self.K @ coef.astype(self.K.dtype, copy=False)).astype(np.float64, copy=False)
        out = np.zeros(self.size)
        add_rows(self.K, used, coef[used], out)
        return out

    def inner(self, coef: Array, other: Array, other_scores: Array) -> float:
        return float(coef @ other_scores)

    def gap(self, coef: Array, scores: Array, g: Array) -> float:
        self.residual = self.ridge * coef + g
        self.image = self.ridge * scores + self.scores(g)  # K residual
        # what rounding may hide: inner products of rows that are large beside their differences
        noise = _EPS * self.reach * self.ridge * float(np.abs(self.residual).sum()) ** 2
        return max(float(self.residual @ self.image), noise) / (2 * self.ridge)

    def factor(self, W: Array) -> None:
        self.active, self.total = np.flatnonzero(W), float(W.sum())
        self.patience = 0.3 if len(self.active) ** 3 > _CHEAP else 0.0
        self.root = np.sqrt(W[self.active])
        B = self.block(self.active, self.root)
        B[np.diag_indices_from(B)] += 1.0
        self.cholesky = _cholesky(B)
        if self.fit_intercept:
            self.shadow = self._solve(W, self.scores(W)[self.active])

    def block(self, active: NDArray[np.intp], root: Array) -> Array:
        """``S K S / ridge`` on some rows, in single precision where it is large and its eigenvalues are not.

        Residuals are computed in double precision, so a Hessian good to a few digits serves as well, in half the time.
        """
        trace = float(np.square(root) @ np.diagonal(self.K)[active]) / self.ridge
        dtype: Any = np.float32 if len(active) ** 3 > _LARGE and trace < _STEEP else np.float64
        B: Array = np.array(self.K if len(active) == self.size else self.K[np.ix_(active, active)], dtype=dtype)
        B *= root[:, None].astype(dtype)
        B *= (root / self.ridge).astype(dtype)
        return B

    def _solve(self, r: Array, image: Array) -> Array:
        """``(ridge I + W K)^(-1) r``, given ``image = K r`` on the rows with curvature."""
        out = r.copy()
        inner = (image * self.root / self.ridge).astype(self.cholesky[0].dtype, copy=False)
        out[self.active] -= self.root * linalg.cho_solve(self.cholesky, inner, check_finite=False)
        return out / self.ridge

    def step(self, coef: Array, g: Array, gap: float) -> Step:
        dcoef, dintercept = -self._solve(self.residual, self.image[self.active]), 0.0
        total = float(self.shadow.sum()) if self.fit_intercept else 0.0
        if total > 0:
            dintercept = (float(coef.sum()) + float(dcoef.sum())) / total
            dcoef -= dintercept * self.shadow
        return Step(dcoef, dintercept, self.scores(dcoef))


def _cholesky(A: Array) -> tuple[Array, bool]:
    """The Cholesky factor of a symmetric matrix, made in its place, with the smallest shift that rounding asks for."""
    work = A.T
    diagonal = A.diagonal().copy()
    potrf = linalg.lapack.dpotrf if A.dtype == np.float64 else linalg.lapack.spotrf
    for shift in (0.0, 1e-15, 1e-13, 1e-11, 1e-9) if A.dtype == np.float64 else (0.0, 1e-6):
        if shift > 0:  # a failed attempt leaves the strict upper triangle as it was
            upper = np.triu(work, 1)
            work[...] = upper + upper.T
            np.fill_diagonal(work, diagonal + shift * diagonal.max())
        factor, failed = potrf(work, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return factor, True
    raise linalg.LinAlgError("The Hessian is not positive definite: X or the kernel matrix is not finite or too large.")

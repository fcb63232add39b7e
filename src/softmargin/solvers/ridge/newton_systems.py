"""Newton's equations in each expansion: what a residual, a factor and a step cost, and the certificate they give.

With ``g = y (w phi'(u) + tilt)`` the derivative of the data term in each score and ``W = w phi''(u)``, a ridge problem
has the Newton system

    features:  (Phi'W Phi + ridge I) dbeta + Phi'W 1 db = -(ridge beta + Phi'g),   1'W Phi dbeta + 1'W 1 db = -1'g
    kernels:   (ridge I + W K) dbeta + W 1 db = -(ridge beta + g),                 1'(beta + dbeta) = 0.

The kernel form never inverts ``K``: with ``S = W^(1/2)`` and ``B = I + S K S / ridge``,
``(ridge I + W K)^(-1) r = (r - S B^(-1) S K r / ridge) / ridge``, and only rows with curvature enter ``B``. Features
with more columns than rows use the kernel form with ``K = Phi Phi'``.

Certificate. Once the intercept is optimal, the slopes are dual feasible and Fenchel-Young holds with equality, whatever
the loss: the duality gap is ``|ridge beta + Phi'g|^2 / (2 ridge)``, for kernels ``r'K r / (2 ridge)`` with
``r = ridge beta + g``.

A system is a function of the data alone. It answers with values: a :class:`Residual` of a point, a ``Factor`` of
curvatures, which solvers keep for as long as its steps serve, because steps with a stale Hessian still descend.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softmargin._compiled.boxqp import add_rows
from softmargin.expansions import Expansion
from softmargin.solution import Solution
from softmargin.solvers.linalg import Bordered, Cholesky, add_to_diagonal, bordered_solve, shifted_cholesky
from softmargin.solvers.thresholds import (
    CHEAP_FACTOR,
    LEAST_SHARE,
    MANY_ROWS,
    MOST_SHARE,
    ROWS_PER_COLUMN,
    SAMPLE_PER_COLUMN,
    SINGLE_PRECISION,
    STEEP,
)

__all__ = [
    "Factor",
    "FeatureFactor",
    "FeatureSystem",
    "KernelFactor",
    "KernelSystem",
    "NewtonSystem",
    "Residual",
    "Step",
]

Array = NDArray[np.floating[Any]]

_DENSE = 0.8  # share of rows with coefficients from which a product with the whole matrix is as fast
_EPS = float(np.finfo(np.float64).eps)


class Residual(NamedTuple):
    """The gradient of the objective in the coefficients, the duality gap it certifies, and ``K`` times it (kernels)."""

    vector: Array
    gap: float
    image: Array


class Step(NamedTuple):
    """A direction: of the coefficients, of the intercept, and of the scores ``Phi beta``."""

    coef: Array
    intercept: float
    scores: Array

    def scaled(self, factor: float) -> Step:
        """The same direction, ``factor`` times as far."""
        return Step(factor * self.coef, factor * self.intercept, factor * self.scores)


class Factor(Protocol):
    """Steps for given curvatures."""

    @property
    def mass(self) -> float:
        """The sum of the curvatures: the second derivative along the intercept."""
        ...

    @property
    def patience(self) -> float:
        """A factor is kept while each step brings the gap below this fraction of the last."""
        ...

    def step(self, residual: Residual, coef: Array, g: Array, reduction: float) -> Step:
        """The direction from a point, after which the square of the residual should fall to a fraction of itself."""
        ...


class NewtonSystem(Protocol):
    """The questions Newton's method asks of an expansion with a ridge."""

    size: int
    ridge: float
    fit_intercept: bool
    reach: float  # the squared norm of a typical row in units of the ridge; 0 where huge weights do no harm

    def coef_of(self, start: Solution) -> Array:
        """The coefficients of a solution, in this geometry."""
        ...

    def scores(self, coef: Array) -> Array:
        """``Phi beta``."""
        ...

    def inner(self, coef: Array, other: Array, other_scores: Array) -> float:
        """The inner product of the ridge norm, given the scores of the second vector."""
        ...

    def residual(self, coef: Array, scores: Array, g: Array) -> Residual:
        """The residual of a point, with the duality gap it has once its intercept is optimal."""
        ...

    def factor(self, W: Array) -> Factor:
        """Prepare steps for the curvatures ``W``."""
        ...


class FeatureSystem:
    """Cholesky of the ``p x p`` Hessian. From ``many`` rows on, a fit of a ``share`` of them pays as a start."""

    reach = 0.0

    def __init__(self, expansion: Expansion, ridge: float, fit_intercept: bool) -> None:
        self.expansion, self.ridge, self.fit_intercept = expansion, ridge, fit_intercept
        self.size = expansion.shape[1]
        self.many = max(MANY_ROWS, ROWS_PER_COLUMN * self.size)
        self.share = min(max(SAMPLE_PER_COLUMN * self.size / max(expansion.shape[0], 1), LEAST_SHARE), MOST_SHARE)

    def coef_of(self, start: Solution) -> Array:
        return np.array(start.coef, dtype=np.float64)

    def scores(self, coef: Array) -> Array:
        return self.expansion.apply(coef)

    def inner(self, coef: Array, other: Array, other_scores: Array) -> float:
        return float(coef @ other)

    def residual(self, coef: Array, scores: Array, g: Array) -> Residual:
        vector = self.ridge * coef + self.expansion.transpose(g)
        return Residual(vector, float(vector @ vector) / (2 * self.ridge), vector)

    def factor(self, W: Array) -> Factor:
        hessian, border = self.expansion.moments(W)
        add_to_diagonal(hessian, self.ridge)
        mass = float(W.sum())
        system = Bordered(shifted_cholesky(hessian), border if self.fit_intercept else None, mass)
        return FeatureFactor(self, system, mass)

    def of(self, expansion: Expansion) -> FeatureSystem:
        """The system of some of the rows."""
        return type(self)(expansion, self.ridge, self.fit_intercept)

    def adopt(self, factor: Factor) -> FeatureFactor | None:
        """The factor of a sample of the rows as one of all, where there is a factor to share."""
        if not isinstance(factor, FeatureFactor) or not factor.mass > 0:
            return None
        return FeatureFactor(self, factor.bordered, factor.mass)


class FeatureFactor(NamedTuple):
    """The factored Hessian of some curvatures."""

    system: FeatureSystem
    bordered: Bordered
    mass: float

    @property
    def patience(self) -> float:
        n, p = self.system.expansion.shape
        return 0.02 if n * p**2 > CHEAP_FACTOR else 0.0

    def step(self, residual: Residual, coef: Array, g: Array, reduction: float) -> Step:
        dcoef, dintercept = self.bordered.solve(-residual.vector, -float(g.sum()))
        return Step(dcoef, dintercept, self.system.expansion.apply(dcoef))


class KernelSystem:
    """Cholesky of ``I + S K S / ridge`` on the rows with curvature."""

    def __init__(self, K: Array, ridge: float, fit_intercept: bool) -> None:
        self.K = K if K.flags.c_contiguous else np.ascontiguousarray(K)
        self.ridge, self.fit_intercept = ridge, fit_intercept
        self.size, self.may_be_single = len(K), True
        self.reach = float(np.diagonal(K).mean()) / ridge
        self.longest = float(np.diagonal(K).max(initial=0.0)) / ridge

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

    def residual(self, coef: Array, scores: Array, g: Array) -> Residual:
        vector = self.ridge * coef + g
        image = self.ridge * scores + self.scores(g)
        # what rounding may hide: inner products of rows that are large beside their differences
        size = float(np.abs(vector).sum())
        noise = _EPS * self.reach * self.ridge * size * size
        return Residual(vector, max(float(vector @ image), noise) / (2 * self.ridge), image)

    def factor(self, W: Array) -> KernelFactor:
        active = np.flatnonzero(W)
        root = np.sqrt(W[active])
        B = self.block(active, root)
        add_to_diagonal(B, 1.0)
        factor = KernelFactor(self, active, root, shifted_cholesky(B), float(W.sum()), None)
        return factor._replace(image=factor.solve(W, self.scores(W))) if self.fit_intercept else factor

    def block(self, active: NDArray[np.intp], root: Array) -> Array:
        """``S K S / ridge`` on some rows, in single precision where it is large and its eigenvalues are not.

        Residuals are computed in double precision, so a Hessian good to a few digits serves as well, in half the time.
        """
        trace = float(np.square(root) @ np.diagonal(self.K)[active]) / self.ridge
        single = self.may_be_single and len(active) ** 3 > SINGLE_PRECISION and trace < STEEP
        dtype: Any = np.float32 if single else np.float64
        B: Array = np.array(self.K if len(active) == self.size else self.K[np.ix_(active, active)], dtype=dtype)
        B *= root[:, None].astype(dtype)
        B *= (root / self.ridge).astype(dtype)
        return B


class KernelFactor(NamedTuple):
    """The factor of ``B`` on the rows with curvature; ``image`` is ``(ridge I + W K)^(-1) W 1``."""

    system: KernelSystem
    active: NDArray[np.intp]
    root: Array
    cholesky: Cholesky
    mass: float
    image: Array | None

    @property
    def patience(self) -> float:
        return 0.3 if len(self.active) ** 3 > CHEAP_FACTOR else 0.0

    def solve(self, r: Array, image: Array) -> Array:
        """``(ridge I + W K)^(-1) r``, given ``image = K r``."""
        out, ridge = r.copy(), self.system.ridge
        inner = (image[self.active] * self.root / ridge).astype(self.cholesky.lower.dtype, copy=False)
        out[self.active] -= self.root * self.cholesky(inner)
        return out / ridge

    def step(self, residual: Residual, coef: Array, g: Array, reduction: float) -> Step:
        dcoef, dintercept = -self.solve(residual.vector, residual.image), 0.0
        if self.image is not None and float(self.image.sum()) > 0:
            dcoef, dintercept = bordered_solve(dcoef, self.image, np.ones(len(coef)), 0.0, -float(coef.sum()))
        return Step(dcoef, dintercept, self.system.scores(dcoef))

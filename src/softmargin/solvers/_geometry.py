"""Where the coefficients live: what one Newton step and one certificate cost in each expansion.

With ``g = y (w phi'(u) + tilt)`` the derivative of the data term in each score and ``W = w phi''(u)``, a ridge problem
has the Newton system

    features:  (Phi'W Phi + ridge I) dbeta + Phi'W 1 db = -(ridge beta + Phi'g),   1'W Phi dbeta + 1'W 1 db = -1'g
    kernels:   (ridge I + W K) beta_new = W(f - b_new) - g,   1' beta_new = 0

The kernel form never inverts ``K``: with ``S = W^(1/2)`` and ``B = I + S K S / ridge``,
``(ridge I + W K)^(-1) r = (r - S B^(-1) S K r / ridge) / ridge``, and only rows with curvature enter ``B``. Features
with more columns than rows use the kernel form with ``K = Phi Phi'``.

Certificate. Once the intercept is optimal, the slopes are dual feasible and Fenchel-Young holds with equality, whatever
the loss: the duality gap is ``|ridge beta + Phi'g|^2 / (2 ridge)``, for kernels ``r'K r / (2 ridge)`` with
``r = ridge beta + g``.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from softmargin.expansions import Expansion

__all__ = ["FeatureGeometry", "Geometry", "KernelGeometry", "Step"]

Array = NDArray[np.floating[Any]]


class Step(NamedTuple):
    """A direction: of the coefficients, of the intercept, and of the scores ``Phi beta``."""

    coef: Array
    intercept: float
    scores: Array


class Geometry(Protocol):
    """The questions Newton's method asks."""

    def quadratic(self, coef: Array, other_coef: Array, other_scores: Array) -> float:
        """The inner product of two coefficient vectors in the ridge norm, given the scores of the second."""
        ...

    def gap(self, coef: Array, scores: Array, g: Array) -> float:
        """The duality gap, for an optimal intercept."""
        ...

    def step(self, coef: Array, scores: Array, intercept: float, g: Array, W: Array) -> Step:
        """The Newton direction."""
        ...


class FeatureGeometry:
    """Cholesky of the ``p x p`` Hessian."""

    def __init__(self, expansion: Expansion, ridge: float, fit_intercept: bool) -> None:
        self.expansion, self.ridge, self.fit_intercept = expansion, ridge, fit_intercept
        self._residual = np.zeros(expansion.shape[1])

    def quadratic(self, coef: Array, other_coef: Array, other_scores: Array) -> float:
        return float(coef @ other_coef)

    def gap(self, coef: Array, scores: Array, g: Array) -> float:
        self._residual = self.ridge * coef + self.expansion.transpose(g)
        return float(self._residual @ self._residual) / (2 * self.ridge)

    def step(self, coef: Array, scores: Array, intercept: float, g: Array, W: Array) -> Step:
        hessian = self.expansion.gram(W)
        hessian[np.diag_indices_from(hessian)] += self.ridge
        border = self.expansion.transpose(W) if self.fit_intercept else None
        factor = _cholesky(hessian)
        dcoef, dintercept = -linalg.cho_solve(factor, self._residual), 0.0
        if border is not None:
            shadow = linalg.cho_solve(factor, border)
            rest = float(W.sum()) - float(border @ shadow)
            if rest > 0:
                dintercept = -(float(g.sum()) + float(border @ dcoef)) / rest
                dcoef -= dintercept * shadow
        return Step(dcoef, dintercept, self.expansion.apply(dcoef))


class KernelGeometry:
    """Cholesky of ``I + S K S / ridge`` on the rows with curvature."""

    def __init__(self, K: Array, ridge: float, fit_intercept: bool) -> None:
        self.K, self.ridge, self.fit_intercept = K, ridge, fit_intercept

    def quadratic(self, coef: Array, other_coef: Array, other_scores: Array) -> float:
        return float(coef @ other_scores)

    def gap(self, coef: Array, scores: Array, g: Array) -> float:
        residual = self.ridge * coef + g
        return max(float(residual @ (self.ridge * scores + self._product(g))), 0.0) / (2 * self.ridge)

    def step(self, coef: Array, scores: Array, intercept: float, g: Array, W: Array) -> Step:
        active = np.flatnonzero(W)
        root = np.sqrt(W[active])
        B = self.K[np.ix_(active, active)] if len(active) < len(W) else self.K
        B = B * root[:, None] * (root / self.ridge)
        B[np.diag_indices_from(B)] += 1.0
        factor = _cholesky(B)

        def inverse(r: Array) -> Array:
            image = self._product(r)[active] * root / self.ridge
            out = r.copy()
            out[active] -= root * linalg.cho_solve(factor, image)
            return out / self.ridge

        target = inverse(W * scores - g)
        dintercept = 0.0
        if self.fit_intercept:
            # W(f - b_new) - g with f = scores + intercept: solve for the change of the intercept
            shadow = inverse(W)
            total = float(shadow.sum())
            if total > 0:
                dintercept = float(target.sum()) / total
                target -= dintercept * shadow
        dcoef = target - coef
        return Step(dcoef, dintercept, self._product(dcoef))

    def _product(self, r: Array) -> Array:
        return (self.K @ r.astype(self.K.dtype, copy=False)).astype(np.float64, copy=False)


def _cholesky(A: Array) -> tuple[Array, bool]:
    """A Cholesky factor, with the smallest diagonal shift that rounding asks for."""
    shift, scale = 0.0, float(np.abs(np.diagonal(A)).max(initial=0.0))
    while True:
        try:
            shifted = A if shift == 0 else A + shift * np.eye(len(A))
            return linalg.cho_factor(shifted, lower=True, check_finite=False)
        except linalg.LinAlgError:
            shift = max(10 * shift, 1e-15 * scale)
            if not np.isfinite(shift) or shift > scale:
                raise

"""Newton's step where some curvatures are negative: the last steps of a nonconvex fit.

Close to a local minimum the whole Hessian is positive definite although rows far on the wrong side curve the other way.
Features: the rows of negative curvature are subtracted from the ``p x p`` Hessian, and its Cholesky factor exists
exactly where the quadratic model has a minimum. Kernels: with ``W = S D S``, ``D`` the signs and ``S`` the roots of
``|W|``,

    (ridge I + W K)^(-1) r = (r - S (D + S K S / ridge)^(-1) S K r / ridge) / ridge

on the rows with curvature. Features without a Hessian: conjugate gradients, which meet a direction of negative
curvature where there is no minimum. The intercept's equation is eliminated; its pivot is positive at a minimum. None is
returned where these conditions fail, and the caller takes another kind of step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from softmargin.solvers.linalg import Bordered, bordered_solve, definite_cholesky
from softmargin.solvers.ridge.conjugate_gradient import ConjugateSystem, conjugate_gradients
from softmargin.solvers.ridge.newton import Point
from softmargin.solvers.ridge.newton_systems import FeatureSystem, KernelSystem, Step

__all__ = ["indefinite_step"]

Array = NDArray[np.floating[Any]]


def indefinite_step(point: Point) -> Step | None:
    """The Newton step of a problem at a point where its curvatures have any sign, if the model has a minimum."""
    system = point.system
    if isinstance(system, ConjugateSystem):
        W, g = point.term.curvature, point.g
        diagonal = system.expansion.squared_norms(np.abs(W)) + system.ridge
        return conjugate_gradients(system, W, diagonal, (point.residual.vector, float(g.sum())), point.forcing)
    if isinstance(system, FeatureSystem):
        return _feature_step(system, point)
    if isinstance(system, KernelSystem):
        return _kernel_step(system, point)
    return None


def _feature_step(system: FeatureSystem, point: Point) -> Step | None:
    W = point.term.curvature
    hessian, border = system.expansion.moments(np.maximum(W, 0.0))
    if np.any(W < 0):
        negative = system.expansion.moments(np.maximum(-W, 0.0))
        hessian, border = hessian - negative[0], border - negative[1]
    hessian[np.diag_indices_from(hessian)] += system.ridge
    factor = definite_cholesky(hessian)
    if factor is None:
        return None
    bordered = Bordered(factor, border if system.fit_intercept else None, float(W.sum()))
    if system.fit_intercept and bordered.pivot <= 0:
        return None
    dcoef, dintercept = bordered.solve(-point.residual.vector, -float(point.g.sum()))
    return Step(dcoef, dintercept, system.expansion.apply(dcoef))


def _kernel_step(system: KernelSystem, point: Point) -> Step | None:
    W, coef, ridge = point.term.curvature, point.coef, system.ridge
    active = np.flatnonzero(W)
    root = np.sqrt(np.abs(W[active]))
    B = system.block(active, root)
    B[np.diag_indices_from(B)] += np.sign(W[active])
    factor = linalg.lu_factor(B.T, overwrite_a=True, check_finite=False)

    def solve(r: Array, image: Array) -> Array:
        out = r.copy()
        inner = linalg.lu_solve(factor, (image[active] * root / ridge).astype(B.dtype), check_finite=False)
        out[active] -= root * inner
        return out / ridge

    dcoef, dintercept = -solve(point.residual.vector, point.residual.image), 0.0
    if system.fit_intercept:
        image = solve(W, system.scores(W))
        if not float(image.sum()) > 0:
            return None
        dcoef, dintercept = bordered_solve(dcoef, image, np.ones(len(coef)), 0.0, -float(coef.sum()))
    return Step(dcoef, dintercept, system.scores(dcoef)) if np.all(np.isfinite(dcoef)) else None

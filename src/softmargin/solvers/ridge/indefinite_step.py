"""Newton's step where some curvatures are negative: the last steps of a nonconvex fit.

Close to a local minimum the whole Hessian is positive definite although rows far on the wrong side bend the other way.
Features: the rows that bend down are subtracted from the ``p x p`` Hessian, and its Cholesky factor exists exactly
where the quadratic model has a minimum. Kernels: with ``W = S D S``, ``D`` the signs and ``S`` the roots of ``|W|``,

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

from softmargin.solvers.ridge.conjugate_gradient import ConjugateGeometry
from softmargin.solvers.ridge.newton_systems import FeatureGeometry, Geometry, KernelGeometry, Step

__all__ = ["signed_step"]

Array = NDArray[np.floating[Any]]


def signed_step(geometry: Geometry, W: Array, coef: Array, g: Array, gap: float) -> Step | None:
    """The Newton step for curvatures ``W`` of any sign, from the point whose gap the geometry measured last.

    Without a Hessian it is as accurate as the relative ``gap`` is worth.
    """
    if isinstance(geometry, ConjugateGeometry):
        return geometry.signed_step(W, g, gap)
    if isinstance(geometry, FeatureGeometry):
        return _feature_step(geometry, W, g)
    if isinstance(geometry, KernelGeometry):
        return _kernel_step(geometry, W, coef)
    return None


def _feature_step(geometry: FeatureGeometry, W: Array, g: Array) -> Step | None:
    hessian, border = geometry.expansion.moments(np.maximum(W, 0.0))
    if np.any(W < 0):
        bent_down = geometry.expansion.moments(np.maximum(-W, 0.0))
        hessian, border = hessian - bent_down[0], border - bent_down[1]
    hessian[np.diag_indices_from(hessian)] += geometry.ridge
    try:
        factor = linalg.cho_factor(hessian, check_finite=False)
    except linalg.LinAlgError:
        return None
    dcoef, dintercept = -linalg.cho_solve(factor, geometry.residual, check_finite=False), 0.0
    if geometry.fit_intercept:
        shadow = linalg.cho_solve(factor, border, check_finite=False)
        bend = float(W.sum()) - float(border @ shadow)
        if bend <= 0:
            return None
        dintercept = -(float(g.sum()) + float(border @ dcoef)) / bend
        dcoef -= dintercept * shadow
    return Step(dcoef, dintercept, geometry.expansion.apply(dcoef))


def _kernel_step(geometry: KernelGeometry, W: Array, coef: Array) -> Step | None:
    active, ridge = np.flatnonzero(W), geometry.ridge
    root = np.sqrt(np.abs(W[active]))
    B = geometry.block(active, root)
    B[np.diag_indices_from(B)] += np.sign(W[active])
    factor = linalg.lu_factor(B.T, overwrite_a=True, check_finite=False)

    def solve(r: Array, image: Array) -> Array:
        out = r.copy()
        inner = linalg.lu_solve(factor, (image[active] * root / ridge).astype(B.dtype), check_finite=False)
        out[active] -= root * inner
        return out / ridge

    dcoef, dintercept = -solve(geometry.residual, geometry.image), 0.0
    if geometry.fit_intercept:
        shadow = solve(W, geometry.scores(W))
        bend = float(shadow.sum())
        if not bend > 0:
            return None
        dintercept = (float(coef.sum()) + float(dcoef.sum())) / bend
        dcoef -= dintercept * shadow
    return Step(dcoef, dintercept, geometry.scores(dcoef)) if np.all(np.isfinite(dcoef)) else None

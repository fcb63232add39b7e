"""Newton's step where some curvatures are negative: the last steps of a nonconvex fit.

Close to a local minimum the whole Hessian is positive definite although rows far on the wrong side curve the other way.
Features: the rows of negative curvature are subtracted from the ``p x p`` Hessian, and its Cholesky factor exists
exactly where the quadratic model has a minimum. Kernels: with ``W = S D S``, ``D`` the signs and ``S`` the roots of
``|W|``,

    (ridge I + W K)^(-1) r = (r - S (D + S K S / ridge)^(-1) S K r / ridge) / ridge

on the rows with curvature; by Sylvester's law of inertia the model has a minimum exactly where ``D + S K S / ridge``
has as many negative eigenvalues as ``D``. Features without a Hessian: conjugate gradients, which meet a direction of
negative curvature where there is no minimum. The intercept's equation is eliminated; its pivot is positive at a
minimum. None is returned where these conditions fail, and the caller takes another kind of step; or, for features of
many rows, the negative curvatures are counted in part, which still gives a direction of descent, longer than the
majoriser's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from softmargin.solvers.linalg import Bordered, add_to_diagonal, bordered_solve, definite_cholesky
from softmargin.solvers.ridge.conjugate_gradient import ConjugateSystem, conjugate_gradients
from softmargin.solvers.ridge.newton import Point
from softmargin.solvers.ridge.newton_systems import FeatureSystem, KernelSystem, Step

__all__ = ["indefinite_step", "n_negative"]

Array = NDArray[np.floating[Any]]

_SHARES = (1.0, 0.8, 0.5, 0.2)  # of the negative curvatures that a damped step counts


def indefinite_step(point: Point, damped: bool = False) -> Step | None:
    """The Newton step of a problem at a point where its curvatures have any sign, if the model has a minimum.

    With ``damped``, where it has none, a part of the negative curvatures is left out until it has.
    """
    system = point.system
    if isinstance(system, ConjugateSystem):
        W, g = point.term.curvature, point.g
        diagonal = system.expansion.squared_norms(np.abs(W)) + system.ridge
        return conjugate_gradients(system, W, diagonal, (point.residual.vector, float(g.sum())), point.forcing)
    if isinstance(system, FeatureSystem):
        return _feature_step(system, point, damped)
    if isinstance(system, KernelSystem):
        return _kernel_step(system, point)
    return None


def _feature_step(system: FeatureSystem, point: Point, damped: bool) -> Step | None:
    W = point.term.curvature
    positive, negative = (system.expansion.moments(np.maximum(part, 0.0)) for part in (W, -W))
    mass, less = float(np.maximum(W, 0.0).sum()), float(np.maximum(-W, 0.0).sum())
    add_to_diagonal(positive[0], system.ridge)
    for share in _SHARES[: len(_SHARES) if damped else 1]:
        factor = definite_cholesky(positive[0] - share * negative[0])
        if factor is None:
            continue
        border = positive[1] - share * negative[1] if system.fit_intercept else None
        bordered = Bordered(factor, border, mass - share * less)
        if border is None or bordered.pivot > 0:
            dcoef, dintercept = bordered.solve(-point.residual.vector, -float(point.g.sum()))
            return Step(dcoef, dintercept, system.expansion.apply(dcoef))
    return None


def _kernel_step(system: KernelSystem, point: Point) -> Step | None:
    W, coef, ridge = point.term.curvature, point.coef, system.ridge
    active = np.flatnonzero(W)
    if len(active) == 0:  # the penalty alone bends; and LAPACK complains of empty matrices on standard output
        return None
    root = np.sqrt(np.abs(W[active]))
    B = system.block(active, root)
    add_to_diagonal(B, np.sign(W[active]))
    if np.any(W < 0) and n_negative(B) != np.count_nonzero(W < 0):
        return None
    getrf = linalg.lapack.dgetrf if B.dtype == np.float64 else linalg.lapack.sgetrf
    *factor, singular = getrf(B.T, overwrite_a=True)  # called directly: lu_factor warns where there is a way out
    if singular:
        return None

    def solve(r: Array, image: Array) -> Array:
        out = r.copy()
        inner = linalg.lu_solve(tuple(factor), (image[active] * root / ridge).astype(B.dtype), check_finite=False)
        out[active] -= root * inner
        return out / ridge

    dcoef, dintercept = -solve(point.residual.vector, point.residual.image), 0.0
    if system.fit_intercept:
        image = solve(W, system.scores(W))
        if not float(image.sum()) > 0:
            return None
        dcoef, dintercept = bordered_solve(dcoef, image, np.ones(len(coef)), 0.0, -float(coef.sum()))
    return Step(dcoef, dintercept, system.scores(dcoef)) if np.all(np.isfinite(dcoef)) else None


def n_negative(A: Array) -> int:
    """How many eigenvalues of a symmetric matrix are negative: its pivots tell, a block of two has one of each sign."""
    sytrf = linalg.lapack.dsytrf if A.dtype == np.float64 else linalg.lapack.ssytrf
    factor, pivots, _ = sytrf(A, lower=1)
    single = pivots > 0
    return int(np.count_nonzero(np.diagonal(factor)[single] < 0)) + int(np.count_nonzero(~single)) // 2

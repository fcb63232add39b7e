"""The equations of an interior point's step: ``X dw + db + D du = r``, ``dw = X'du + mismatch``, ``sum du = -excess``.

Eliminating ``du`` leaves weighted least squares in ``(dw, db)`` with weights ``1 / D`` and a unit ridge. Solving for
these, not for ``du``, keeps the weights accurate where ``X'u`` is a small difference of large numbers (large features
or costs). Near the end rows at their corners weigh ten and more orders of magnitude more than the others and the ridge.
Where they span all directions the normal equations do. Where they do not, the ridge decides in the directions that are
left, and normal equations, sums over all directions, have lost it. There the heavy rows enter by a factorisation into
orthogonal columns, heaviest rows first and with column pivots, whose errors are small beside each row's own weight (Cox
and Higham 1998); all light rows and the ridge are a few rows more, a root of their normal equations.

Where columns are nearly as many as rows and the products ``XX'`` are at hand, eliminating ``dw`` leaves ``XX' + D``, of
which no product of matrices need be made in a step. Scaled by the roots of ``D`` no eigenvalue of it is below one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg.lapack import dpotrf, dpstrf

from softmargin.expansions import Expansion
from softmargin.solvers.linalg import add_to_diagonal

__all__ = ["ByProducts", "NewtonSystem", "newton_system"]

Array = NDArray[np.floating[Any]]

_WEAK = 1e-5  # a pivot that has lost ten of its digits (pivots are roots)
_LIGHT = 1e4  # beside the ridge: weights that normal equations may hold together with it
_MOST_WORK = 4e6  # multiplications of such a factorisation: beyond, it takes longer than all else


def newton_system(
    features: Expansion,
    D: Array,
    intercept: bool,
    before: NewtonSystem | None = None,
    products: Array | None = None,
) -> NewtonSystem:
    """The equations, factored once for several sides; a LinAlgError where that cannot be done.

    Where the normal equations were too weak for the step ``before``, they are not tried again.
    """
    inverse = 1.0 / D
    if products is not None:
        return ByProducts(features, inverse, intercept, products)
    weak = failed = isinstance(before, _Orthogonal)
    if not weak:
        S = _normal_matrix(features, inverse, intercept)
        size = _inverse_roots(np.diag(S))
        factor, info = dpotrf((S * size * size[:, None]).T, lower=1, clean=0, overwrite_a=1)
        failed = info != 0
        weak = failed or np.diag(factor).min() <= _WEAK
    if weak:
        heavy = np.flatnonzero(inverse * (1.0 + features.diagonal()) > _LIGHT)
        p = features.shape[1]
        if (len(heavy) + p) * float(p) ** 2 <= _MOST_WORK:
            return _Orthogonal(features, inverse, intercept, heavy)
    if failed:
        raise linalg.LinAlgError("the normal equations are singular")
    found = _Normal(features, inverse, intercept, (size, factor))
    found.weak = weak
    return found


class NewtonSystem(ABC):
    """What both ways share; ``weak`` where rounding decides in some directions."""

    weak = False

    def __init__(self, features: Expansion, inverse: Array, intercept: bool) -> None:
        self.features, self.inverse, self.intercept = features, inverse, intercept

    @abstractmethod
    def solve(self, r: Array, mismatch: Array, excess: float) -> tuple[Array, Array, float]:
        """``du``, ``dw`` and ``db``."""

    def _side(self, pull: Array, mismatch: Array, excess: float) -> Array:
        side = self.features.transpose(pull) + mismatch
        return np.append(side, pull.sum() + excess) if self.intercept else side

    def _parts(self, answer: Array) -> tuple[Array, float]:
        return (answer[:-1], float(answer[-1])) if self.intercept else (answer, 0.0)


class _Normal(NewtonSystem):
    def __init__(self, features: Expansion, inverse: Array, intercept: bool, factored: tuple[Array, Array]) -> None:
        super().__init__(features, inverse, intercept)
        self.size, self.factor = factored

    def solve(self, r: Array, mismatch: Array, excess: float) -> tuple[Array, Array, float]:
        side = self.size * self._side(self.inverse * r, mismatch, excess)
        dw, db = self._parts(self.size * linalg.cho_solve((self.factor, True), side, check_finite=False))
        return self.inverse * (r - self.features.apply(dw) - db), dw, db


class _Orthogonal(NewtonSystem):
    def __init__(self, features: Expansion, inverse: Array, intercept: bool, heavy: NDArray[np.intp]) -> None:
        super().__init__(features, inverse, intercept)
        self.at, self.light = heavy, inverse.copy()
        self.light[heavy] = 0.0
        X = features.rows(self.at)
        X = np.asarray(X.toarray() if features.is_sparse else X, dtype=np.float64)
        A = np.column_stack([X, np.ones(len(X))]) if intercept else X
        self.root = np.sqrt(inverse[self.at])
        M = np.vstack([self.root[:, None] * A, self._light_rows()])
        self.size = _inverse_roots(np.einsum("ij,ij->j", M, M))
        M *= self.size
        if len(M) < M.shape[1] or not np.isfinite(M).all():
            raise linalg.LinAlgError("a direction has no weight")
        self.order = np.argsort(-np.abs(M).max(axis=1), kind="stable")
        self.Q, self.T, self.pivots = linalg.qr(M[self.order], mode="economic", pivoting=True, check_finite=False)
        if not np.all(np.diag(self.T)):
            raise linalg.LinAlgError("a direction has no weight")

    def _light_rows(self) -> Array:
        """As many rows as there are directions whose squares add up to the ridge and all light rows."""
        S = _normal_matrix(self.features, self.light, self.intercept)
        size = _inverse_roots(np.diag(S))
        c, pivots, rank, _ = dpstrf((S * size * size[:, None]).T, lower=1)
        rows = np.zeros((rank, len(S)))
        rows[:, pivots - 1] = np.tril(c)[:, :rank].T
        return rows / size

    def solve(self, r: Array, mismatch: Array, excess: float) -> tuple[Array, Array, float]:
        side = self.size * self._side(self.light * r, mismatch, excess)
        heavy = np.zeros(len(self.Q))
        heavy[: len(self.at)] = self.root * r[self.at]
        heavy = heavy[self.order]
        z = self.Q.T @ heavy + linalg.solve_triangular(self.T, side[self.pivots], trans=1, check_finite=False)
        answer, left = np.empty(len(side)), np.empty(len(heavy))
        answer[self.pivots] = linalg.solve_triangular(self.T, z, check_finite=False)
        dw, db = self._parts(self.size * answer)
        du = self.inverse * (r - self.features.apply(dw) - db)
        # of heavy rows r - X dw is rounding, and what is orthogonal to all is not
        left[self.order] = heavy - self.Q @ z
        du[self.at] = self.root * left[: len(self.at)]
        return du, dw, db


class ByProducts(NewtonSystem):
    """The equations of the multipliers, by the products of all rows."""

    def __init__(self, features: Expansion, inverse: Array, intercept: bool, products: Array) -> None:
        super().__init__(features, inverse, intercept)
        self.root = np.sqrt(inverse)
        M = products * self.root
        M *= self.root[:, None]
        add_to_diagonal(M, 1.0)
        self.factor, info = dpotrf(M.T, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            raise linalg.LinAlgError("the products are not semidefinite")
        self.image = self._inverse(np.ones(len(inverse))) if intercept else None

    def _inverse(self, r: Array) -> Array:
        return np.asarray(self.root * linalg.cho_solve((self.factor, True), self.root * r, check_finite=False))

    def solve(self, r: Array, mismatch: Array, excess: float) -> tuple[Array, Array, float]:
        du, db = self._inverse(r - self.features.apply(mismatch)), 0.0
        if self.image is not None:
            db = float(du.sum() + excess) / float(self.image.sum())
            du = du - db * self.image
        return du, self.features.transpose(du) + mismatch, db


def _normal_matrix(features: Expansion, weights: Array, intercept: bool) -> Array:
    S, first = features.moments(weights)
    add_to_diagonal(S, 1.0)
    if intercept:
        S = np.block([[S, first[:, None]], [first[None, :], np.full((1, 1), weights.sum())]])
    return S


def _inverse_roots(squares: Array) -> Array:
    """What brings columns of such squared lengths to length one; those of none stay as they are."""
    return 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0))

"""Losses with one corner as box QPs: hinge, balanced hinge, their weighted, tilted and offset versions.

With slopes ``left < right`` at the corner ``at``, weight ``w`` and tilt ``t``, the cost of a row is
``max{-a (u - at) : a in [-(w right + t), -(w left + t)]}`` plus a constant. In signed multipliers ``v = y a`` the whole
problem is the box QP with linear term ``q = y at - offset``, so a new loss of this shape, a class weight or a step of
a difference-of-convex method only changes the box. Kernels solve it by working sets, features without an n x n matrix.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin._progress import is_heard, report
from softmargin.expansions import Expansion
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.engine import Engine
from softmargin.solvers.svm.box_qp import EXACT_ROWS, BoxQP, BoxSolution, Iterate
from softmargin.solvers.svm.conditioning import Conditioned
from softmargin.solvers.svm.factored_kernel import GramMachines
from softmargin.solvers.svm.kernel_rows import GramRows
from softmargin.solvers.svm.linear import Start, is_stiff, solve_linear_hinge, solve_stiff

__all__ = ["BOX_QP", "KinkedFamily", "SignedBox", "kinked_solution", "signed_box"]

Array = NDArray[np.floating[Any]]

_COARSE = 1e-3  # KKT violation first asked for, in units of the score
_FINE = 1e-9
_PROGRESS = 0.5  # a solve that does not reach its violation must bring the gap below this fraction, or it is the last


class SignedBox(NamedTuple):
    """The box QP of a kinked problem; its objective is that of the problem less ``constant``."""

    qp: BoxQP
    constant: float


def signed_box(problem: Problem) -> SignedBox:
    """Linear term, box and constant of a problem whose loss has one corner."""
    kink, y = problem.loss.kink, problem.y
    assert kink is not None
    tilt = np.zeros_like(problem.weights) if problem.tilt is None else problem.tilt
    low = -problem.weights * kink.right_slope - tilt
    high = -problem.weights * kink.left_slope - tilt
    q = y * kink.at if problem.offset is None else y * kink.at - problem.offset
    base = float(problem.loss.value(kink.at))
    constant = problem.constant + base * float(problem.weights.sum()) + kink.at * float(tilt.sum())
    lo, hi = np.where(y > 0, low, -high) + 0.0, np.where(y > 0, high, -low) + 0.0
    return SignedBox(BoxQP(q, lo, hi, problem.fit_intercept), constant)


class KinkedFamily:
    """Box QPs that share an expansion: one store of kernel rows serves every weight, box and warm start.

    ``largest`` bounds the multipliers and ``tol`` the KKT violation; together they decide the precision of the rows.
    """

    def __init__(
        self, expansion: Expansion, *, intercept: bool, largest: float, tol: float, max_iter: int = 10_000
    ) -> None:
        self.expansion, self.intercept, self.largest, self.max_iter = expansion, intercept, largest, max_iter
        self._conditioned = None if expansion.is_kernel else Conditioned.of(expansion, intercept, largest)
        self._machines: GramMachines | None = None
        self._products: GramRows | None = None
        self.tighten(tol)
        self._near = False

    def tighten(self, tol: float) -> None:
        """Ask for another accuracy of the last solution; kernel rows are made anew where it needs double precision."""
        self.tol, self._near = tol, True
        if self._conditioned is not None:
            return
        few = self.expansion.shape[0] <= EXACT_ROWS
        if few and self._machines is None:
            self.expansion.outer()  # will be asked for, and holds the diagonal
        diagonal = self.expansion.diagonal() if self._machines is None else self._machines.diagonal
        dtype = _row_type(self.expansion, self.largest * float(diagonal.max(initial=0.0)), tol)
        if self._machines is None or self._machines.rows.dtype != dtype:
            self._machines = GramMachines(GramRows.of_kernel(self.expansion, dtype, whole=few), diagonal)

    def solve(self, box: BoxQP, start: Array | Iterate | None = None) -> tuple[BoxSolution, Array]:
        """The solution of one box QP and its coefficients in the expansion; kernels use a start's gradient as well."""
        if self._conditioned is None:
            assert self._machines is not None
            found = self._machines.solve(box, start, self.tol, self.max_iter)
            return found, found.u
        start = start.u if isinstance(start, Iterate) else start
        factor = self._conditioned.s**2
        scaled = box.scaled(factor) if factor != 1 else box
        found, w = self._solve_features(scaled, start if start is None else factor * start)
        return self._restored(found, w, factor)

    def _solve_features(self, box: BoxQP, start: Array | None) -> tuple[BoxSolution, Array]:
        assert self._conditioned is not None
        features = self._conditioned.features
        n, p = features.shape
        if n <= EXACT_ROWS and is_stiff(
            features, box, start is None, self._machines is not None and self._machines.crawls
        ):
            return solve_stiff(features, box, tol=self.tol, max_iter=self.max_iter)
        if n > EXACT_ROWS:
            given = None if start is None else Start(start, self._near)
            return solve_linear_hinge(features, box, start=given, tol=self.tol, max_iter=self.max_iter, gram=self._gram)
        if self._machines is None:
            K = features.outer()
            self._machines = GramMachines(GramRows.of(K), np.diagonal(K), features if p < n else None)
        found = self._machines.solve(box, start, self.tol, self.max_iter)
        return found, features.transpose(found.u)

    def _gram(self) -> GramRows:
        """The inner products of many rows of many columns, made once for all boxes."""
        if self._products is None:
            assert self._conditioned is not None
            self._products = GramRows.of(self._conditioned.features.outer())
        return self._products

    def _restored(self, found: BoxSolution, w: Array, factor: float) -> tuple[BoxSolution, Array]:
        """The same in the units of the features as they were given."""
        assert self._conditioned is not None
        if self._conditioned.m is None and factor == 1:
            return found, w
        w, b = self._conditioned.restore(w, found.intercept)
        shift = b - found.intercept
        restored = replace(
            found,
            u=found.u / factor,
            gradient=found.gradient - shift,
            interval=(found.interval[0] + shift, found.interval[1] + shift),
            intercept=b,
            value=found.value / factor,
            primal=found.primal / factor,
        )
        return restored, w


def _row_type(expansion: Expansion, largest: float, violation: float) -> Any:
    """Single precision where the accuracy asked for allows it; ``largest`` bounds what a row adds to a score."""
    n = expansion.shape[0]
    if n <= EXACT_ROWS:
        return np.dtype(np.float64)
    if expansion.has_outer:
        return expansion.outer().dtype
    rounding = 2e-7 * np.sqrt(n) * largest
    return np.dtype(np.float32 if rounding <= 0.05 * violation else np.float64)


def _accepts(problem: Problem) -> bool:
    penalty = problem.penalty
    return problem.loss.convex and problem.loss.kink is not None and penalty.l1_ratio == 0 and not penalty.positive


def _run(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
    box = signed_box(problem)
    violation, n_iter, best = _COARSE, 0, None
    u = None if start is None else start.dual
    family = KinkedFamily(
        problem.expansion, intercept=problem.fit_intercept, largest=box.qp.largest, tol=violation, max_iter=max_iter
    )
    while True:
        found, coef = family.solve(box.qp, u)
        n_iter += found.n_iter
        if is_heard(verbose):
            report("box QP", f"violation {found.violation:.2e}, relative gap {found.gap:.2e}, {n_iter} steps", verbose)
        solution = kinked_solution(box, found, coef, n_iter, tol)
        stuck = best is not None and not found.converged and solution.gap > _PROGRESS * best.gap
        if best is None or solution.gap <= best.gap:
            best = solution
        if best.converged or stuck or n_iter >= max_iter or violation <= _FINE:
            best.n_iter = max(n_iter, 1)
            return best
        u, violation = found.u, min(violation, max(found.violation, _FINE)) / 10
        family.tighten(violation)


def kinked_solution(box: SignedBox, found: BoxSolution, coef: Array, n_iter: int, tol: float) -> Solution:
    """The solution of a problem from that of its box QP."""
    if not (np.isfinite(coef).all() and np.isfinite(found.intercept)):
        raise ValueError(
            f"the optimum lies outside double precision (costs reach {box.qp.largest:.3g}). Scale the features, or "
            "lower C or the sample weights."
        )
    bounded = bool(np.isfinite(box.qp.lo).all() and np.isfinite(box.qp.hi).all())
    gap = found.gap if bounded else found.violation  # beyond an infinite slope the primal cost is infinite
    objective = (found.primal if bounded else -found.value) + box.constant
    return Solution(
        coef=coef,
        intercept=found.intercept,
        dual=found.u,
        objective=objective,
        gap=gap,
        n_iter=max(n_iter, 1),
        converged=gap <= tol,
        certificate="duality gap" if bounded else "KKT violation",
        history=[objective],
        intercept_interval=found.interval if box.qp.intercept else None,
    )


BOX_QP = Engine(
    "box_qp", "a convex loss with one corner (hinge, balanced hinge), l1_ratio=0 and free signs", _accepts, _run
)

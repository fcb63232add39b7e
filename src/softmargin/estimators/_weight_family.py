"""One classifier for each class weight pi: a grid of warm-started fits, or the exact path through all of them.

Both answer the same questions about new rows: the bracket of the probability, and a score whose sign agrees with it
(the size of the plain SVM's score, the sign of ``p - 1/2``, zero at ties).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from softmargin.estimators._base.fitted_score import without_rows
from softmargin.expansions import Expansion, Kernel, KernelColumns, KernelScore
from softmargin.paths import weight_path
from softmargin.probability import Bracket, bracket, zero_level
from softmargin.solvers import (
    BoxQP,
    BoxSolution,
    Iterate,
    KinkedFamily,
    PsiSolution,
    Solution,
    lies_beyond,
    require_resolution,
    solve_psi,
)

__all__ = ["GridFamily", "PathFamily", "WeightFamily", "WeightGrid"]

_SCORED = 2**21  # scores looked at together along a path
_ROUNDING = 1e-12  # of the width of its box: so close to a bound a multiplier on a straight line is on it


class WeightFamily:
    """What prediction asks of a family of weighted classifiers."""

    plain: Solution
    training: Bracket
    n_iter: int
    converged: bool = True

    @abstractmethod
    def _scores(self, X: Any) -> tuple[Bracket, np.ndarray]:
        """The brackets and the plain scores."""

    @abstractmethod
    def attributes(self, rows: np.ndarray) -> dict[str, Any]:
        """What users may look at, by name."""

    def detach(self, rows: np.ndarray, X: Any) -> WeightFamily:
        """Forget what prediction does not need; ``X`` are the training rows, of numbers ``rows`` in ``fit``."""
        del self.training
        self.plain = without_rows(self.plain)
        return self

    def answer(self, X: Any) -> tuple[Bracket, np.ndarray]:
        """The brackets, and scores whose sign is that of ``p - 1/2``."""
        found, plain = self._scores(X)
        size = np.maximum(np.abs(plain), np.finfo(plain.dtype).tiny)
        return found, np.sign(found.probability - 0.5).astype(plain.dtype) * size

    def bracket(self, X: Any) -> Bracket:
        return self._scores(X)[0]

    def score(self, X: Any) -> np.ndarray:
        return self.answer(X)[1]

    def ranked(self, X: Any) -> tuple[Bracket, np.ndarray]:
        """The brackets and centred probabilities; the plain score decides between equal ones, never between others."""
        found, plain = self._scores(X)
        step = 1 / (4 * found.m) if found.m > 1 else 1e-9
        return found, found.probability - 0.5 + step * plain / (1 + np.abs(plain))


_SHARE = 200  # of the work allowed to a machine, for those that follow one that did not converge


@dataclass(frozen=True)
class WeightGrid:
    """The m of a grid of weights and how its machines are fitted; ``seed`` draws the further starts of "psi"."""

    m: int
    method: str = "svm"
    tol: float = 1e-3
    max_iter: int = 10_000
    n_init: int = 1
    seed: int = 0


class GridFamily(WeightFamily):
    """Fits at ``pi = 1/m .. (m-1)/m`` and 1/2, each from its neighbour; all share one store of kernel rows."""

    def __init__(self, expansion: Expansion, y: np.ndarray, weights: np.ndarray, plan: WeightGrid) -> None:
        m, method, self._plan = plan.m, plan.method, plan
        self.m, self.n_iter = m, 0
        grid = np.arange(1, m) / m
        self.pi = grid if m % 2 == 0 else np.sort(np.append(grid, 0.5))
        self._half = int(np.flatnonzero(self.pi == 0.5)[0])
        self._on_grid = np.arange(len(self.pi)) if m % 2 == 0 else np.delete(np.arange(len(self.pi)), self._half)
        require_resolution(expansion, weights, y)
        largest = 2 * float(weights.max()) * (2 if method == "psi" else 1)
        self._family = KinkedFamily(expansion, intercept=True, largest=largest, tol=plan.tol, max_iter=plan.max_iter)
        coef: np.ndarray = np.empty((expansion.shape[1], len(self.pi)))
        scores, self.intercept = np.empty((len(y), len(self.pi))), np.empty(len(self.pi))
        svms = self._fit_svms(y, weights)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not finite is refused
            for j, found, column, objective in svms if method == "svm" else self._fit_psis(y, weights, svms):
                self._check_finite(j, found, column, objective)
                coef[:, j], self.intercept[j] = column, found.intercept
                scores[:, j] = found.gradient + y + found.intercept
                self.n_iter += found.n_iter
                self.converged = self.converged and found.converged
                if j == self._half:
                    self.plain = _plain(found, column, objective, plan.tol)
        if isinstance(expansion, KernelColumns):
            coef = expansion.balanced(coef)
        self.scorer: Any = expansion.scorer(coef)
        self._support = expansion.support(coef)
        self.training = bracket(scores[:, self._on_grid])

    def _check_finite(self, j: int, found: BoxSolution, coef: np.ndarray, objective: float) -> None:
        """Refuse a machine that is not a number, or whose certificate is none."""
        numbers = found.intercept, objective, min(found.gap, found.violation)
        if not (np.isfinite(numbers).all() and np.isfinite(coef).all()):
            raise ValueError(
                f"The machine of class weight {self.pi[j]:g} ended with numbers that are not finite: the rows, their "
                "kernel or C times sample_weight are too large or too small for double precision. Standardise the "
                "columns of X, or scale the kernel, C or the weights."
            )

    def _outward(self) -> Any:
        """Weights from 1/2 to both ends, each with the neighbour it starts from; swapped labels mirror the order."""
        yield self._half, None
        for j in range(self._half + 1, len(self.pi)):
            yield j, j - 1
        for j in range(self._half - 1, -1, -1):
            yield j, j + 1

    def _costs(self, y: np.ndarray, weights: np.ndarray, j: int) -> np.ndarray:
        return 2 * weights * np.where(y > 0, 1 - self.pi[j], self.pi[j])

    def _fit_svms(self, y: np.ndarray, weights: np.ndarray) -> Any:
        known: dict[int, BoxSolution] = {}
        for j, neighbour in self._outward():
            cost, start = self._costs(y, weights, j), None
            box = BoxQP(y, np.where(y > 0, 0.0, -cost), np.where(y > 0, cost, 0.0))
            if neighbour not in (None, self._half):
                start = self._ahead(j, neighbour, known, box)
            elif neighbour is not None:  # multipliers keep their place between the bounds
                start = Iterate(known[neighbour].u * (cost / self._costs(y, weights, neighbour)))
            found, coef = self._family.solve(box, start)
            if not found.converged:  # nor will the family: no full price for every machine of it
                self._family.max_iter = max(1, self._plan.max_iter // _SHARE)
            known = {j: found} | {k: one for k, one in known.items() if k in (neighbour, self._half)}
            yield j, found, coef, found.primal

    def _ahead(self, j: int, neighbour: int, known: dict[int, BoxSolution], box: BoxQP) -> Iterate:
        """Where the straight line through the last two of a side leads: solutions are piecewise linear in the weight.

        So are the bounds, and multipliers on one stay on it; the gradient follows the line too and need not be summed.
        """
        last, before = known[neighbour], known[2 * neighbour - j]
        t = (self.pi[j] - self.pi[neighbour]) / (self.pi[neighbour] - self.pi[2 * neighbour - j])
        u, G = (1 + t) * last.u - t * before.u, (1 + t) * last.gradient - t * before.gradient
        near = _ROUNDING * (box.hi - box.lo)
        u = np.where(np.abs(u - box.hi) <= near, box.hi, np.where(np.abs(u - box.lo) <= near, box.lo, u))
        return Iterate(u, G)

    def _fit_psis(self, y: np.ndarray, weights: np.ndarray, svms: Any) -> Any:
        last: dict[int, PsiSolution] = {}
        for (j, svm, _, _), (_, neighbour) in zip(svms, self._outward(), strict=True):
            cost = self._costs(y, weights, j)
            given_up = lies_beyond(y * (svm.gradient + y + svm.intercept))
            best = solve_psi(self._family, y, cost, given_up, svm.u)
            if neighbour is not None and not np.array_equal(last[neighbour].given_up, given_up):
                other = solve_psi(self._family, y, cost, last[neighbour].given_up, last[neighbour].box.u)
                best = other if other.objective < best.objective - 1e-12 * abs(best.objective) else best
            for given_up, u in self._halves(y, cost):
                other = solve_psi(self._family, y, cost, given_up, u)
                best = other if other.objective < best.objective - 1e-12 * abs(best.objective) else best
            last = {j: best} | {k: last[k] for k in (self._half,) if k in last}
            yield j, best.box, best.coef, best.objective

    def _halves(self, y: np.ndarray, cost: np.ndarray) -> Any:
        """Further starts of a descent: the machines of random halves of the rows, both classes among them."""
        random = np.random.default_rng(self._plan.seed)
        for _ in range(self._plan.n_init - 1):
            half = random.random(len(y)) < 0.5
            for side in (-1, 1):
                half[random.choice(np.flatnonzero(y == side))] = True
            part = np.where(half, cost, 0.0)
            found, _ = self._family.solve(BoxQP(y, np.where(y > 0, 0.0, -part), np.where(y > 0, part, 0.0)), None)
            yield lies_beyond(y * (found.gradient + y + found.intercept)), found.u

    def _scores(self, X: Any) -> tuple[Bracket, np.ndarray]:
        scores = self.scorer(X) + self.intercept
        return bracket(scores[:, self._on_grid]), scores[:, self._half].astype(X.dtype, copy=False)

    def attributes(self, rows: np.ndarray) -> dict[str, Any]:
        found = {"weights_": self.pi, "intercept_": self.intercept}
        if isinstance(self.scorer, KernelScore):
            if self.scorer.kernel.origin is not None:
                found["intercept_"] = self.intercept + self.scorer.at_zero
            return found | {"support_": rows[self._support], "dual_coef_": self.scorer.coef.T}
        return found | {"coef_": self.scorer.coef.T}

    def detach(self, rows: np.ndarray, X: Any) -> GridFamily:
        super().detach(rows, X)
        del self._family, self._plan  # in double precision: on a boundary the last digits decide between probabilities
        if isinstance(self.scorer, KernelScore) and self.scorer.kernel.precomputed:
            # the columns a user passes are counted over all training rows
            self.scorer = KernelScore(self.scorer.kernel, rows[self._support], self.scorer.coef)
        return self


class PathFamily(WeightFamily):
    """The exact path: scores are affine in pi between breakpoints, so every sign change is a root, not a grid cell."""

    def __init__(
        self, X: Any, y: np.ndarray, weights: np.ndarray, kernel: Kernel | None, n_rows: float, tol: float
    ) -> None:
        options: dict[str, Any] = {"sample_weight": weights}
        if kernel is not None:
            options |= {"kernel": kernel.name, "gamma": kernel.gamma, "degree": kernel.degree, "coef0": kernel.coef0}
        self.path = weight_path(X, y, **options)
        low, high = self.path.range
        if not low <= 0.5 <= high:
            raise ValueError(
                f"engine='path' could follow the class weights from {low:.6g} to {high:.6g} only, without 1/2: "
                "similarities differ by little more than rounding. Use engine='grid', scale the features or use a "
                "rougher kernel (a larger gamma)."
            )
        plain = self.path.at(0.5)
        self.plain = replace(plain, converged=plain.converged and plain.gap <= tol)
        self.converged = self.plain.converged
        self.n_iter = self.path.n_events
        self.edge = 1 / (2 * max(2.0, n_rows))
        knots = np.clip(self.path.breakpoints, max(low, self.edge), min(high, 1 - self.edge))
        self.knots = np.unique(np.concatenate([[max(low, self.edge)], knots, [min(high, 1 - self.edge)]]))
        self.training = self.bracket(X)

    def _segments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The ends of the segments, and values just inside: at a knot itself the intercept may jump."""
        left, right = self.knots[:-1], self.knots[1:]
        inset = 1e-6 * (right - left)
        return left, right, left + inset, right - inset

    @cached_property
    def _scorer(self) -> Callable[[Any], np.ndarray]:
        """Scores just inside both ends of every segment and at 1/2, not kept in files."""
        _, _, first, last = self._segments()
        return self.path.scorer(np.concatenate([first, last, [0.5]]))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_scorer"}

    def _scores(self, X: Any) -> tuple[Bracket, np.ndarray]:
        step = max(1, _SCORED // (2 * len(self.knots)))
        found = [self._some_scores(X[k : k + step]) for k in range(0, max(1, X.shape[0]), step)]
        up, down, plain = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return Bracket(up, down, 1.0), plain

    def _some_scores(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The ends of the brackets and the plain scores of so few rows that their scores stay in fast memory."""
        left, right, first, last = self._segments()
        scores = self._scorer(X)
        ends, plain = scores[:, :-1], scores[:, -1].copy()
        a, b = ends[:, : len(first)], ends[:, len(first) :]
        slope = (b - a) / (last - first)
        zero = zero_level(ends)
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.clip(first - a / slope, left, right)
        last_positive = np.where(b > zero, right, np.where(a > zero, root, 0.0))
        first_negative = np.where(a < -zero, left, np.where(b < -zero, root, 1.0))
        up = np.clip(last_positive.max(axis=1), self.edge, 1 - self.edge)
        down = np.clip(first_negative.min(axis=1), self.edge, 1 - self.edge)
        return up, down, plain

    def answer(self, X: Any) -> tuple[Bracket, np.ndarray]:
        """The probabilities are continuous here, and centred they are the scores: both rank rows alike."""
        found = self.bracket(X)
        return found, found.probability - 0.5

    def attributes(self, rows: np.ndarray) -> dict[str, Any]:
        return {"weights_": self.knots, "path_": self.path}


def _plain(found: BoxSolution, coef: np.ndarray, objective: float, tol: float) -> Solution:
    """The fit at 1/2. ``tol`` bounds the violation, the coarser measure where costs are too large to be summed up."""
    by_value = found.gap <= tol
    return Solution(
        coef,
        found.intercept,
        found.u,
        objective,
        found.gap if by_value else found.violation,
        max(1, found.n_iter),
        found.converged,
        "duality gap" if by_value else "KKT violation",
        history=[objective],
        intercept_interval=found.interval,
    )

"""Box QPs over one matrix of inner products: pair steps while they last, an interior point where they crawl.

Pair steps crawl where the bounds allow scores far larger than those of the optimum: a linear kernel of columns in the
thousands, a polynomial one, features whose rows nearly all end at their corner. The other route is ``K = ZZ'`` by a
Cholesky factorisation with pivots (of as many columns as K has rank; features as they are where they have fewer columns
than rows), some twenty steps of ``interior_point`` on the rows of Z, and the box QP's own finish on K itself.

A matrix given by a user may be semidefinite only up to a rounding coarser than that of doubles: similarities made in
single precision, divided by the lengths of their rows, have eigenvalues down to some -1e-7. Its box QP is not convex,
and none of the routes ends. There the eigenvalues beyond the most negative one take its place: the others, of either
sign, are rounding. In the spectral norm no semidefinite matrix is nearer (Higham 1988).

Of few rows it is not known beforehand, and pair steps are given as much time as the other route takes. Of many rows
the two take turns of growing length, an interior point at once where bounds are large. Its factor need not be exact:
what is left of K is semidefinite with entries up to that of its diagonal, and moves scores by no more than its product
with the multipliers. Smooth kernels have thousands of eigenvalues beyond rounding and some hundreds that the tolerance
sees (Fine and Scheinberg 2001). Where nearly as many columns as rows are needed, steps are found by K itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg.lapack import dpotrf, dpstrf

from softmargin.expansions import DenseFeatures, Expansion, fits
from softmargin.solvers.linalg import PivotedCholesky, add_to_diagonal
from softmargin.solvers.svm.box_qp import (
    EXACT_ROWS,
    FINEST,
    FREE_PER_DIMENSION,
    ROUGH,
    BoxQP,
    BoxSolution,
    Iterate,
    box_report,
    finish_box_qp,
    is_refined,
    pair_steps,
    solve_box_qp,
)
from softmargin.solvers.svm.interior_point import interior_point
from softmargin.solvers.svm.kernel_rows import GramRows
from softmargin.solvers.svm.linear import STIFF, settle

__all__ = ["GramMachines"]

Array = NDArray[np.floating[Any]]

# A working set counts 2000 pair steps of a nanosecond per row; an interior point takes some three milliseconds and some
# twenty products of the columns (200 to 1000 rows of 10 to 1000 columns; ``python -m benchmarks growth``).
_ROWS_OF_A_SET, _COLUMNS_SQUARED_PER_SET = 1500, 6000
# Of many rows: so many working sets take as long as an interior point on so many columns (1000 to 10000 rows). Beyond
# the most, factors fill memory. By the products of all rows a step takes as long as on such a share of them as columns.
_LOOK, _COLUMNS, _MOST_COLUMNS = 200, 750, 3000
_SHARE = 0.47
_SQUARES = 3  # matrices of all rows that such a step holds
_FINER = 100  # times the accuracy of a factor that has not done
_FAR = 1e8  # scores that a multiplier at its bound allows: beyond, sums of them hold no digits of a score of one
_FINISH = 50  # working sets that the finish may take
_EPS = float(np.finfo(np.float64).eps)
_SINGLE = float(np.finfo(np.float32).eps)
_ROUNDING = 10 * _EPS  # per row, of the largest similarity: what a factor of a semidefinite matrix leaves of it


class GramMachines:
    """Solves boxes over one store of rows, whose ``diagonal`` is known, and ``features`` where these are few."""

    def __init__(self, rows: GramRows, diagonal: Array, features: Expansion | None = None) -> None:
        self.rows, self.diagonal, self._features = rows, diagonal, features
        self._many = rows.whole is None or rows.n > EXACT_ROWS
        self.crawls = False  # pair steps have, or will
        self._factor = PivotedCholesky(self._column, diagonal)
        self._root: tuple[float, Array, DenseFeatures] | None = None  # a ridge, the matrix with it, and its factor
        rows.lengths = np.sqrt(np.maximum(diagonal, 0.0))

    @property
    def _patience(self) -> int:
        """Working sets that take as long as an interior point on so many rows and columns."""
        n, columns = self.rows.n, self.rows.n if self._features is None else self._features.shape[1]
        return 1 + _ROWS_OF_A_SET // n + columns * columns // _COLUMNS_SQUARED_PER_SET

    def solve(self, box: BoxQP, start: Array | Iterate | None, tol: float, max_iter: int) -> BoxSolution:
        """The solution; bounds far beyond the scores are tried nearer first: the same problem, if none is met."""
        near = _FAR / max(float(self.diagonal.max(initial=0.0)), _EPS)
        if box.largest > near and box.total == 0:
            nearer = BoxQP(box.q, np.maximum(box.lo, -near), np.minimum(box.hi, near), box.intercept)
            found = self._solve(nearer, start, tol, max_iter)
            if found.converged and float(np.abs(found.u).max(initial=0.0)) < near:
                return box_report(box, Iterate(found.u, found.gradient, found.n_iter), tol)
        return self._solve(box, start, tol, max_iter)

    def _solve(self, box: BoxQP, start: Array | Iterate | None, tol: float, max_iter: int) -> BoxSolution:
        """By the route that is quicker; where pair steps have crawled, the family's next ones are given none."""
        if self._many:
            return self._by_turns(box, start, tol, max_iter)
        found = None
        if not self.crawls:
            found = self._by_pairs(box, start, tol, max_iter)
            if not self.crawls:
                return found
        other = _solve_factored(self.rows, self._features, box, tol) if self._features else None
        if other is None:
            if found is not None:
                start = found.u
            elif isinstance(start, Iterate):
                start = start.u  # its gradient may be that of the rows as they were given
            return solve_box_qp(self.rows, box, start=start, tol=tol, max_iter=max_iter)
        other = self._finished(box, other, tol, max_iter)
        return other if found is None or other.converged or other.gap <= found.gap else found

    def _finished(self, box: BoxQP, found: BoxSolution, tol: float, max_iter: int) -> BoxSolution:
        """An interior point's solution, or what few pair steps make of it."""
        if found.converged or found.violation <= self.rows.noise(found.u):
            return found
        few = min(max_iter, _FINISH + self._patience)
        again = solve_box_qp(self.rows, box, start=found.u, tol=tol, max_iter=few)
        return again if again.violation < found.violation else found

    def _by_turns(self, box: BoxQP, start: Array | Iterate | None, tol: float, max_iter: int) -> BoxSolution:
        """Pair steps and interior points by turns, until one of them has done."""
        factor, left, error = self._factor, max_iter, None
        for sets, most in self._turns(box):
            if sets:
                point, reached = pair_steps(self.rows, box, start=start, tol=max(tol, ROUGH), max_iter=min(sets, left))
                start, stands = point, point.n_iter < min(sets, left)
                left -= point.n_iter
                if reached or stands or left <= 0:
                    found = solve_box_qp(self.rows, box, start=point, tol=tol, max_iter=min(sets, max(left, 1)))
                    left -= found.n_iter
                    if found.converged or left <= 0 or found.violation <= self.rows.noise(found.u):
                        return found
                    start = Iterate(found.u, found.gradient)
            error = _harmless(box, start, tol) if error is None else error
            other = None
            if factor.grow(error, int(min(most, _SHARE * self.rows.n))):
                other = _solve_factored(self.rows, DenseFeatures(factor.columns), box, tol)
            elif _SHARE * self.rows.n <= most and fits(_SQUARES * 8 * self.rows.n**2):
                other = self._by_products(box, tol, max(error, factor.rounding))
            if other is not None:
                self.crawls = True
                if other.converged or error <= factor.rounding:
                    return self._finished(box, other, tol, max_iter)
                error /= _FINER
            elif most >= min(_MOST_COLUMNS, self.rows.n):
                break
        return solve_box_qp(self.rows, box, start=start, tol=tol, max_iter=max(left, 1))

    def _turns(self, box: BoxQP) -> Iterator[tuple[int, int]]:
        """Working sets, then columns for an interior point; four times as many sets, twice the columns, and so on.

        Each turn takes as long as the other may, so that no problem costs much more than by the quicker way. Where
        bounds are large, as polynomials make them, few columns may do at once.
        """
        if self.crawls:
            yield 0, _MOST_COLUMNS
        elif float(self.diagonal.max(initial=0.0)) * box.largest > STIFF:
            yield 0, _COLUMNS // 4
        sets, most = _LOOK if box.intercept else _LOOK // 2, _COLUMNS  # single steps take longer than pairs
        while True:
            yield sets, most
            sets, most = 4 * sets, 2 * most

    def _by_products(self, box: BoxQP, tol: float, ridge: float) -> BoxSolution | None:
        """The box QP by an interior point on all similarities, whose diagonal has grown by what is harmless."""
        if self._root is None or self._root[0] != ridge:
            K = self.rows.block(np.arange(self.rows.n))
            add_to_diagonal(K, ridge)
            L, info = dpotrf(K.T, lower=1, clean=1)
            if info != 0:
                return None
            self._root = ridge, K, DenseFeatures(np.ascontiguousarray(L))
        return _solve_factored(self.rows, self._root[2], box, tol, self._root[1])

    def _column(self, at: int) -> Array:
        out = np.zeros(self.rows.n)
        self.rows.add(np.array([at]), np.ones(1), out)
        return out

    def _by_pairs(self, box: BoxQP, start: Array | Iterate | None, tol: float, max_iter: int) -> BoxSolution:
        """The point reached before patience ended; whether pair steps crawl is known from then on."""
        few = min(self._patience, max_iter)
        point, reached = pair_steps(self.rows, box, start=start, tol=max(tol, ROUGH), max_iter=few)
        most = min(max_iter, point.n_iter + few + _FINISH) if reached else point.n_iter
        polish = not reached or is_refined(self.rows.n, tol)
        found = finish_box_qp(self.rows, box, point, tol=tol, max_iter=most, polish=polish)
        if not found.converged and found.violation > self.rows.noise(found.u):
            self.crawls = True
            if self._features is None:
                self._factorise()
        return found

    def _factorise(self) -> None:
        """Make the features, and from them the rows again where no features have these as their products."""
        K = self.rows.whole
        assert K is not None
        Z = _cholesky_factor(K)
        if np.abs(K - Z @ Z.T).max(initial=0.0) > _ROUNDING * len(K) * float(self.diagonal.max(initial=0.0)):
            nearest = _spectral_factor(K, np.sqrt(np.maximum(self.diagonal, 0.0)))
            if nearest is not None:
                Z, self.rows = nearest, GramRows.of(nearest @ nearest.T)
        self._features = DenseFeatures(Z)


def _cholesky_factor(K: Array) -> Array:
    """``Z`` with ``K = ZZ'``, one column for each direction of a semidefinite matrix."""
    c, pivots, rank, _ = dpstrf(K.T, lower=1)
    Z = np.zeros((len(K), rank))
    Z[pivots - 1] = np.tril(c)[:, :rank]
    return Z


def _spectral_factor(K: Array, lengths: Array) -> Array | None:
    """The same of the eigenvalues that are more than rounding, whose size the most negative one tells.

    None where that is more than single precision rounds: no such matrix is meant to be semidefinite.
    """
    lengths = np.where(lengths > 0, lengths, 1.0)
    values, vectors = linalg.eigh(K / lengths / lengths[:, None], check_finite=False)
    if -values[0] > len(K) * _SINGLE:
        return None
    kept = values > -values[0]
    return np.ascontiguousarray(lengths[:, None] * vectors[:, kept] * np.sqrt(values[kept]))


def _harmless(box: BoxQP, start: Array | Iterate | None, tol: float) -> float:
    """What the similarities may be wrong by: with multipliers at their bounds, of any sign, scores are by ``tol``."""
    u = np.zeros_like(box.q) if start is None else start.u if isinstance(start, Iterate) else start
    sizes = np.maximum(np.abs(box.lo), np.abs(box.hi))
    length = float(np.linalg.norm(np.where(np.isfinite(sizes), sizes, np.abs(u))))
    return tol / length if length > 0 else 0.0


def _solve_factored(
    rows: GramRows, features: Expansion, box: BoxQP, tol: float, products: Array | None = None
) -> BoxSolution | None:
    """The box QP by an interior point on the features; None where the box has no interior.

    Rows whose bounds are equal do not move: their multipliers are a fixed part of the weights.
    """
    moving = np.flatnonzero(box.lo < box.hi)
    u = box.lo.copy()
    u[moving] = 0.0
    inner, w0 = box.take(moving, box.total - float(u.sum())), features.transpose(u)
    if box.intercept and not inner.lo.sum() < inner.total < inner.hi.sum():
        return None
    part = features.take(moving)
    among = products if products is None or len(moving) == len(products) else products[np.ix_(moving, moving)]
    point = interior_point(part, inner, w0=w0, tol=min(tol, FINEST), products=among)
    v = point.u.copy()
    settle(v, inner.q - part.apply(point.w) - point.intercept, inner)
    u[moving] = v
    free = np.count_nonzero((u > box.lo) & (u < box.hi))
    # the equations of many free points of few columns take longer than all steps, and leave nearly all ways open
    if not is_refined(rows.n, tol) and free > FREE_PER_DIMENSION * (1 + features.shape[1]):
        found = finish_box_qp(rows, box, Iterate(u.copy(), None, point.n_iter), tol=tol, max_iter=1, polish=False)
        if found.converged:
            return found
    return finish_box_qp(rows, box, Iterate(u, None, point.n_iter), tol=tol, max_iter=point.n_iter + _FINISH)

"""Box QPs over one matrix of inner products: pair steps while they last, an interior point where they crawl.

Pair steps crawl where the bounds allow scores far larger than those of the optimum: a linear kernel of columns in the
thousands, a polynomial one, features whose rows nearly all end at their corner. The other route is ``K = ZZ'`` by a
Cholesky factorisation with pivots (of as many columns as K has rank; features as they are where they have fewer columns
than rows), some twenty steps of ``interior_point`` on the rows of Z, and the box QP's own finish on K itself.

A matrix given by a user may be semidefinite only up to a rounding coarser than that of doubles: similarities made in
single precision, divided by the lengths of their rows, have eigenvalues down to some -1e-7. Its box QP is not convex,
and none of the routes ends. There the eigenvalues beyond the most negative one take its place: the others, of either
sign, are rounding. In the spectral norm no semidefinite matrix is nearer (Higham 1988).

Of few rows it is not known beforehand, and pair steps are given as much time as the other route takes. Many rows are
factored where their bounds are large or pair steps have taken as long as that, and only as long as few columns do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg.lapack import dpstrf

from softmargin.expansions import DenseFeatures, Expansion
from softmargin.solvers.linalg import pivoted_cholesky
from softmargin.solvers.svm.box_qp import (
    EXACT_ROWS,
    FINEST,
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
_LOOK = 200  # working sets that take as long as to look for those columns (2000 to 10000 rows)
_MOST_COLUMNS = 400  # of a factor of many rows: an interior point on so many takes as long as working sets mostly do
_FAR = 1e8  # scores that a multiplier at its bound allows: beyond, sums of them hold no digits of a score of one
_STEPS = 100
_FINISH = 50  # working sets that the finish may take
_EPS = float(np.finfo(np.float64).eps)
_SINGLE = float(np.finfo(np.float32).eps)
_ROUNDING = 10 * _EPS  # per row, of the largest similarity: what a factor of a semidefinite matrix leaves of it


class GramMachines:
    """Solves boxes over one store of rows, whose ``diagonal`` is known, and ``features`` where these are few."""

    def __init__(self, rows: GramRows, diagonal: Array, features: Expansion | None = None) -> None:
        self.rows, self.diagonal, self._features = rows, diagonal, features
        self._many = rows.whole is None or rows.n > EXACT_ROWS
        self.crawls = self._looked = False  # pair steps have, or will; whether many rows are of low rank
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
        found = None
        if self._many:
            start = self._look(box, start, tol, max_iter)
        elif not self.crawls:
            found = self._by_pairs(box, start, tol, max_iter)
            if not self.crawls:
                return found
        other = _solve_factored(self.rows, self._features, box, tol) if self.crawls and self._features else None
        if other is None:
            if found is not None:
                start = found.u
            elif isinstance(start, Iterate) and not self._many:
                start = start.u  # its gradient may be that of the rows as they were given
            return solve_box_qp(self.rows, box, start=start, tol=tol, max_iter=max_iter)
        if not other.converged and other.violation > self.rows.noise(other.u):
            again = solve_box_qp(
                self.rows, box, start=other.u, tol=tol, max_iter=min(max_iter, _FINISH + self._patience)
            )
            other = again if again.violation < other.violation else other
        return other if found is None or other.converged or other.gap <= found.gap else found

    def _look(self, box: BoxQP, start: Array | Iterate | None, tol: float, max_iter: int) -> Array | Iterate | None:
        """Look for a low rank where bounds are large or pair steps have taken as long; where they have come to."""
        if self._looked:
            return start
        if float(self.diagonal.max(initial=0.0)) * box.largest <= STIFF:
            aim = tol if tol >= ROUGH else ROUGH
            start, reached = pair_steps(self.rows, box, start=start, tol=aim, max_iter=min(_LOOK, max_iter))
            if reached or max_iter <= _LOOK:
                return start
        self._features, self._looked = _low_rank(self.rows, self.diagonal), True
        self.crawls = self._features is not None
        return start

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


def _low_rank(rows: GramRows, diagonal: Array) -> DenseFeatures | None:
    """The same from few rows of the matrix, that of the largest remainder next; None where few do not do."""

    def column(at: int) -> Array:
        out = np.zeros(rows.n)
        rows.add(np.array([at]), np.ones(1), out)
        return out

    found = pivoted_cholesky(column, diagonal, _MOST_COLUMNS)
    return None if found is None else DenseFeatures(found[0])


def _solve_factored(rows: GramRows, features: Expansion, box: BoxQP, tol: float) -> BoxSolution | None:
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
    point = interior_point(part, inner, w0=w0, tol=min(tol, FINEST), max_iter=_STEPS)
    v = point.u.copy()
    settle(v, inner.q - part.apply(point.w) - point.intercept, inner)
    u[moving] = v
    return finish_box_qp(rows, box, Iterate(u, None, point.n_iter), tol=tol, max_iter=point.n_iter + _FINISH)

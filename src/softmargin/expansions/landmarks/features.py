"""Landmark features of some rows, made a block at a time and held only where they fit and something asks for them.

Scores and gradients are products with similarities, ``Phi beta = K_nm (L^-T beta)``: a block of rows is one matrix
product and one function of its entries, used while it is in cache and forgotten, or kept where all of them fit in a
share of the memory. Products are accumulated in double precision whatever the rows are given in, so that what single
precision rounds is the kernel and not the certificate. Hessians, columns and inner products of rows ask for ``Phi``
itself, which is made once where it fits (``is_resident``) and a block at a time where it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin._threads import in_threads, one_blas_thread
from softmargin.expansions import memory
from softmargin.expansions.features import DenseFeatures, Features, ManyTerm, Sums, parts_of, totals_of
from softmargin.expansions.landmarks.basis import LandmarkBasis
from softmargin.expansions.protocol import Array, Rows, Sampled, Term, Totals

__all__ = ["LandmarkFeatures"]

_BLOCK_BYTES = 1 << 22  # of similarities made at once: they stay in cache between the two products with them
_HELD, _KEPT = 0.5, 0.25  # share of the free memory that features, or similarities, may take
_SAMPLED = 1 << 16  # rows of a sample, as many as chunked rows have
# Rows times landmarks squared from where a smooth fit costs less by products with similarities than by Hessians of the
# features (``python -m benchmarks landmarks --only growth``, ``python -m benchmarks thresholds``).
MANY_PAIRS = 3.5e9
_FEW = 3  # columns up to which products one by one are faster than together


class LandmarkFeatures(Features):
    """The features of rows ``X`` in a basis of landmarks; ``n_threads`` share a pass over the rows."""

    def __init__(self, X: Any, basis: LandmarkBasis, n_threads: int = 1) -> None:
        self.X, self.basis, self.n_threads = X, basis, n_threads
        self._size = self.shape[0] * self.shape[1] * self.dtype.itemsize
        self.is_resident = memory.fits(self._size, _HELD)
        # so many features that multiplying with them is all that should be done
        self.is_landmark = not self.is_resident or self.shape[0] * self.shape[1] ** 2 > MANY_PAIRS
        self._blocks_kept: set[int] = set()

    def __getstate__(self) -> dict[str, Any]:
        """Without what the next pass makes again."""
        made = {"_to", "_kept", "dense"}
        return {name: value for name, value in vars(self).items() if name not in made} | {"_blocks_kept": set()}

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], len(self.basis)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if self.X.dtype == np.float32 else np.float64)

    # -- similarities ----------------------------------------------------------------------------------------------

    @cached_property
    def _to(self) -> Callable[[Any], Array]:
        return self.basis.kernel.to(self.basis.landmarks, self.X)

    @cached_property
    def _kept(self) -> Array | None:
        """Room for all similarities, None where they are made again by every pass."""
        if self.n_threads == 1 or self.basis.kernel.precomputed or not memory.fits(self._size, _KEPT):
            return None
        return np.empty(self.shape, dtype=self.dtype)

    def similarities(self, rows: Rows) -> Array:
        """``k(x, landmark)`` of some rows."""
        if self.basis.kernel.precomputed:
            found = self.X[rows][:, self.basis.landmarks]
            return np.asarray(found.toarray() if sparse.issparse(found) else found, dtype=self.dtype)
        return np.asarray(self._to(self.X[rows]), dtype=self.dtype)

    def _block(self, rows: slice) -> Array:
        """The similarities of a block, made by the first pass and read by all others where all of them are kept."""
        kept = self._kept
        if kept is None:
            return self.similarities(rows)
        if rows.start not in self._blocks_kept:
            kept[rows] = self.similarities(rows)
            self._blocks_kept.add(rows.start)
        return np.asarray(kept[rows])

    # -- passes ----------------------------------------------------------------------------------------------------

    def apply(self, coef: Array) -> Array:
        if self._made:
            return self.dense.apply(coef)
        dual = self.basis.dual(np.asarray(coef, dtype=np.float64))
        out = np.empty((self.shape[0], *dual.shape[1:]))

        def fill(stretch: slice) -> None:
            for rows in self._blocks(stretch):
                out[rows] = self._block(rows).astype(np.float64, copy=False) @ dual

        self._share(fill)
        return out

    def transpose(self, r: Array) -> Array:
        if self._made:
            return self.dense.transpose(r)

        def total(stretch: slice) -> Array:
            parts = (self._block(rows).astype(np.float64, copy=False).T @ r[rows] for rows in self._blocks(stretch))
            return np.asarray(sum(parts, start=np.zeros((self.shape[1], *r.shape[1:]))))

        return self.basis.pull(sum(self._share(total)))

    def sweep(self, coef: Array, term: Term, vectors: Sequence[Any] = ()) -> Totals:
        if self._made:
            return self.dense.sweep(coef, term, vectors)
        dual = self.basis.dual(np.asarray(coef, dtype=np.float64))

        def total(stretch: slice) -> Totals:
            done: Totals | None = None
            for rows in self._blocks(stretch):
                similar = self._block(rows)
                wide = similar.astype(np.float64, copy=False)
                response = term(wide @ dual, *parts_of(vectors, rows))
                moments = None
                if response.curvature is not None:
                    moments = DenseFeatures(self.basis.features(similar)).moments(response.curvature)
                here = totals_of(response, wide.T @ response.slope, moments)
                done = here if done is None else done.plus(here)
            assert done is not None
            return done

        first, *others = self._share(total)
        for other in others:
            first = first.plus(other)
        return first._replace(gradient=self.basis.pull(first.gradient))

    def sweep_many(self, coef: Array, term: ManyTerm, vectors: Sequence[Any] = ()) -> Sums:
        if self._made:
            return self.dense.sweep_many(coef, term, vectors)
        dual = self.basis.dual(np.asarray(coef, dtype=np.float64))

        def total(stretch: slice) -> Sums:
            return Sums.total(self._answer(rows, dual, term, vectors) for rows in self._blocks(stretch))

        gradient, *sums = Sums.total(self._share(total)).parts
        return Sums((None if gradient is None else self.basis.pull(gradient), *sums))

    def _answer(self, rows: slice, dual: Array, term: ManyTerm, vectors: Sequence[Any]) -> Sums:
        wide = self._block(rows).astype(np.float64, copy=False)
        few = dual.shape[1] <= _FEW
        scores = np.column_stack([wide @ column for column in dual.T]) if few else wide @ dual
        slopes, sums = term(scores, *parts_of(vectors, rows))
        return Sums((None if slopes is None else wide.T @ slopes, *sums))

    def moments(self, weights: Array) -> tuple[Array, Array]:
        if self.is_resident:
            return self.dense.moments(weights)

        def total(stretch: slice) -> Sums:
            blocks = self._blocks(stretch, self.shape[1])
            return Sums.total(Sums(DenseFeatures(self.rows(rows)).moments(weights[rows])) for rows in blocks)

        second, first = Sums.total(self._share(total)).parts
        return second, first

    def sample(self, vectors: Sequence[Any] = ()) -> Sampled | None:
        n = self.shape[0]
        rows = np.sort(np.random.default_rng(0).permutation(n)[:_SAMPLED])
        return Sampled(self.take(rows), parts_of(vectors, rows), np.full(len(rows), n / len(rows)))

    def _blocks(self, stretch: slice, least: int = 32) -> Iterator[slice]:
        step = max(least, _BLOCK_BYTES // (8 * self.shape[1]))
        for first in range(stretch.start, stretch.stop, step):
            yield slice(first, min(first + step, stretch.stop))

    def _share(self, task: Callable[[slice], Any]) -> list[Any]:
        """The task on equal stretches of the rows, one for each thread; BLAS then has one thread in each."""
        n = self.shape[0]
        _ = self._kept  # made before threads ask for it: cached properties have no lock from Python 3.12 on
        if self.n_threads == 1 or n < 2 * self.n_threads:
            return [task(slice(0, n))]
        ends = np.linspace(0, n, self.n_threads + 1).astype(int)
        with one_blas_thread():
            return in_threads(task, [slice(int(a), int(b)) for a, b in pairwise(ends)], self.n_threads)

    # -- what asks for the features themselves ---------------------------------------------------------------------

    @cached_property
    def dense(self) -> DenseFeatures:
        """All features in memory."""
        n, m = self.shape
        memory.require_memory(self._size, f"The {n} x {m} matrix of landmark features")
        Phi, kept = np.empty((n, m), dtype=self.dtype), len(self._blocks_kept) > 0

        def fill(stretch: slice) -> None:
            for rows in self._blocks(stretch):
                Phi[rows] = self.basis.features(self._block(rows) if kept else self.similarities(rows))

        self._share(fill)
        self.__dict__.pop("_kept", None)
        return DenseFeatures(Phi)

    @property
    def _made(self) -> bool:
        return "dense" in self.__dict__

    def rows(self, at: Rows = slice(None)) -> Any:
        if self._made or (isinstance(at, slice) and at == slice(None)):
            return self.dense.rows(at)
        return self.basis.features(self.similarities(at))

    def take(self, rows: NDArray[np.intp]) -> Any:
        if self._made or not self.is_landmark:
            return self.dense.take(rows)
        return LandmarkFeatures(self.X[rows], self.basis, self.n_threads)

    def gram(self, weights: Array) -> Array:
        return self.moments(weights)[0]

    def squared_norms(self, weights: Array | None = None) -> Array:
        return self.dense.squared_norms(weights)

    def columns(self, at: NDArray[np.intp]) -> Any:
        return self.dense.columns(at)

    def outer(self) -> Array:
        return self.dense.outer()

    def diagonal(self) -> Array:
        return self.dense.diagonal()

    def select(self, columns: NDArray[np.intp]) -> DenseFeatures:
        return self.dense.select(columns)

    def centered(self) -> tuple[DenseFeatures, Array] | None:
        n = self.shape[0]
        few = DenseFeatures(self.rows(np.unique(np.linspace(0, n - 1, 128).astype(np.intp))))
        return None if few.centered() is None else self.dense.centered()

    def scorer(self, coef: Array) -> Callable[[Any], Array]:
        return self.basis.scorer(coef)

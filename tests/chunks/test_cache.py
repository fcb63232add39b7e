"""The cache of chunks gives back what it was given, to however many threads that ask at once."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from softmargin.expansions.chunks.cache import ChunkCache
from softmargin.expansions.chunks.chunk import Chunk

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize(
    "rows",
    [
        X,
        np.asfortranarray(X),
        X[::2],
        X.astype(np.float32),
        X[:0],
        sparse.csr_array(X * (X > 1)),
        sparse.csr_array((5, 3)),
    ],
    ids=["rows", "columns", "strided", "single", "none", "sparse", "zeros"],
)
@pytest.mark.parametrize("weighted", [True, False])
def test_a_chunk_comes_back_as_it_went(rows, weighted):
    n = rows.shape[0]
    cache = ChunkCache()
    for number in range(8):
        cache.put(number, Chunk(rows, np.arange(n), np.ones(n) if weighted else None, 7 * number))
    with ThreadPoolExecutor(4) as pool:
        for number, found in enumerate(pool.map(cache.get, [*range(8)] * 20)):
            np.testing.assert_array_equal(dense(found.X), dense(rows))
            assert found.X.dtype == rows.dtype
            np.testing.assert_array_equal(found.y, np.arange(n))
            assert (found.weight is not None) == weighted
            assert found.first == 7 * (number % 8)


def test_a_chunk_without_room_is_not_kept():
    cache = ChunkCache(limit=X.nbytes)
    cache.put(0, Chunk(X, np.arange(40), None, 0))
    assert 0 not in cache

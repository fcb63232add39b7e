"""Rows that are repeated are one row of a path: the kinds and their order do not depend on how they are sorted."""

import numpy as np
import pytest
from scipy import sparse

from softmargin import paths
from softmargin.paths.exact import svm


@pytest.mark.parametrize("n", [1, 2, 50])
def test_kinds_of_rows_are_the_same_however_they_are_sorted(monkeypatch, n):
    rng = np.random.default_rng(n)
    rows = rng.integers(-1, 2, size=(n, 3)) * 1.0
    rows[rows == 0] = rng.choice([0.0, -0.0], size=np.count_nonzero(rows == 0))
    first, member = svm._merged(rows)
    monkeypatch.setattr(svm, "_FEW_KEYS", 0)
    other_first, other_member = svm._merged(rows)
    np.testing.assert_array_equal(rows[first], rows[other_first])
    np.testing.assert_array_equal(member, other_member)
    np.testing.assert_array_equal(rows[first][member], rows)


def test_sparse_rows_of_few_columns_have_the_path_of_the_dense_ones():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((120, 4)) < 0.5, 0.0, rng.normal(size=(120, 4)) + 3)
    y = rng.random(120) < 0.5
    dense = paths.weight_path(X, y, C=1.0)
    other = paths.weight_path(sparse.csr_array(X), y, C=1.0)
    t = np.linspace(0.05, 0.95, 19)
    assert other.gap <= 1e-6
    want = dense.decision_function(X, t)
    np.testing.assert_allclose(other.decision_function(sparse.csr_array(X), t), want, atol=1e-8 * np.abs(want).max())

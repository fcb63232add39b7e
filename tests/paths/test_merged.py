"""Rows that are repeated are one row of a path: the kinds and their order do not depend on how they are sorted."""

import numpy as np
import pytest

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

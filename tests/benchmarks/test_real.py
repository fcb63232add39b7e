"""Tables of races on real sets: absent data and slow fits are named, ratios above the bar stand out."""

from itertools import count

import numpy as np
import pytest

pytest.importorskip("benchmarks._real", reason="benchmarks are importable from the repository root only")

from benchmarks._harness import Absent, Contest, Timed
from benchmarks._real import binary, doubling, limited, table_of


def read(name):
    if name == "absent":
        raise Absent("absent is not in the data directory")
    return np.zeros((4, 2)), np.array([0, 1, 0, 1])


def make(X, y):
    return Contest("", lambda: Timed(1.0, 3.0), {"rival": lambda: Timed(1.0, 2.0)}, lambda r: r, bar=1.0, dream=0.5)


def test_one_line_per_set_with_the_ratio():
    text = table_of(["absent", "toy"], make, read, quick=True)
    assert "absent is not in the data directory" in text
    assert "| toy 4 x 2 | 3 | **1.50** | 2 | rival | 0.0e+00 |" in text


def test_a_fit_that_takes_too_long_is_given_up():
    with pytest.raises(Absent, match="not done in"):
        limited(lambda: all(True for _ in count()), 0.05)()
    assert limited(lambda: 7, 30)() == 7


def test_a_set_that_is_not_here_is_absent(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTMARGIN_DATA", str(tmp_path))
    with pytest.raises(Absent, match="no_such_set"):
        binary("no_such_set")


def test_the_largest_class_stands_against_the_rest():
    _, y = binary("wine")
    assert y.sum() == 71


def test_exponents_of_doublings():
    assert list(doubling([1, 2, 4], [1.0, 4.0, 8.0])) == [(2, 2.0), (4, 1.0)]

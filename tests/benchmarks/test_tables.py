"""The quality race gives everybody the same rows in a form they read, and does nothing twice."""

import numpy as np
import pytest

pytest.importorskip("benchmarks._tables", reason="benchmarks are importable from the repository root only")
pd = pytest.importorskip("pandas")

from sklearn.linear_model import LogisticRegression

from benchmarks._harness import Absent
from benchmarks._tables import Contestant, Memory, Score, encoded, judge, split
from benchmarks.quality import _cube, _ranking
from softmargin import RuleBoostClassifier


def table(n=90):
    rng = np.random.default_rng(0)
    town = rng.choice(["Athens", "Bern"], n)
    size = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    codes = ((town == "Bern") ^ (rng.random(n) < 0.1)).astype(int)
    return pd.DataFrame({"size": size, "town": town}), codes


def test_numbers_are_learnt_from_training_rows_alone():
    frame, codes = table()
    train, test = split(codes)
    changed = frame.copy()
    changed.loc[test, "size"] = 1e6
    np.testing.assert_array_equal(encoded(frame, train)[train], encoded(changed, train)[train])


def test_every_form_of_a_table_is_judged_on_the_same_rows():
    frame, codes = table()
    rules = Contestant(lambda: RuleBoostClassifier(n_rules=3), "raw")
    for one in (Contestant(LogisticRegression), rules):
        score = judge(one, frame, codes)
        assert score.error < 0.35
        assert 0 < score.log_loss < 0.7


def test_results_are_remembered_and_failures_are_results(tmp_path):
    path, calls = tmp_path / "memory.jsonl", []

    def work():
        calls.append(1)
        return Score(0.5, 0.25, 1.0)

    def fails():
        raise Absent("not installed")

    for _ in range(2):
        memory = Memory(path)
        assert memory.recall("toy", "line", "one", work) == [0.5, 0.25, 1.0]
        assert memory.recall("toy", "other", "one", fails) == "not installed"
    assert len(calls) == 1
    Memory(path).recall("toy", "line", "two", work)
    assert len(calls) == 2


def test_means_are_over_tables_that_everybody_finished():
    found = {("a", "x"): [1.0, 0.1, 1.0], ("a", "y"): [2.0, 0.2, 1.0], ("b", "x"): [9.0, 0.9, 1.0], ("b", "y"): "late"}
    names, cube = _cube(found, ["x", "y"])
    assert names == ["a"]
    assert cube.shape == (1, 2, 3)
    text = _ranking(found, ["x", "y"])
    assert "1 tables." in text
    assert "| x | 1 | 0.1 | 1 | 1 |" in text

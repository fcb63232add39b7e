"""Candidates screened through landmarks: the winner is judged exactly and as good as an exhaustive search finds."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from softmargin import MarginClassifier, TunedClassifier, datasets
from softmargin.expansions import Kernel, NystroemFeatures, nested_landmarks

GRID = {"C": 9, "gamma": [0.3, 3.0, 30.0]}


@pytest.fixture(scope="module")
def moons():
    X, y, _ = datasets.make_moons(1000, noise=0.3, flip=0.0, random_state=0)
    return X, y


def test_screening_chooses_as_well_as_judging_every_candidate(moons):
    screened = TunedClassifier(MarginClassifier(kernel="rbf"), grid=GRID).fit(*moons)
    every = TunedClassifier(MarginClassifier(kernel="rbf"), grid=GRID, judging="exact").fit(*moons)
    table = every.results_
    assert "judged" not in table
    assert screened.best_params_["gamma"] == every.best_params_["gamma"]
    assert screened.best_score_ <= every.best_score_ * 1.01
    same = table[table["gamma"] == screened.best_params_["gamma"]].sort_values("C")
    there = np.interp(np.log(screened.best_params_["C"]), np.log(same["C"].astype(float)), same["alo"])
    assert screened.best_score_ == pytest.approx(there, rel=1e-2)


def test_every_candidate_says_how_it_was_judged_and_an_exact_one_wins(moons):
    tuned = TunedClassifier(MarginClassifier(kernel="rbf"), grid=GRID).fit(*moons)
    table = tuned.results_
    assert len(table) == 27
    assert np.isfinite(table["alo"].astype(float)).all()
    best = table[(table["C"] == tuned.best_params_["C"]) & (table["gamma"] == tuned.best_params_["gamma"])]
    assert best["judged"].tolist() == ["exact"]
    assert (table["judged"] == "interpolated").any() or table["judged"].str.contains("landmarks").any()
    plain = MarginClassifier(kernel="rbf", **tuned.best_params_).fit(*moons)
    np.testing.assert_allclose(tuned.decision_function(moons[0]), plain.decision_function(moons[0]), atol=1e-2)


@pytest.mark.parametrize(("rows", "n_costs"), [(499, 10), (500, 9)])
def test_few_rows_and_few_candidates_are_judged_exactly(moons, rows, n_costs):
    X, y = moons[0][:rows], moons[1][:rows]
    tuned = TunedClassifier(MarginClassifier(kernel="rbf"), grid={"C": np.geomspace(0.01, 1, n_costs)}).fit(X, y)
    assert "judged" not in tuned.results_


def test_several_classes_with_names_and_weights_are_screened(moons):
    X, _ = moons
    y = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + 0.1 * np.sin(5 * X[:, 1]), [0.0, 1.0])]
    weight = np.where(X[:, 1] > 0, 2.0, 1.0)
    grid = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0], "gamma": [0.5, 5.0]}
    tuned = TunedClassifier(MarginClassifier(kernel="rbf"), grid=grid).fit(X, y, sample_weight=weight)
    assert tuned.results_["judged"].str.contains("exact").sum() >= 1
    assert tuned.score(X, y) > 0.95
    assert set(tuned.predict(X)) == {"low", "middle", "high"}


def test_a_precomputed_kernel_is_screened_through_its_own_columns(moons):
    X, y = moons
    tuned = TunedClassifier(MarginClassifier(kernel="precomputed"), grid=12).fit(rbf_kernel(X, gamma=3.0), y)
    assert set(tuned.results_["judged"]) >= {"exact", "interpolated"}
    other = TunedClassifier(MarginClassifier(kernel="rbf", gamma=3.0), grid=12).fit(X, y)
    assert np.mean(tuned.predict(rbf_kernel(X, gamma=3.0)) == other.predict(X)) > 0.98


def test_the_smallest_standard_error_rule_needs_all_candidates(moons):
    grid = {"C": np.geomspace(0.1, 10, 10)}
    tuned = TunedClassifier(MarginClassifier(kernel="rbf"), grid=grid, rule="one_se").fit(*moons)
    assert "judged" not in tuned.results_


def test_nested_landmarks_are_those_of_nystroem_and_each_prefix_is_one(moons):
    X = moons[0][:300]
    kernel = Kernel.resolve("rbf", X, moons[1][:300], gamma=1.0)
    F = nested_landmarks(X, kernel, 300, 0).astype(np.float64)
    np.testing.assert_allclose(F @ F.T, rbf_kernel(X, gamma=1.0), atol=2e-2)
    few = F[:, :20]
    chosen = np.flatnonzero(np.abs(np.square(few).sum(axis=1) - 1) < 1e-3)  # landmarks are seen whole
    assert len(chosen) >= 20
    gram = few @ few.T
    error = np.abs(gram - rbf_kernel(X, gamma=1.0))
    assert error[chosen].max() < 2e-2
    assert NystroemFeatures(X, kernel, np.arange(20)).shape[1] <= 20

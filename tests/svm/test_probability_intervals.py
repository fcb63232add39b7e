"""Data-driven grids of weights, further starts of psi-learning, and confidence intervals of bracketed probabilities."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_iris

import softmargin
from softmargin import ProbabilisticSVC, RobustSVC, TunedClassifier, losses


def draw(n, rng):
    X = rng.standard_normal((n, 2))
    p = expit(1.5 * X[:, 0] - X[:, 1])
    return X, (rng.random(n) < p).astype(int)


@pytest.fixture(scope="module")
def rows():
    return draw(80, np.random.default_rng(0))


def test_confidence_intervals_hold_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(1)
    points = np.array([[0.0, 0.0], [0.5, -0.2], [-0.7, 0.0]])
    truth = expit(1.5 * points[:, 0] - points[:, 1])
    held = []
    for seed in range(12):
        model = ProbabilisticSVC(n_weights=12, n_resamples=25, C=3.0, random_state=seed).fit(*draw(150, rng))
        low, high = model.predict_interval_proba(points, level=0.9).T
        held.append((low <= truth) & (truth <= high))
    assert np.mean(held) > 0.75  # 0.9 less three standard errors of 36 draws that are not independent


def test_intervals_grow_with_the_level_and_hold_the_bracket_of_resolution(rows):
    X, y = rows
    model = ProbabilisticSVC(n_weights=10, n_resamples=15, random_state=0).fit(X, y)
    small, large = (model.predict_interval_proba(X, level=level) for level in (0.5, 0.95))
    assert np.all(large[:, 0] <= small[:, 0])
    assert np.all(small[:, 1] <= large[:, 1])
    assert np.all((large >= 0) & (large <= 1))
    bracket = model.predict_interval_proba(X)
    assert np.mean((large[:, 0] <= bracket[:, 1]) & (bracket[:, 0] <= large[:, 1])) > 0.95


@pytest.mark.parametrize("parameters", [{"engine": "path"}, {"kernel": "rbf"}, {"method": "psi", "n_weights": 4}])
def test_every_family_has_intervals_that_survive_a_file(rows, parameters, tmp_path):
    X, y = rows
    model = ProbabilisticSVC(n_resamples=3, **parameters).fit(X, y)
    softmargin.save(model, tmp_path / "model")
    again = softmargin.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_interval_proba(X, level=0.8), model.predict_interval_proba(X, level=0.8))


def test_three_classes_have_an_interval_each():
    X, y = load_iris(return_X_y=True)
    model = ProbabilisticSVC(n_weights=4, n_resamples=3).fit(X, y)
    assert model.predict_interval_proba(X, level=0.9).shape == (150, 3, 2)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_intervals_without_resamples_or_with_a_wrong_level_are_refused(rows):
    with pytest.raises(ValueError, match="n_resamples"):
        ProbabilisticSVC().fit(*rows).predict_interval_proba(rows[0], level=0.9)
    with pytest.raises(ValueError, match="level must be"):
        ProbabilisticSVC(n_weights=4, n_resamples=2).fit(*rows).predict_interval_proba(rows[0], level=2)


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_the_number_of_weights_can_be_left_to_the_data(rows, kernel):
    X, y = rows
    model = ProbabilisticSVC(n_weights="auto", kernel=kernel).fit(X, y)
    assert model.n_weights_ in (4, 5, 8, 10, 20, 40)
    same = ProbabilisticSVC(n_weights=model.n_weights_, kernel=kernel).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))


def test_more_starts_of_psi_learning_never_raise_its_objective():
    for seed in range(3):
        X, y = draw(30, np.random.default_rng(seed))
        one, many = (ProbabilisticSVC(method="psi", C=5.0, n_weights=2, n_init=k).fit(X, y) for k in (1, 12))
        assert many.solution_.objective <= one.solution_.objective * (1 + 1e-9)


def test_tuned_platt_is_one_call(rows):
    machine = RobustSVC(loss=losses.Hinge(), probability="calibrated")
    tuned = TunedClassifier(machine, grid={"C": [0.1, 1.0]}, criterion="gkl", n_draws=3).fit(*rows)
    assert tuned.criterion_ == "gkl"
    assert tuned.predict_proba(rows[0]).shape == (80, 2)

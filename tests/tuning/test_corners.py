"""Criteria of machines whose rows rest on corners, against refits; degrees of freedom from null labels."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression

from softmargin import BalancingSVC, MarginClassifier, RobustSVC, TruncatedLogisticRegression, TunedClassifier
from softmargin.tuning import influence_scores, null_df, soft_errors


@pytest.fixture(scope="module")
def moons():
    return make_moons(50, noise=0.3, random_state=0)


def problem_of(model, X, y, weight=None):
    model._check_parameters()
    data = model._training_set(X, y, weight)
    data.shared = model._prepare(data)
    return model._problem(data, data.signs()), data.counts


def sides(model, X, y):
    """Where each row lies: -1 beyond the corner, 0 on it, 1 before it."""
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    return np.where(np.abs(margins - 1) < 1e-6, 0, np.sign(1 - margins)).astype(int)


@pytest.mark.parametrize(
    "model",
    [
        MarginClassifier(loss="hinge", kernel="rbf", gamma=1.0, C=3.0, tol=1e-10),
        MarginClassifier(loss="hinge", C=0.3, tol=1e-10),
        BalancingSVC(balance=0.5, kernel="rbf", gamma=1.0, tol=1e-10),
    ],
)
def test_left_out_scores_are_exact_where_no_row_changes_sides(moons, model):
    X, y = moons
    problem, counts = problem_of(model, X, y)
    found = influence_scores(problem, np.ones(1), model._solve, counts)[0]
    whole = clone(model).fit(X, y)
    exact = 0
    for row in range(len(y)):
        rest = np.arange(len(y)) != row
        fit = clone(model).fit(X[rest], y[rest])
        if np.array_equal(sides(fit, X[rest], y[rest]), sides(whole, X[rest], y[rest])):
            exact += 1
            assert found[row] == pytest.approx(fit.decision_function(X[~rest])[0], abs=1e-4)
    assert exact >= 5


def test_rows_without_pull_do_not_move_their_score(moons):
    X, y = moons
    model = MarginClassifier(loss="hinge", kernel="rbf", C=3.0, tol=1e-9)
    problem, counts = problem_of(model, X, y)
    found = influence_scores(problem, np.ones(1), model._solve, counts)[0]
    fit = clone(model).fit(X, y)
    idle = np.setdiff1d(np.arange(len(y)), fit.support_)
    np.testing.assert_allclose(found[idle], fit.decision_function(X)[idle], atol=1e-9)


@pytest.mark.parametrize("criterion", ["alo", "gacv", "egacv", "aic", "bic"])
@pytest.mark.parametrize(
    "model",
    [
        RobustSVC(sigma=1.5),
        RobustSVC(loss="cauchy", kernel="rbf"),
        RobustSVC(loss="truncated_hinge", sigma=2.0),
        RobustSVC(loss="truncated_hinge", sigma=2.0, kernel="rbf"),
        RobustSVC(sigma={0: 1.5, 1: 2.5}),
        TruncatedLogisticRegression(scheme=None),
        TruncatedLogisticRegression(scheme=None, leverage="hat"),
        BalancingSVC(),
    ],
)
def test_every_criterion_judges_every_robust_machine(moons, model, criterion):
    tuned = TunedClassifier(model, criterion=criterion, grid={"C": [0.1, 1.0, 10.0]}).fit(*moons)
    assert np.all(np.isfinite(tuned.results_[criterion]))


def test_weights_are_repeats_for_the_criteria_of_corners(moons):
    X, y = moons
    weight = np.where(np.arange(len(y)) % 5 == 0, 2.0, 1.0)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    grid = {"C": [0.5]}
    model = MarginClassifier(loss="hinge", kernel="rbf", gamma=1.0, tol=1e-9)
    one = TunedClassifier(model, criterion="gacv", grid=grid).fit(X, y, weight)
    two = TunedClassifier(model, criterion="gacv", grid=grid).fit(X[rows], y[rows])
    assert one.best_score_ == pytest.approx(two.best_score_, rel=0.05)


def test_null_degrees_of_freedom_are_gains_of_another_library_on_permuted_labels():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 2)), np.tile([-1, 1], 50)
    problem, _ = problem_of(MarginClassifier(), X, y)
    costs = np.array([0.1, 1.0, 100.0])
    df = null_df(problem, costs, MarginClassifier()._solve, n_draws=8, random_state=3)
    draws, gains = np.random.default_rng(3), np.zeros((8, 3))
    for draw in range(8):
        labels = y[draws.permutation(100)]
        for k, C in enumerate(costs):
            scores = LogisticRegression(C=C, tol=1e-10).fit(X, labels).decision_function(X)
            gains[draw, k] = 2 * (100 * np.log(2) - np.logaddexp(0, -labels * scores).sum())
    np.testing.assert_allclose(df, 1 + gains.mean(axis=0), rtol=1e-3)


def test_null_labels_price_any_loss_and_nothing_but_aic_and_bic(moons):
    tuned = TunedClassifier(RobustSVC(loss="truncated_hinge", sigma=2.0), criterion="bic", df="null", n_draws=5)
    assert tuned.set_params(grid={"C": [0.1, 1.0]}).fit(*moons).best_params_
    with pytest.raises(ValueError, match="df='null' is for"):
        TunedClassifier(MarginClassifier(), criterion="cv", df="null").fit(*moons)


@pytest.mark.parametrize("criterion", ["alo", "gacv"])
def test_the_balance_is_chosen_along_the_exact_path(moons, criterion):
    X, y = moons
    found = BalancingSVC.choose(X, y, Cs=[0.3, 3.0], kernel="rbf", gamma=1.0, criterion=criterion)
    C, balances, values = next(curve for curve in found.curves if curve[0] == found.C)
    assert found.value == values.min() == min(curve[2].min() for curve in found.curves)
    assert np.all(np.diff(balances) > 0)
    assert balances[0] == 0
    model = BalancingSVC(balance=found.balance, C=C, kernel="rbf", gamma=1.0, tol=1e-9)
    problem, counts = problem_of(model, X, y)
    problem = replace(problem, weights=problem.weights / C)
    scores = influence_scores(problem, np.array([C]), model._solve, counts)[0]
    if criterion == "alo":
        assert found.value == pytest.approx(soft_errors(y, scores, np.ones(len(y))).mean(), abs=1e-4)
    with pytest.raises(ValueError, match="criterion must be"):
        BalancingSVC.choose(X, y, criterion="cv")


@pytest.mark.parametrize("criterion", ["cv", "alo", "gacv", "egacv", "aic", "bic"])
def test_no_criterion_of_a_machine_with_an_infinite_slope_is_undefined(moons, criterion):
    X, y = moons
    tuned = TunedClassifier(BalancingSVC(balance=np.inf), criterion=criterion, grid=4, random_state=0).fit(X, y)
    assert np.isfinite(tuned.best_score_)
    assert not tuned.results_[criterion].isna().any()

"""Criteria of machines whose rows rest on corners, against refits; degrees of freedom from null labels."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression

from softmargin import BalancingSVC, MarginClassifier, RobustSVC, TruncatedLogisticRegression, TunedClassifier
from softmargin.expansions import expand
from softmargin.tuning import EqualRows, influence_scores, null_df, soft_errors


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


@pytest.mark.parametrize("criterion", ["alo", "gacv", "egacv", "aic", "bic"])
@pytest.mark.parametrize(
    "model",
    [
        MarginClassifier(loss="hinge", tol=1e-9),
        MarginClassifier(loss="hinge", kernel="rbf", gamma=1.0, tol=1e-9),
        BalancingSVC(tol=1e-9),
        BalancingSVC(kernel="rbf", gamma=1.0, class_weight={0: 2.0}, tol=1e-9),
    ],
)
def test_weights_are_repeats_for_the_criteria_of_corners(moons, model, criterion):
    X, y = moons
    weight = np.random.default_rng(5).integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    grid = {"C": [0.03, 0.5, 3.0]}
    one = TunedClassifier(model, criterion=criterion, grid=grid).fit(X, y, weight)
    for repeated in (X[rows], sparse.csr_array(X[rows])):
        two = TunedClassifier(model, criterion=criterion, grid=grid).fit(repeated, y[rows])
        np.testing.assert_allclose(one.results_[criterion], two.results_[criterion], rtol=1e-5)


@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_rows_that_differ_beside_a_column_of_large_numbers_are_not_judged_as_one(moons, container):
    X, y = moons
    far = np.column_stack([1e13 * (np.arange(len(y)) < 2), X])
    for rows in (X, far):
        once, twice = expand(container(rows)), expand(container(np.vstack([rows, rows])))
        assert len(EqualRows.of(once, y).first) == len(y)
        equal = EqualRows.of(twice, np.append(y, y))
        assert len(equal.first) == len(y)
        np.testing.assert_array_equal(*np.split(equal.member, 2))
        assert len(EqualRows.of(twice, np.append(y, 1 - y)).first) == 2 * len(y)


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

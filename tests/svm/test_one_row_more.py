"""One row more changes a fit by that row: no number of rows, of columns or of repeats is a threshold for what is found.

Rows decided the method once: below a thousand a kernel of low rank was refined without end, some shapes had no factor.
"""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from softmargin import BalancingSVC, MarginClassifier, ProbabilisticSVC, TunedClassifier
from softmargin.datasets import make_disk
from softmargin.paths import weight_path

SIZES = (999, 1000, 1001)


@pytest.mark.parametrize(
    "model",
    [
        MarginClassifier(loss="hinge", kernel="rbf"),
        MarginClassifier(loss="hinge", kernel="poly", C=100.0),
        MarginClassifier(loss="squared_hinge", kernel="rbf", C=1e3),
        BalancingSVC(kernel="rbf", gamma=0.5),
        MarginClassifier(kernel="rbf", C=1e3),
        MarginClassifier(loss="hinge", C=1e3),
    ],
    ids=repr,
)
def test_the_objective_grows_by_no_more_than_the_loss_of_the_row_that_is_added(model):
    X, y = make_disk(SIZES[-1], random_state=7)[:2]
    fits = [clone(model).set_params(gamma=0.5).fit(X[:n], y[:n]) for n in SIZES]
    for n, less, more in zip(SIZES, fits, fits[1:], strict=False):
        one, other = less.solution_, more.solution_
        assert one.converged
        assert other.converged
        sign = 1 if y[n] == less.classes_[1] else -1
        added = model.C * less.loss_.value(sign * less.decision_function(X[n : n + 1]))[0]
        room = model.tol * other.objective
        assert one.objective - room <= other.objective <= one.objective + added + room


@pytest.mark.parametrize("rule", ["vertical", "cross"])
def test_probabilities_of_the_disk_hardly_move_with_a_row(rule):
    X, y = make_disk(SIZES[-1], rule=rule, random_state=7)[:2]
    shares = [ProbabilisticSVC(kernel="rbf").fit(X[:n], y[:n]).predict_proba(X)[:, 1] for n in SIZES]
    for one, other in pairwise(shares):
        assert np.abs(one - other).mean() < 0.02


def test_a_few_hundred_rows_of_low_rank_end_as_more_do():
    X, y = make_disk(700, random_state=3)[:2]
    for n in (400, 700):
        model = ProbabilisticSVC(kernel="rbf").fit(X[:n], y[:n])
        assert model.score(X[:n], y[:n]) > 0.7


@pytest.mark.parametrize("shape", [(500, 10), (1999, 10), (8000, 10), (8000, 21)], ids=str)
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3])
def test_redundant_columns_have_probabilities_at_any_number_of_rows(shape, C):
    """Two columns are sums of others, so that no Gram matrix of the columns has a factor."""
    X, y = make_classification(*shape, n_informative=3, n_redundant=2, random_state=0)
    p = ProbabilisticSVC(C=C).fit(X, y).predict_proba(X)[:, 1]
    score = MarginClassifier(loss="hinge", C=C).fit(X, y).decision_function(X)
    clear = np.abs(score) > 0.2
    assert clear.any()
    assert np.mean((p[clear] > 0.5) == (score[clear] > 0)) > 0.99


def _wide(n, rng):
    """As raw expression levels are: far more columns than rows, over five decades, none of them scaled."""
    return np.exp(rng.normal(6, 2, size=(n, 1500))), np.where(np.arange(n) < n // 3, "ALL", "AML")


def _repeated(n, rng):
    """Nine kinds of rows, each with labels of both classes."""
    return 50.0 * rng.integers(0, 3, size=(n, 2)), np.where(rng.random(n) < 0.4, "ALL", "AML")


TABLES = {
    "wide": (_wide, 38),
    "wide, few rows": (_wide, 9),
    "repeated": (_repeated, 200),
    "many repeated": (_repeated, 1200),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("kernel", [{}, {"kernel": "rbf"}, {"kernel": "poly", "degree": 2}], ids=str)
def test_paths_start_on_raw_wide_and_repeated_rows(name, kernel):
    make, n = TABLES[name]
    X, y = make(n, np.random.default_rng(0))
    for C in (1e-4, 1.0):
        with warnings.catch_warnings():  # a path of such costs may say that it is not exact; that it starts is asked
            warnings.simplefilter("ignore", ConvergenceWarning)
            exact = ProbabilisticSVC(engine="path", C=C, **kernel).fit(X, y).predict_proba(X)[:, 1]
            grid = ProbabilisticSVC(engine="grid", n_weights=41, C=C, **kernel).fit(X, y).predict_proba(X)[:, 1]
        assert np.all((exact >= 0) & (exact <= 1))
        assert np.abs(exact - grid).mean() < 0.06  # the grid's brackets are .024 wide


@pytest.mark.parametrize("name", ["wide", "repeated"])
def test_no_draw_keeps_a_covariance_penalty_from_its_end(name):
    make, n = TABLES[name]
    X, y = make(n, np.random.default_rng(1))
    model = ProbabilisticSVC(engine="path", n_weights=9)
    tuned = TunedClassifier(model, grid={"C": [1e-6, 1e-2, 1.0]}, criterion="gkl", n_draws=4, random_state=0).fit(X, y)
    assert np.isfinite(tuned.results_["gkl"]).all()


def test_raw_leukaemia_has_paths_probabilities_and_a_chosen_cost(real_data):
    data = real_data("leukemia_golub", target="target_binary")
    X, y = np.asarray(data.X, dtype=float), data.y
    for C in (1e-4, 1.0):
        path = weight_path(X, y, C=C)
        assert max(path.at(pi).gap for pi in np.linspace(0.02, 0.98, 9)) < 1e-6
    model = ProbabilisticSVC(engine="path", n_weights=9)
    assert model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.8
    tuned = TunedClassifier(model, grid={"C": [1e-6, 1e-3, 1.0]}, criterion="gkl", n_draws=3, random_state=0)
    assert np.isfinite(tuned.fit(X, y).results_["gkl"]).all()

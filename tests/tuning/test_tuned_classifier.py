"""TunedClassifier: every criterion chooses sensibly, paths equal refits, and bad requests are named."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from softmargin import (
    CoherenceClassifier,
    MarginClassifier,
    MulticategorySVC,
    ProbabilisticSVC,
    RobustSVC,
    TruncatedLogisticRegression,
    TunedClassifier,
    datasets,
    losses,
)
from softmargin.estimators._tuning_choice import Candidates
from softmargin.tuning import robust_grid, soft_errors
from softmargin.tuning._judges import PathJudge


@pytest.mark.filterwarnings("ignore:The constant classifier has a lower objective")  # of labels that say nothing
@parametrize_with_checks(
    [
        TunedClassifier(MarginClassifier(tol=1e-10), grid=4),
        # folds, the default of nonconvex losses, cut between the copies of a row where a weight does not
        TunedClassifier(RobustSVC(tol=1e-10), grid=3, criterion="alo"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 30))
    y = np.where(X[:, 0] - X[:, 1] + rng.logistic(size=120) > 0, "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def fresh():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 30))
    return X, np.where(X[:, 0] - X[:, 1] + rng.logistic(size=4000) > 0, "yes", "no")


@pytest.mark.parametrize("criterion", ["alo", "cv", "holdout", "gacv", "egacv", "aic", "bic", "gkl"])
def test_every_criterion_beats_the_ends_of_the_range(data, fresh, criterion):
    tuned = TunedClassifier(MarginClassifier(), grid=9, criterion=criterion, n_draws=8).fit(*data)
    costs = np.sort(tuned.results_["C"].to_numpy())
    logistic = losses.Logistic()

    def new_loss(model):
        sign = np.where(fresh[1] == "yes", 1, -1)
        return logistic.value(sign * model.decision_function(fresh[0])).mean()

    chosen = new_loss(tuned)
    assert chosen < new_loss(MarginClassifier(C=costs[-1]).fit(*data))
    assert chosen <= new_loss(MarginClassifier(C=costs[0]).fit(*data)) + 1e-9


def test_cross_validation_along_the_path_equals_cold_refits(data):
    X, y = data
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    grid = {"C": [0.01, 0.1, 1.0]}
    tuned = TunedClassifier(MarginClassifier(tol=1e-10), grid=grid, criterion="cv", cv=folds).fit(X, y)
    for C, score in zip(tuned.results_["C"], tuned.results_["cv"], strict=True):
        rows = np.empty(len(y))
        for train, test in folds.split(X, y):
            f = MarginClassifier(C=C, tol=1e-10).fit(X[train], y[train]).decision_function(X[test])
            rows[test] = losses.Logistic().value(np.where(y[test] == "yes", 1, -1) * f)
        assert score == pytest.approx(rows.mean(), rel=1e-6)


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_closed_form_leave_one_out_equals_refits(data, kernel):
    X, y = data[0][:25], data[1][:25]
    model = MarginClassifier(loss="least_squares", kernel=kernel, gamma=0.05, tol=1e-12)
    tuned = TunedClassifier(model, grid={"C": [0.3]}, criterion="loo").fit(X, y)
    left_out = []
    for i in range(25):
        rest = np.arange(25) != i
        f = clone(model).set_params(C=0.3).fit(X[rest], y[rest]).decision_function(X[i : i + 1])
        left_out.append((1 - (1 if y[i] == "yes" else -1) * f[0]) ** 2)
    assert tuned.best_score_ == pytest.approx(np.mean(left_out) * losses.LeastSquares().value(0.0), rel=1e-5)


def test_exact_leave_one_out_of_another_loss_is_close_to_the_approximation(data):
    X, y = data[0][:60, :3], data[1][:60]
    exact = TunedClassifier(MarginClassifier(tol=1e-9), grid={"C": [0.1]}, criterion="loo").fit(X, y)
    quick = TunedClassifier(MarginClassifier(tol=1e-9), grid={"C": [0.1]}, criterion="alo").fit(X, y)
    assert quick.best_score_ == pytest.approx(exact.best_score_, rel=1e-2)


def test_one_standard_error_prefers_the_smaller_cost(data):
    best = TunedClassifier(MarginClassifier(), grid=15).fit(*data)
    plain = TunedClassifier(MarginClassifier(), grid=15, rule="one_se").fit(*data)
    assert plain.best_params_["C"] < best.best_params_["C"]
    assert plain.best_score_ <= best.best_score_ + best.results_["std_error"][0]


def test_loss_parameters_and_losses_are_tuned_by_their_probabilities(data):
    heat = TunedClassifier(CoherenceClassifier(), grid={"C": 5, "temperature": [0.3, 1.0]}).fit(*data)
    assert set(heat.best_params_) == {"C", "temperature"}
    assert len(heat.results_) == 10
    which = TunedClassifier(MarginClassifier(), grid={"C": 4, "loss": "auto"}).fit(*data)
    assert which.best_params_["loss"] in losses.available()
    assert which.predict_proba(data[0]).shape == (120, 2)


def test_l1_and_kernel_paths_and_the_hinge_are_tuned(data):
    sparse = TunedClassifier(MarginClassifier(l1_ratio=1.0), grid=8).fit(*data)
    assert 0 < sparse.best_estimator_.n_features_selected_ < 30
    hinge = TunedClassifier(MarginClassifier(loss="hinge", kernel="rbf"), grid=4).fit(*data)
    assert hinge.criterion_ == "cv"
    assert not hasattr(hinge, "predict_proba")


def test_more_than_two_classes():
    X, y = make_classification(n_samples=150, n_informative=4, n_classes=3, random_state=0)
    for criterion, scoring in (("alo", "loss"), ("cv", "log_loss"), ("alo", "error")):
        tuned = TunedClassifier(MarginClassifier(), grid=4, criterion=criterion, scoring=scoring).fit(X, y)
        assert tuned.score(X, y) > 0.6


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: TunedClassifier(LogisticRegression()), "estimator"),
        (lambda: TunedClassifier(MarginClassifier(), criterion="magic"), "criterion"),
        (lambda: TunedClassifier(MarginClassifier(), scoring="auc"), "scoring"),
        (lambda: TunedClassifier(MarginClassifier(), rule="two_se"), "rule"),
        (lambda: TunedClassifier(MarginClassifier(), grid={"D": [1]}), "'D'"),
        (lambda: TunedClassifier(MarginClassifier(), grid={"C": [-1.0]}), r"grid\['C'\]"),
        (lambda: TunedClassifier(MarginClassifier(), grid={"C": 1.0}), r"grid\['C'\] must be"),
        (lambda: TunedClassifier(MarginClassifier(), grid={"C": ["a"]}), r"grid\['C'\] must be"),
        (lambda: TunedClassifier(MarginClassifier(), grid={"C": []}), r"grid\['C'\] must be"),
        (lambda: TunedClassifier(MarginClassifier(), grid={"C": [[1.0]]}), r"grid\['C'\] must be"),
        (lambda: TunedClassifier(MarginClassifier(), grid={"C": True}), r"grid\['C'\] must be"),
        (lambda: TunedClassifier(MarginClassifier(), grid={"kernel": "rbf"}), r"grid\['kernel'\] must be a list"),
        (lambda: TunedClassifier(MarginClassifier(), grid={"kernel": None}), r"grid\['kernel'\] must be a list"),
        (lambda: TunedClassifier(MarginClassifier(), grid={"l1_ratio": []}), r"grid\['l1_ratio'\] must be a list"),
        (lambda: TunedClassifier(MarginClassifier(), criterion="cv", cv=[1, 2]), "cv must be"),
        (lambda: TunedClassifier(MarginClassifier(), criterion="cv", cv=[([0], [1], [2])]), "cv must be"),
        (lambda: TunedClassifier(MarginClassifier(), criterion="cv", cv=[("ab", "cd")]), "cv must be"),
        (lambda: TunedClassifier(MarginClassifier(), grid="fine"), "grid"),
        (lambda: TunedClassifier(RobustSVC(sigma="auto"), criterion="alo"), "influences"),
        (lambda: TunedClassifier(MarginClassifier(loss="hinge"), scoring="log_loss"), "link"),
        (lambda: TunedClassifier(MarginClassifier(), criterion="bic", rule="one_se"), "standard error"),
    ],
)
def test_bad_requests_are_named(data, make, word):
    with pytest.raises(ValueError, match=word):
        make().fit(*data)


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_bracketed_probabilities_along_exact_cost_paths_equal_refits(kernel):
    sample = datasets.make_disk(40, random_state=0)
    costs = np.array([0.05, 0.7, 9.0])
    model = ProbabilisticSVC(kernel=kernel, gamma=1.5, n_weights=5, tol=1e-10)
    distance = np.square(sample.X[:, None] - sample.X[None]).sum(axis=-1)
    K = sample.X @ sample.X.T if kernel is None else np.exp(-1.5 * distance)
    codes = (np.asarray(sample.y) > 0).astype(int)
    along = model._probabilities_along(K, codes, np.arange(40), costs)
    for C, p in zip(costs, along, strict=True):
        refit = clone(model).set_params(C=C).fit(sample.X, codes)
        np.testing.assert_allclose(p, refit.predict_proba(sample.X)[:, 1], atol=1e-9)


def test_covariance_penalty_of_bracketing_prefers_neither_end():
    sample = datasets.make_disk(100, random_state=3)
    model = ProbabilisticSVC(kernel="rbf", gamma="median", n_weights=8)
    tuned = TunedClassifier(model, grid={"C": [1e-3, 0.1, 1e3]}, criterion="gkl", n_draws=10).fit(sample.X, sample.y)
    assert tuned.best_params_["C"] == 0.1


def test_soft_errors_of_a_label_and_its_opposite_add_up_to_one():
    rng = np.random.default_rng(0)
    codes, scores, count = rng.integers(0, 2, 50), rng.normal(size=50), rng.integers(1, 4, 50).astype(float)
    soft = soft_errors(codes, scores, count)
    np.testing.assert_allclose(soft + soft_errors(1 - codes, scores, count), 1)
    np.testing.assert_array_equal(soft > 0.5, (scores > 0) != codes)
    np.testing.assert_allclose(soft_errors(codes, 1e6 * scores, count), soft)  # any unit
    times = count.astype(int)
    repeated = soft_errors(np.repeat(codes, times), np.repeat(scores, times), np.ones(times.sum()))
    np.testing.assert_allclose(repeated, np.repeat(soft, times))
    np.testing.assert_allclose(soft_errors(codes, np.column_stack([-scores, scores]), count), soft)
    np.testing.assert_array_equal(soft_errors(codes, 0 * scores, count), 0.5)


def test_soft_errors_choose_among_machines_without_probabilities_and_many_classes():
    X, y, _ = datasets.make_moons(150, noise=0.1, flip=0.15, random_state=1)
    grid = {"kernel": [None, "rbf"], "sigma": [np.inf, 1.5, 1.0], "C": [0.1, 1.0, 10.0]}
    tuned = TunedClassifier(RobustSVC(gamma=2.0), grid=grid, criterion="cv").fit(X, y)
    assert tuned.best_params_["kernel"] == "rbf"
    counted = TunedClassifier(RobustSVC(gamma=2.0), grid=grid, criterion="cv", scoring="error").fit(X, y)
    ties = [len(one.results_) - one.results_["cv"].round(9).nunique() for one in (tuned, counted)]
    assert ties[0] < ties[1]  # candidates are told apart that are equal when errors are counted
    three = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.6]))
    for model in (MulticategorySVC(), RobustSVC(sigma=2.0)):
        tuned = TunedClassifier(model, grid={"C": [0.1, 10.0]}, criterion="cv", scoring="soft_error").fit(X, three)
        assert tuned.score(X, three) > 0.5 > tuned.best_score_ > 0


@pytest.mark.parametrize(
    ("model", "families", "scoring"),
    [
        (MarginClassifier(), [{}], "loss"),
        (MarginClassifier(), [{"loss": "logistic"}, {"loss": "coherence"}], "log_loss"),
        (MarginClassifier(loss="hinge"), [{}], "loss"),
        (MarginClassifier(), [{"loss": "hinge"}, {"loss": "logistic"}], "soft_error"),
        (TruncatedLogisticRegression(), [{}], "loss"),
        (TruncatedLogisticRegression(), [{"level": 1.0}, {"level": 2.0}], "soft_error"),
        (RobustSVC(sigma=2.0), [{}], "loss"),
        (RobustSVC(sigma=1.0), [{}], "soft_error"),
        (RobustSVC(), [{"sigma": 2.0}, {"sigma": np.inf}], "soft_error"),
    ],
)
def test_a_score_costs_what_the_candidates_have_in_common(model, families, scoring):
    templates = [clone(model).set_params(**family) for family in families]
    assert Candidates(templates, set().union(*families), in_pipeline=False, resident=True).scoring("auto") == scoring


def test_candidates_are_fitted_with_their_own_class_weights_and_judged_alike(data):
    X, y = data[0], (data[1] == "yes").astype(int)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    weights = [None, "balanced", {0: 5.0, 1: 1.0}]
    model = TunedClassifier(
        MarginClassifier(C=0.5), grid={"class_weight": weights, "C": [0.5]}, criterion="cv", cv=folds
    )
    found = model.fit(X, y).results_
    for weight in weights:
        plain = MarginClassifier(C=0.5, class_weight=weight)
        p = cross_val_predict(plain, X, y, cv=folds, method="predict_proba")
        row = found[[one == weight for one in found["class_weight"]]]
        assert row["cv"].item() == pytest.approx(log_loss(y, p), rel=1e-4)


def test_a_list_of_grids_is_the_union_of_their_candidates(data):
    tuned = TunedClassifier(RobustSVC(), grid=robust_grid([np.inf, 0.5], [0.1, 1.0]), criterion="cv").fit(*data)
    tried = {(row["sigma"], row["C"]) for _, row in tuned.results_.iterrows()}
    assert tried == {(np.inf, 0.1), (np.inf, 1.0), (0.5, 0.4), (0.5, 4.0)}
    mixed = [{"C": [1.0]}, {"kernel": ["rbf"], "C": [2.0], "gamma": [0.1]}]
    tuned = TunedClassifier(MarginClassifier(), grid=mixed).fit(*data)
    table = tuned.results_.sort_values("C")
    assert table["kernel"].tolist() == [None, "rbf"]
    assert table["gamma"].tolist() == ["scale", 0.1]
    with pytest.raises(ValueError, match="list of dicts"):
        TunedClassifier(MarginClassifier(), grid=[]).fit(*data)


def test_among_equals_the_first_named_wins_then_the_smaller_cost():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]] * 5)
    y = np.sign(X[:, 0])
    for sigmas in ([np.inf, 2.0], [2.0, np.inf]):
        grid = {"sigma": sigmas, "C": [10.0, 1.0]}
        tuned = TunedClassifier(RobustSVC(), grid=grid, criterion="cv", scoring="error").fit(X, y)
        assert tuned.best_params_ == {"sigma": sigmas[0], "C": 1.0}


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_leaving_out_is_approximated_where_a_loss_bends_the_other_way(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where((X[:, 0] + 0.5 * rng.normal(size=60) > 0) ^ (np.arange(60) < 6), 1, -1)
    model = RobustSVC(kernel=kernel, sigma=2.0, tol=1e-8)
    assert np.any(model._loss().curvature(y * model.fit(X, y).decision_function(X)) < 0)
    options = {"grid": {"C": [1.0]}, "scoring": "loss"}
    exact = TunedClassifier(model, criterion="loo", **options).fit(X, y).best_score_
    assert TunedClassifier(model, criterion="alo", **options).fit(X, y).best_score_ == pytest.approx(exact, rel=0.02)
    assert model._loss().value(y * model.decision_function(X)).mean() < 0.98 * exact  # what not leaving out would say
    rare = X[:, 0] > 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # such a scale gives up the rare class at every cost
        given_up = TunedClassifier(RobustSVC(kernel=kernel, sigma=0.2), grid=4, criterion="alo").fit(X, rare)
    assert np.isfinite(given_up.results_["alo"]).all()


@pytest.mark.parametrize("criterion", ["alo", "aic", "bic", "gacv", "egacv"])
@pytest.mark.parametrize("model", [TruncatedLogisticRegression(scheme=None), RobustSVC(), RobustSVC(loss="cauchy")])
def test_every_formula_judges_every_robust_estimator_with_influences(data, model, criterion):
    tuned = TunedClassifier(model, grid={"C": [1e-4, 0.1, 1.0]}, criterion=criterion).fit(data[0][:, :3], data[1])
    assert np.isfinite(tuned.results_[criterion]).all()
    assert tuned.best_params_["C"] > 1e-4


@pytest.mark.parametrize("scheme", [1, 3])
def test_truncated_logistic_is_judged_by_the_probabilities_of_its_scheme(data, scheme):
    X, y = data[0][:, :4], data[1]
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    model = TruncatedLogisticRegression(level=2.5, scheme=scheme)
    tuned = TunedClassifier(model, grid={"C": [0.3]}, criterion="cv", scoring="log_loss", cv=folds).fit(X, y)
    p = cross_val_predict(clone(model).set_params(C=0.3), X, y, cv=folds, method="predict_proba")
    assert tuned.best_score_ == pytest.approx(log_loss(y, p), rel=1e-6)
    with pytest.raises(ValueError, match="criterion='cv'"):
        TunedClassifier(model, criterion="alo", scoring="log_loss").fit(X, y)
    gkl = TunedClassifier(model, grid={"C": [0.3]}, criterion="gkl", n_draws=2).fit(X, y)
    assert 0 < gkl.best_score_ < 2


def test_scoring_by_probabilities_names_the_remedy_of_a_machine_without_any(data):
    with pytest.raises(ValueError, match="probability='calibrated'"):
        TunedClassifier(RobustSVC(), criterion="cv", scoring="log_loss").fit(*data)
    tuned = TunedClassifier(RobustSVC(probability="calibrated"), grid={"C": [0.1]}, criterion="cv", scoring="log_loss")
    assert tuned.fit(*data).best_score_ < np.log(2)


@pytest.mark.parametrize(
    "model",
    [MarginClassifier(), ProbabilisticSVC(n_weights=5), TruncatedLogisticRegression(level=2.5, scheme=1)],
    ids=["path", "svm", "refit"],
)
def test_covariance_penalty_counts_weights_and_ignores_rows_of_weight_zero(data, model):
    X, y = data[0][:60, :3], data[1][:60]
    options = {"grid": {"C": [0.1, 1.0]}, "criterion": "gkl", "n_draws": 4, "random_state": 0}
    keep = np.arange(60) % 3 > 0
    zeros = TunedClassifier(model, **options).fit(X, y, sample_weight=keep.astype(float))
    fewer = TunedClassifier(model, **options).fit(X[keep], y[keep])
    np.testing.assert_allclose(zeros.results_["gkl"], fewer.results_["gkl"], rtol=1e-6)
    heavy = TunedClassifier(model, **options).fit(X, y, sample_weight=np.where(y == "yes", 5.0, 1.0))
    even = TunedClassifier(model, **options).fit(X, y)
    assert abs(heavy.best_score_ - even.best_score_) > 1e-3


def test_nonconvex_losses_are_judged_by_folds_unless_asked_otherwise(data):
    assert TunedClassifier(RobustSVC(), grid=3).fit(*data).criterion_ == "cv"
    assert TunedClassifier(MarginClassifier(), grid=3).fit(*data).criterion_ == "alo"


@pytest.mark.parametrize("seed", range(3))
def test_redrawn_landmarks_are_fitted_from_the_start(seed):
    X = np.random.default_rng(seed).integers(0, 3, size=(60, 2)).astype(float)  # repeated rows: draws differ in rank
    y = (X.sum(axis=1) > 2) ^ (np.arange(60) < 5)
    model = MarginClassifier(kernel="rbf", n_components=12, random_state=None)
    tuned = TunedClassifier(model, grid={"gamma": [0.1, 1.0], "C": [0.1, 1.0]}).fit(X, y)
    assert tuned.score(X, y) > 0.6


def test_infinite_losses_leave_a_candidate_unchosen_and_say_nothing():
    losses = np.array([[0.5, 0.7, 0.6], [0.4, np.inf, 0.3]])
    mean, error = PathJudge._summary(losses, np.ones(3), np.ones(3))
    assert np.isfinite([mean[0], error[0]]).all()
    assert np.isinf([mean[1], error[1]]).all()


@pytest.mark.parametrize("scoring", ["log_loss", "brier", "error", "soft_error"])
@pytest.mark.parametrize("model", [ProbabilisticSVC(), MulticategorySVC(), MarginClassifier()])
def test_rows_of_zero_weight_enter_no_fold(model, scoring):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    weight = np.where((y == 2) & (np.arange(30) > 8), 0.0, 1.0)  # three rows of the last class are left
    if not hasattr(model, "predict_proba") and scoring in ("log_loss", "brier"):
        pytest.skip("no probabilities")
    tuned = TunedClassifier(model, grid={"C": [0.1, 1.0]}, cv=3, scoring=scoring, criterion="cv", random_state=0)
    some = clone(tuned).fit(X, y, sample_weight=weight)
    rest = clone(tuned).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(some.results_["cv"], rest.results_["cv"], rtol=1e-6)


@pytest.mark.parametrize("scoring", ["log_loss", "error", "soft_error"])
@pytest.mark.parametrize("model", [ProbabilisticSVC(), MarginClassifier()])
def test_folds_of_ones_own_refer_to_the_rows_given_and_may_leave_a_class_out(model, scoring):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 2)), np.repeat([0, 1, 2], 8)
    weight = np.where(np.arange(24) % 8 == 3, 0.0, 1.0)
    folds = [(np.arange(16), np.arange(16, 24)), (np.arange(4, 24), np.arange(4))]
    tuned = TunedClassifier(model, grid={"C": [0.1, 1.0]}, cv=folds, scoring=scoring, criterion="cv")
    found = tuned.fit(X, y, sample_weight=weight).results_["cv"]
    assert np.all(np.isfinite(found))
    keep = np.flatnonzero(weight > 0)
    kept = [tuple(np.flatnonzero(np.isin(keep, part)) for part in fold) for fold in folds]
    again = clone(tuned).set_params(cv=kept).fit(X[keep], y[keep]).results_["cv"]
    np.testing.assert_allclose(found, again, rtol=1e-6)

"""Redescending losses: golden fixed points, invariants of the reweighting loop, what the estimator promises."""

import json
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from softmargin import MarginClassifier, RobustSVC, TruncatedLogisticRegression, TunedClassifier, losses
from softmargin.probability import fit_sigmoid
from softmargin.solvers import Solution
from softmargin.solvers.linalg import Cholesky
from softmargin.solvers.ridge.indefinite_step import _kernel_step
from softmargin.tuning import robust_grid

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "robust_svc.json").read_text())
NAMES = {"gm": "geman_mcclure", "barron": "general_robust"}


def kernel_of(case):
    return {"kernel": "rbf", "gamma": 1 / (2 * case["h"] ** 2)} if case["kernel"] == "rbf" else {"kernel": "linear"}


def by_name(cases):
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def flipped_blobs(n=120, share=0.15, seed=0, p=2):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1, -1)
    X = rng.standard_normal((n, p)) + 1.2 * y[:, None]
    wrong = rng.choice(n, int(share * n), replace=False)
    noisy = y.copy()
    noisy[wrong] = -noisy[wrong]
    return X, y, noisy, wrong


@by_name(GOLDEN["rsvc"])
@pytest.mark.parametrize("linear_features", [False, True])
def test_the_reweighting_loop_ends_at_the_golden_fixed_point(case, linear_features):
    X, y, want = np.array(case["X"]), np.array(case["y"]), case["expected"]
    if linear_features and case["kernel"] == "rbf":
        pytest.skip("rbf has no finite features")
    kernel = {} if linear_features else kernel_of(case)
    shape = {} if case["p"] is None else {"shape": case["p"]}
    C = 1 / (2 * len(y) * case["lam"])
    how = {"sigma": case["sigma"], "C": C, "tol": 1e-6} | shape | kernel
    model = RobustSVC(loss=NAMES.get(case["loss"], case["loss"]), **how).fit(X, y)
    unit = 2 * case["lam"]
    assert model.objective_ * unit == pytest.approx(want["objective"], rel=1e-8)
    np.testing.assert_allclose(model.decision_function(X), want["f"], atol=1e-5)
    np.testing.assert_allclose(model.intercept_[0], want["b"], atol=1e-5)
    np.testing.assert_allclose(model.sample_trust_, want["weights"], atol=1e-5)
    trace = np.array(want["objective_trace_first6"])
    np.testing.assert_allclose(np.array(model.solution_.history[:2]) * unit, trace[:2], rtol=1e-5)
    assert model.solution_.gap <= 1e-6


@by_name([case for case in GOLDEN["rsvc"] if case["kernel"] == "rbf"])
def test_kernel_coefficients_are_label_times_weight_times_residual(case):
    X, y, want = np.array(case["X"]), np.array(case["y"]), case["expected"]
    loss = losses.get(NAMES.get(case["loss"], case["loss"]), sigma=case["sigma"]) if case["p"] is None else None
    loss = loss or losses.GeneralRobust(shape=case["p"], sigma=case["sigma"])
    C = 1 / (2 * len(y) * case["lam"])
    model = MarginClassifier(loss=loss, C=C, tol=1e-9, **kernel_of(case)).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0]
    u = y * model.decision_function(X)
    np.testing.assert_allclose(alpha, 2 * C * y * loss.weight(u) * np.maximum(1 - u, 0), atol=1e-7)
    np.testing.assert_allclose(alpha, want["alpha"], atol=1e-5 * np.abs(want["alpha"]).max())
    assert abs(alpha.sum()) <= 1e-7


@by_name(GOLDEN["weighted_l2svm"])
def test_weighted_squared_hinge_machines_equal_golden(case):
    X, y, w, want = np.array(case["X"]), np.array(case["y"]), np.array(case["weights"]), case["expected"]
    C = 1 / (2 * len(y) * case["lam"])
    model = MarginClassifier(loss="squared_hinge", C=C, tol=1e-12, **kernel_of(case)).fit(X, y, sample_weight=w)
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(alpha, want["alpha"], atol=1e-6 * np.abs(want["alpha"]).max())
    assert model.solution_.objective * 2 * case["lam"] == pytest.approx(want["objective"], rel=1e-9)


@by_name(GOLDEN["tsvc"])
def test_the_truncated_hinge_follows_the_golden_rounds(case):
    X, y, want = np.array(case["X"]), np.array(case["y"]), case["expected"]
    model = RobustSVC(loss="truncated_hinge", sigma=1 - case["s"], C=case["C"], **kernel_of(case)).fit(X, y)
    trace = want["objective_trace"]
    np.testing.assert_allclose(model.solution_.history[: len(trace)], trace, rtol=1e-9)
    assert model.objective_ == pytest.approx(want["objective"], rel=1e-9)
    np.testing.assert_allclose(model.decision_function(X), want["f"], atol=1e-8)
    np.testing.assert_allclose(model.intercept_[0], want["b"], atol=1e-8)
    given_up = np.flatnonzero(y * model.decision_function(X) < case["s"])
    assert given_up.tolist() == want["delta_sets"][-1]


@by_name(GOLDEN["global_1d"])
def test_no_fit_is_below_the_global_minimum_and_the_constant_is_known(case):
    x, y = np.array(case["x"])[:, None], np.array(case["y"])
    unit, C = 2 * case["lam"], 1 / (2 * len(y) * case["lam"])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = RobustSVC(loss=NAMES.get(case["loss"], case["loss"]), sigma=case["sigma"], C=C).fit(x, y)
    assert model.objective_ * unit >= case["global_objective"] - case["tol"]
    assert model.constant_objective_ * unit == pytest.approx(case["best_constant_objective"], rel=1e-12)
    worse = model.status_ == "ok" and model.objective_ > model.constant_objective_ * (1 + 1e-9)
    assert worse == any("constant classifier has a lower objective" in str(w.message) for w in seen)
    many = RobustSVC(loss=NAMES.get(case["loss"], case["loss"]), sigma=case["sigma"], C=C, n_init=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        many.fit(x, y)
    assert many.objective_ * unit >= case["global_objective"] - case["tol"]
    if np.any(model.coef_ != 0):  # a lower objective never buys a constant classifier
        assert np.any(many.coef_ != 0)
        assert many.objective_ <= model.objective_ * (1 + 1e-9)


@pytest.mark.parametrize("name", ["welsch", "cauchy", "geman_mcclure", "tanh", "truncated_hinge", "general_robust"])
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_the_objective_never_rises_and_labels_swap(name, kernel):
    X, _, y, _ = flipped_blobs(seed=3)
    model = RobustSVC(loss=name, sigma=1.2, shape=-0.5, kernel=kernel, C=2.0).fit(X, y)
    history = np.array(model.solution_.history)
    assert np.all(np.diff(history) <= 1e-10 * history[0])
    assert history[-1] == pytest.approx(model.objective_)
    assert np.all((model.sample_trust_ >= 0) & (model.sample_trust_ <= 1))
    swapped = RobustSVC(loss=name, sigma=1.2, shape=-0.5, kernel=kernel, C=2.0).fit(X, -y)
    np.testing.assert_allclose(swapped.decision_function(X), -model.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_integer_weights_are_repeated_rows_and_zero_weights_are_judged(kernel):
    X, _, y, _ = flipped_blobs(n=60, seed=4)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    settings = {"kernel": kernel, "gamma": 0.5, "tol": 1e-9, "C": 3.0}
    weighted = RobustSVC(**settings).fit(X, y, sample_weight=weight)
    repeated = RobustSVC(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-8)
    trust = losses.Welsch(sigma=1.0).weight(y * weighted.decision_function(X))
    np.testing.assert_allclose(weighted.sample_trust_, trust, atol=1e-7)


@pytest.mark.parametrize("name", ["welsch", "cauchy", "geman_mcclure", "tanh", "general_robust"])
def test_an_infinite_scale_is_the_squared_hinge(name):
    X, _, y, _ = flipped_blobs(seed=5)
    plain = MarginClassifier(loss="squared_hinge", kernel="rbf", tol=1e-10).fit(X, y)
    for sigma in (1e5, np.inf):
        model = RobustSVC(loss=name, sigma=sigma, kernel="rbf", tol=1e-10).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-5)
        np.testing.assert_allclose(model.sample_trust_, 1, atol=1e-6)


def test_flipped_rows_are_the_least_trusted():
    X, _, y, wrong = flipped_blobs(n=300, share=0.1, seed=6)
    trust = RobustSVC(C=1.0).fit(X, y).sample_trust_
    assert np.median(trust[wrong]) < 0.2 < np.median(np.delete(trust, wrong))


def test_a_warm_start_does_not_choose_the_minimum():
    X, _, y, _ = flipped_blobs(seed=8)
    model = RobustSVC(kernel="rbf", sigma=0.5, C=10.0)
    data = model._training_set(X, y, None)
    data.shared = model._prepare(data)
    problem = model._problem(data, data.signs())
    cold = model._solve(problem)
    warm = model._solve(problem, model._solve(problem.scaled(1e-3)))
    assert isinstance(cold, Solution)
    np.testing.assert_allclose(warm.margins, cold.margins, atol=1e-6)


def test_a_class_given_up_leaves_the_constant_classifier():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), np.where(np.arange(60) < 12, 1, -1)
    with pytest.warns(UserWarning, match="gives up every row of one class"):
        model = RobustSVC(sigma=0.02, C=1.0).fit(X, y)
    assert model.status_ == "degenerate"
    assert np.all(model.predict(X) == -1)
    assert model.objective_ == pytest.approx(model.constant_objective_)


def test_probabilities_come_from_the_link_or_from_calibration():
    X, y, noisy, _ = flipped_blobs(seed=9)
    linked = RobustSVC(sigma=2.0).fit(X, noisy)
    f = linked.decision_function(X)
    np.testing.assert_allclose(linked.predict_proba(X)[:, 1], losses.Welsch(2.0).probability(f), atol=1e-12)
    assert not hasattr(RobustSVC(sigma=1.0).fit(X, noisy), "predict_proba")
    with pytest.raises(AttributeError) as refused:
        RobustSVC(sigma=1.0).fit(X, noisy).predict_proba(X)
    assert "fit with probability='calibrated'" in str(refused.value)
    with pytest.raises(ValueError, match="jumps"):
        RobustSVC(sigma=1.0, probability="link").fit(X, noisy)
    model = RobustSVC(sigma=1.0, probability="calibrated", kernel="rbf").fit(X, noisy)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    assert np.mean((p[:, 1] - (y > 0)) ** 2) < 0.15


@by_name([dict(row, name=f"{row['loss']}-{row['sigma']}") for row in GOLDEN["link"]["rows"] if row["prob"]])
def test_the_link_is_golden(case):
    if case["loss"] not in ("welsch", "cauchy"):
        pytest.skip("checked with the losses")
    loss = losses.get(case["loss"], sigma=case["sigma"])
    if case["sigma"] < loss.link_threshold:
        with pytest.raises(losses.NoLink):
            loss.probability(0.1)
    else:
        np.testing.assert_allclose(loss.probability(np.array(case["f"])), case["prob"], atol=1e-12)


def test_several_classes_and_any_start():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, 2)) + 3 * np.eye(3, 2)[np.arange(150) % 3]
    y = np.array(["a", "b", "c"])[np.arange(150) % 3]
    for init in ("base", "zero", "anneal"):
        model = RobustSVC(sigma=2.0, init=init, n_init=2, random_state=0).fit(X, y)
        assert model.score(X, y) > 0.8
        assert model.sample_trust_.shape == (150,)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize(
    "model",
    [RobustSVC(loss="truncated_hinge", init="anneal"), TruncatedLogisticRegression(init="anneal")],
    ids=["hinge", "logistic"],
)
def test_annealing_needs_a_scale(model):
    X, _, y, _ = flipped_blobs(n=40)
    with pytest.raises(ValueError, match="init='anneal' starts from gentler values of sigma"):
        model.fit(X, y)


def test_a_class_of_one_row_cannot_be_calibrated_by_folds_and_nothing_is_fitted():
    X, _, y, _ = flipped_blobs(n=40)
    lonely = np.where(np.arange(40) == 0, 2, y)
    model = RobustSVC(loss="truncated_hinge", sigma=2.0, probability="calibrated")
    with pytest.raises(ValueError, match="needs two rows of each class"):
        model.fit(X, lonely)
    assert not hasattr(model, "estimators_")
    assert RobustSVC(probability="auto", sigma=2.0).fit(X, lonely).predict_proba(X).shape == (40, 3)


def test_lasso_and_concave_penalties_go_through_the_same_driver():
    X, _, y, _ = flipped_blobs(n=200, seed=10, p=6)
    X = np.hstack([X[:, :2], np.random.default_rng(0).standard_normal((200, 8))])
    for settings in ({"l1_ratio": 1.0}, {"penalty": "mcp"}, {"penalty": "scad"}):
        model = RobustSVC(C=0.05, sigma=1.5, **settings).fit(X, y)
        assert np.all(np.diff(model.solution_.history) <= 1e-8)
        assert 0 < model.n_features_selected_ < 10


def test_bad_parameters_and_bad_losses_are_refused():
    X, _, y, _ = flipped_blobs()
    for params in ({"sigma": 0.0}, {"sigma": np.nan}, {"loss": "nonsense"}, {"init": "nowhere"}, {"n_init": 0}):
        with pytest.raises(ValueError, match=next(iter(params))):
            RobustSVC(**params).fit(X, y)
    with pytest.raises(ValueError, match="sigma must be at least 1"):
        RobustSVC(loss="truncated_hinge", sigma=0.5).fit(X, y)

    def growing(u):  # phi = s^4 / (1 + s^4): its weight rises from zero
        s = np.maximum(1 - u, 0)
        weight = 2 * s**2 / (1 + s**4) ** 2
        value = s**4 / (1 + s**4)
        return losses.Majorizer(losses.SquaredHinge(), weight, 0 * u, value - weight * s**2)

    def value(u):
        return np.maximum(1 - u, 0) ** 4 / (1 + np.maximum(1 - u, 0) ** 4)

    bad = losses.make_loss(value, name="growing", convex=False, majorize=growing)
    with pytest.raises(ValueError, match="lies below the loss"):
        RobustSVC(loss=bad).fit(X, y)


def test_a_users_own_loss_runs():
    def bound(u):
        s = np.maximum(1 - u, 0)
        return losses.Majorizer(
            losses.SquaredHinge(), np.exp(-(s**2)), 0 * u, -np.expm1(-(s**2)) - np.exp(-(s**2)) * s**2
        )

    X, _, y, _ = flipped_blobs(seed=11)
    mine = losses.make_loss(
        lambda u: -np.expm1(-(np.maximum(1 - u, 0) ** 2)), name="mine", convex=False, majorize=bound
    )
    np.testing.assert_allclose(
        RobustSVC(loss=mine).fit(X, y).decision_function(X), RobustSVC().fit(X, y).decision_function(X), atol=1e-5
    )


def test_tuning_grids_follow_the_scale_and_include_the_plain_machine():
    X, y, noisy, _ = flipped_blobs(n=100, seed=13)
    search = GridSearchCV(RobustSVC(), robust_grid([0.5, np.inf], [0.1, 1.0]), cv=3).fit(X, noisy)
    assert [c["C"] for c in search.cv_results_["params"] if c["sigma"] == 0.5] == [0.4, 4.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tuned = TunedClassifier(RobustSVC(), grid={"sigma": [0.5, np.inf], "C": 4}, criterion="cv", cv=3).fit(X, noisy)
    costs = {s: [r["params"]["C"] for r in tuned._records if r["params"]["sigma"] == s] for s in (0.5, np.inf)}
    np.testing.assert_allclose(np.array(costs[0.5]) / np.array(costs[np.inf]), 4 / -np.expm1(-4), rtol=1e-9)
    assert tuned.score(X, y) > 0.9


def test_few_rounds_warn():
    X, _, y, _ = flipped_blobs(seed=12)
    with pytest.warns(ConvergenceWarning, match="majorize stopped"):
        RobustSVC(sigma=0.5, max_iter=1, kernel="rbf").fit(X, y)


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_calibration_leaves_every_row_out(kernel):
    X, _, y, _ = flipped_blobs(n=60, seed=13)
    model = RobustSVC(kernel=kernel, C=0.3, probability="calibrated", tol=1e-8)
    found = model.fit(X, y).calibration_
    scores = np.empty(len(y))
    for row in range(len(y)):
        rest = np.arange(len(y)) != row
        scores[row] = RobustSVC(kernel=kernel, C=0.3, tol=1e-8).fit(X[rest], y[rest]).decision_function(X[[row]])[0]
    exact = fit_sigmoid(scores, np.where(y == model.classes_[1], 1.0, -1.0))
    f = np.linspace(-1.5, 1.5, 7)
    np.testing.assert_allclose(expit(found.log_odds(f)), expit(exact.log_odds(f)), atol=0.03)


def test_scikit_learns_own_checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(RobustSVC(probability="calibrated"))


def test_many_kernel_rows_end_as_low_as_the_exact_rounds(monkeypatch):
    """Beyond a thousand rows bounds are minimised roughly and Newton steps may be shortened."""
    X, _, y, _ = flipped_blobs(n=1200, share=0.15, seed=9)
    hasty = RobustSVC(kernel="rbf", C=1.0, tol=1e-6).fit(X, y)
    for place in ("margin_losses", "inner_solvers"):
        monkeypatch.setattr(f"softmargin.solvers.nonconvex.{place}.FEW_ROWS", 10**9)
    exact = RobustSVC(kernel="rbf", C=1.0, tol=1e-6).fit(X, y)
    assert hasty.solution_.converged
    assert hasty.solution_.gap <= 1e-6
    assert np.all(np.diff(hasty.solution_.history) <= 1e-9 * hasty.objective_)
    assert hasty.objective_ <= exact.objective_ * (1 + 1e-5)


@pytest.mark.parametrize("n", [990, 1010])
def test_rows_of_very_different_weights_converge_however_many(n):
    rng = np.random.default_rng(0)
    X = rng.standard_t(2, size=(n, 4))
    y, weight = X[:, 0] + rng.normal(size=n) > 0, 10 ** rng.uniform(-6, 6, n)
    assert RobustSVC(kernel="rbf").fit(X, y, sample_weight=weight).solution_.converged


def test_a_step_where_no_row_bends_is_none_and_says_nothing(capfd):
    """LAPACK complains of empty matrices on standard output."""
    flat = SimpleNamespace(term=SimpleNamespace(curvature=np.zeros(3)), coef=np.zeros(3))
    empty = SimpleNamespace(ridge=1.0, fit_intercept=False, block=lambda active, root: np.empty((0, 0)))
    assert _kernel_step(empty, flat) is None
    assert Cholesky(np.empty((0, 0))).inverse().shape == (0, 0)
    assert capfd.readouterr().out == ""


@pytest.mark.filterwarnings("ignore::UserWarning")  # a scale so small gives up a class
def test_a_constant_of_two_classes_in_balance_prefers_neither():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(70, 5)), np.repeat([0, 1], 35)
    for labels in (y, 1 - y):
        model = RobustSVC(sigma=0.01).fit(X, labels)
        assert model.status_ == "degenerate"
        np.testing.assert_array_equal(model.decision_function(X), 0.0)

"""Losses that differ from row to row, starts of the user's and onlookers."""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_iris

import softmargin
from softmargin import RobustSVC, TruncatedLogisticRegression, TunedClassifier, losses
from softmargin.tuning import auto_sigma


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 3))
    y = np.where(X @ [1.5, -1.0, 0.0] + 0.4 * rng.standard_normal(120) > 0, 1, -1)
    y[rng.choice(120, 15, replace=False)] *= -1
    return X, y


def objective(theta, X, y, C, loss):
    u = y * (X @ theta[1:] + theta[0])
    return C * np.sum(loss(u)) + 0.5 * theta[1:] @ theta[1:]


def by_hand(y, low, high):
    """Welsch's loss written down again, with one scale per class."""
    sigma = np.where(y > 0, high, low)
    return lambda u: sigma**2 * -np.expm1(-np.square(np.maximum(1 - u, 0) / sigma))


def test_sigma_by_class_minimises_the_objective_written_by_hand(noisy):
    X, y = noisy
    model = RobustSVC(sigma={-1: 0.8, 1: 2.0}, C=2.0, tol=1e-9).fit(X, y)
    loss = by_hand(y, 0.8, 2.0)
    theta = np.r_[model.intercept_, model.coef_[0]]
    assert model.objective_ == pytest.approx(objective(theta, X, y, 2.0, loss), rel=1e-9)
    found = minimize(objective, theta, args=(X, y, 2.0, loss), method="BFGS", options={"gtol": 1e-9})
    assert found.fun >= model.objective_ * (1 - 1e-9)


@pytest.mark.parametrize("name", ["welsch", "cauchy", "tanh", "truncated_hinge"])
def test_equal_scales_by_class_are_one_scale(noisy, name):
    X, y = noisy
    one = RobustSVC(loss=name, sigma=1.5).fit(X, y)
    two = RobustSVC(loss=name, sigma={-1: 1.5, 1: 1.5}).fit(X, y)
    np.testing.assert_allclose(two.decision_function(X), one.decision_function(X), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(two.sample_trust_, one.sample_trust_, rtol=1e-8, atol=1e-10)


def test_a_class_that_is_believed_less_loses_its_wrong_labels():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(-1.5, 1, (150, 2)), rng.normal(1.5, 1, (150, 2))]
    truth = np.repeat([0, 1], 150)
    y = truth.copy()
    y[:45] = 1  # 30 per cent of class 0 are called class 1
    fit = RobustSVC(sigma={0: np.inf, 1: 0.7}, C=1.0).fit(X, y)
    plain = RobustSVC(sigma=np.inf, C=1.0).fit(X, y)
    assert fit.score(X, truth) > plain.score(X, truth)
    assert fit.sample_trust_[:45].mean() < 0.5 < fit.sample_trust_[45:].mean()


def test_scales_of_three_classes_follow_the_rows_through_one_against_rest():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    one = RobustSVC(sigma=2.0).fit(X, names)
    many = RobustSVC(sigma=dict.fromkeys(np.unique(names), 2.0)).fit(X, names)
    np.testing.assert_allclose(many.decision_function(X), one.decision_function(X), rtol=1e-7, atol=1e-9)
    assert TunedClassifier(RobustSVC(sigma={"setosa": 1.5, "versicolor": 2, "virginica": 9}), grid=3).fit(X, names)


def test_rows_of_zero_weight_are_judged_by_the_loss_of_their_class(noisy):
    X, y = noisy
    weight = np.ones(len(y))
    weight[:10] = 0
    model = RobustSVC(sigma={-1: 0.8, 1: 2.0}).fit(X, y, weight)
    scale = np.where(y[:10] > 0, 2.0, 0.8)
    residual = np.maximum(1 - y[:10] * model.decision_function(X[:10]), 0)
    np.testing.assert_allclose(model.sample_trust_[:10], np.exp(-np.square(residual / scale)), rtol=1e-9)


@pytest.mark.parametrize("sigma", [{-1: 1.0}, {-1: 1.0, 1: -2.0}, {-1: 1.0, 1: 1.0, 2: 1.0}, {-1: 1.0, 1: "x"}])
def test_scales_that_miss_a_class_are_refused(noisy, sigma):
    with pytest.raises(ValueError, match="sigma must name every class"):
        RobustSVC(sigma=sigma).fit(*noisy)


def test_automatic_sigma_is_the_median_residual_of_mistakes(noisy):
    X, y = noisy
    model = RobustSVC(sigma="auto").fit(X, y)
    margins = y * RobustSVC(sigma=np.inf).fit(X, y).decision_function(X)
    assert model.sigma_ == pytest.approx(auto_sigma(margins), rel=1e-3)
    plain = RobustSVC(sigma=model.sigma_).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), rtol=1e-3, atol=1e-3)
    weighted = auto_sigma([-1.0, -3.0], [3.0, 1.0])
    assert weighted == auto_sigma([-1.0, -1.0, -1.0, -3.0])
    assert TunedClassifier(RobustSVC(sigma="auto"), grid={"C": [0.1, 1.0]}).fit(X, y).best_estimator_.sigma_ > 0


def test_a_start_of_the_users_is_where_the_search_begins(noisy):
    X, y = noisy
    best = RobustSVC(sigma=0.5, C=5.0, n_init=20, random_state=0).fit(X, y)
    again = RobustSVC(sigma=0.5, C=5.0, start=best.decision_function(X)).fit(X, y)
    assert again.objective_ <= best.objective_ * (1 + 1e-6)
    assert np.all(np.diff(again.solution_.history) <= 1e-9 * again.objective_)
    for wrong in (np.zeros(3), np.zeros((len(y), 2)), np.full(len(y), np.nan)):
        with pytest.raises(ValueError, match="start must hold"):
            RobustSVC(start=wrong).fit(X, y)
    with pytest.raises(ValueError, match="gives up every row of one class"):
        RobustSVC(loss=losses.Truncated(losses.SquaredHinge(), at=-1.0), start=np.full(len(y), 9.0)).fit(X, y)


def test_the_callback_sees_the_classifier_of_every_round(noisy, tmp_path):
    X, y = noisy
    seen = []
    model = RobustSVC(sigma=0.7, C=5.0, callback=lambda k, one: seen.append((k, one.decision_function(X))))
    model.fit(X, y)
    assert [k for k, _ in seen] == list(range(1, len(seen) + 1))
    assert len(seen) > 1
    np.testing.assert_allclose(seen[-1][1], model.decision_function(X), atol=1e-3)
    softmargin.save(model, tmp_path / "model")
    copy = pickle.loads(pickle.dumps(model))
    for other in (copy, softmargin.load(tmp_path / "model")):
        np.testing.assert_allclose(other.decision_function(X), model.decision_function(X))
        assert other.callback is None


def test_leverage_is_a_cap_for_each_row(noisy):
    X, y = noisy
    C, level, factors = 1.0, 2.5, np.linspace(0.4, 1.0, len(y))
    model = TruncatedLogisticRegression(level=level, leverage=factors, C=C, scheme=None, tol=1e-9).fit(X, y)
    caps = np.maximum(np.log(2), level * factors)
    theta = np.r_[model.intercept_, model.coef_[0]]

    def by_hand(u):
        return np.minimum(np.logaddexp(0, -u), caps)

    assert model.objective_ == pytest.approx(objective(theta, X, y, C, by_hand), rel=1e-9)
    kept = np.logaddexp(0, -y * (X @ theta[1:] + theta[0])) <= caps
    np.testing.assert_array_equal(model.outliers_, ~kept)

    def on_kept(theta, *args):
        return objective(theta, X[kept], y[kept], C, lambda u: np.logaddexp(0, -u))

    found = minimize(on_kept, theta, method="BFGS", options={"gtol": 1e-10})
    np.testing.assert_allclose(theta, found.x, atol=1e-5)


def test_leverage_one_is_no_leverage_and_hat_sees_remote_rows(noisy):
    X, y = noisy
    plain = TruncatedLogisticRegression(level=2.0).fit(X, y)
    ones = TruncatedLogisticRegression(level=2.0, leverage=np.ones(len(y))).fit(X, y)
    np.testing.assert_allclose(ones.decision_function(X), plain.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(ones.predict_proba(X), plain.predict_proba(X), atol=1e-8)
    far = np.vstack([X, [[-40.0, 40.0, 0.0]]])
    labels = np.append(y, 1)
    assert TruncatedLogisticRegression(level=8.0, leverage="hat").fit(far, labels).outliers_[-1]


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"leverage": np.ones(3)}, "leverage must hold"),
        ({"leverage": "hat", "kernel": "rbf"}, "'hat' needs features"),
        ({"leverage": "hat", "scheme": 1, "level": 2.0}, "scheme=3 or None"),
        ({"leverage": "cook"}, "leverage must be"),
    ],
)
def test_leverage_that_cannot_be_used_is_refused(noisy, parameters, said):
    with pytest.raises(ValueError, match=said):
        TruncatedLogisticRegression(**parameters).fit(*noisy)


def test_losses_of_other_families_cannot_be_mixed_by_class():
    with pytest.raises(ValueError, match="one family"):
        losses.ByClass((losses.Welsch(1.0), losses.TruncatedHinge(at=-1.0)))
    with pytest.raises(ValueError, match="bound to no rows"):
        losses.ByClass((losses.Welsch(1.0), losses.Welsch(2.0))).value(np.zeros(3))


@pytest.mark.parametrize("costs", [{"penalty": "scad"}, {"l1_ratio": 0.5}], ids=str)
def test_a_start_and_a_callback_speak_of_the_rows_as_they_were_given_where_rows_repeat(costs):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(40, 2)), 3, axis=0)
    y = np.where(X[:, 0] + rng.normal(size=120) > 0, 1, -1)
    seen = []
    model = RobustSVC(
        kernel="rbf", start=2.0 * y, callback=lambda _, one: seen.append(one.decision_function(X)), **costs
    )
    model.fit(X, y)
    assert seen
    np.testing.assert_allclose(seen[-1], model.decision_function(X), atol=1e-2)

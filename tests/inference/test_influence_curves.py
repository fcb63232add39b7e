"""Influence against refits, and what a bounded loss does with rows that are far away."""

import numpy as np
import pytest
from sklearn.base import clone

from softmargin import BalancingSVC, CoherenceClassifier, MarginClassifier, RobustSVC, TruncatedLogisticRegression
from softmargin.inference import Caution, Inference, breakdown, influence, sensitivity


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    return X, np.where(X @ [1.0, -0.7] + 0.5 * rng.standard_normal(60) > 0, "yes", "no")


MODELS = [
    MarginClassifier(tol=1e-10),
    MarginClassifier(loss="squared_hinge", kernel="rbf", gamma=0.5, tol=1e-10, class_weight={"yes": 2.0}),
    MarginClassifier(fit_intercept=False, tol=1e-10),
    CoherenceClassifier(temperature=0.5, tol=1e-10),
    RobustSVC(sigma=1.5, tol=1e-9),
    RobustSVC(sigma={"no": 1.5, "yes": 3.0}, kernel="rbf", gamma=0.5, tol=1e-9),
    TruncatedLogisticRegression(scheme=None, tol=1e-9),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_influence_is_the_derivative_in_the_weight_of_the_row(rows, model):
    X, y = rows
    fit = clone(model).fit(X, y)
    new, labels, step = np.array([[0.4, -0.2], [-0.3, 0.9]]), np.array(["no", "yes"]), 1e-4
    found = influence(fit, X, y, new, labels)
    for k in range(2):
        weight = np.append(np.ones(len(y)), step)
        moved = clone(model).fit(np.vstack([X, new[[k]]]), np.append(y, labels[k]), weight)
        slope = (moved.decision_function(X) - fit.decision_function(X)) / step
        np.testing.assert_allclose(found.scores[k], slope, atol=1e-6 + 2e-3 * np.abs(slope).max())
        if found.coef is not None:
            np.testing.assert_allclose(found.coef[k], (moved.coef_ - fit.coef_)[0] / step, atol=2e-3)
            np.testing.assert_allclose(found.scores[k], X @ found.coef[k] + found.intercept[k], atol=1e-8)


def test_rows_given_up_have_no_influence(rows):
    X, y = rows
    wrong = np.where(y == "yes", "no", "yes")
    model = TruncatedLogisticRegression(scheme=None).fit(X, y)
    far = 8 * X[np.argsort(-np.abs(X[:, 0]))[:3]]
    labels = wrong[np.argsort(-np.abs(X[:, 0]))[:3]]
    beyond = model.decision_function(far) * np.where(labels == "yes", 1, -1) < -2
    assert np.all(influence(model, X, y, far, labels).pull[beyond] == 0)
    own = influence(model, X, y)
    np.testing.assert_array_equal(own.pull == 0, model.outliers_)


def test_the_sensitivity_of_a_convex_loss_grows_and_that_of_a_bounded_one_ends(rows):
    X, y = rows
    away = np.array([[-1.0, 0.7]]) * np.array([[1.0], [5.0], [25.0]])
    labels = ["yes"] * 3
    plain = sensitivity(MarginClassifier(loss="squared_hinge").fit(X, y), X, y, away, labels)
    robust = sensitivity(RobustSVC(sigma=1.0, tol=1e-8).fit(X, y), X, y, away, labels)
    size = np.sqrt(np.mean(np.square(plain), axis=1))
    assert size[0] < size[1]
    assert np.abs(robust[-1]).max() < 1e-4 < 1e-2 < size[-1]


def test_breakdown_a_bounded_loss_survives_a_tenth_of_planted_rows():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 100)
    X = rng.standard_normal((200, 2)) + 3.0 * y[:, None]
    plain = breakdown(MarginClassifier(loss="squared_hinge"), X, y, [0.0, 0.1], distance=8.0)
    robust = breakdown(RobustSVC(sigma=1.0, n_init=10, random_state=0), X, y, [0.0, 0.1], distance=8.0)
    assert plain[0] < 0.1
    assert plain[1] > plain[0] + 0.1
    assert robust[1] < plain[0] + 0.03
    names = np.array(["bad", "good"])[y]
    np.testing.assert_array_equal(
        breakdown(MarginClassifier(loss="squared_hinge"), X, names, [0.1], distance=8.0), plain[1:]
    )


def test_breakdown_refuses_what_it_cannot_plant(rows):
    X, y = rows
    with pytest.raises(ValueError, match=r"shares must lie in \[0, 1\); got 1.0"):
        breakdown(MarginClassifier(), X, y, [1.0])
    with pytest.raises(ValueError, match="distance must be a positive number up to 1e6; got 0"):
        breakdown(MarginClassifier(), X, y, distance=0)
    with pytest.raises(ValueError, match="two classes"):
        breakdown(MarginClassifier(), X, np.arange(60) % 3)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (MarginClassifier(loss="hinge"), "corner on which rows rest"),
        (BalancingSVC(), "corner on which rows rest"),
        (MarginClassifier(l1_ratio=0.5), "ridge penalty"),
        (MarginClassifier(kernel="rbf", n_components=5), "no landmarks"),
    ],
)
def test_fits_that_do_not_react_smoothly_are_refused(rows, model, said):
    X, y = rows
    with pytest.raises(ValueError, match=said):
        influence(model.fit(X, y), X, y)


def test_unknown_labels_and_three_classes_are_refused(rows):
    X, y = rows
    model = MarginClassifier().fit(X, y)
    with pytest.raises(ValueError, match="y_new must hold"):
        influence(model, X, y, X[:2], ["yes", "perhaps"])
    three = MarginClassifier().fit(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match="two classes"):
        influence(three, X, np.arange(60) % 3)


def test_losses_that_differ_by_row_have_intervals_by_resampling_only(rows):
    X, y = rows
    model = RobustSVC(sigma={"no": 1.5, "yes": 3.0}, C=10.0).fit(X, y)
    with pytest.raises(ValueError, match="only method='bootstrap'"):
        Inference(model, X, y)
    assert Inference(model, X, y, method="bootstrap", n_resamples=5, random_state=0).coef_interval().shape == (2, 2)


@pytest.mark.parametrize("offset", [1e3, 1e7])
def test_influence_does_not_depend_on_the_origin(rows, offset):
    X, y = rows
    plain = influence(MarginClassifier(tol=1e-8).fit(X, y), X, y)
    moved = influence(MarginClassifier(tol=1e-8).fit(X + offset, y), X + offset, y)
    np.testing.assert_allclose(moved.scores, plain.scores, atol=1e-3)
    np.testing.assert_allclose(moved.coef, plain.coef, atol=1e-3)
    shift = plain.intercept - offset * plain.coef.sum(axis=1)
    np.testing.assert_allclose(moved.intercept, shift, atol=1e-3 * offset)


def test_influence_of_rows_beyond_double_precision_is_refused_with_the_remedy():
    X = np.random.default_rng(0).normal(size=(64, 6)) * 1e8
    y = X[:, 0] > 0
    with pytest.raises(ValueError, match="Standardise the columns, or use sensitivity"):
        influence(MarginClassifier(C=4.0).fit(X, y), X, y)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_weights_are_repeated_rows_for_influence_and_sensitivity(rows, model):
    X, y = rows
    rng = np.random.default_rng(3)
    weight, new, labels = rng.integers(1, 4, size=len(y)), rng.standard_normal((3, 2)), ["no", "yes", "yes"]
    repeat = np.repeat(np.arange(len(y)), weight)
    weighted, repeated = clone(model).fit(X, y, sample_weight=weight), clone(model).fit(X[repeat], y[repeat])
    one = influence(weighted, X, y, new, labels, sample_weight=weight)
    two = influence(repeated, X[repeat], y[repeat], new, labels)
    np.testing.assert_allclose(one.scores[:, repeat], two.scores, atol=1e-4 * np.abs(two.scores).max())
    one = sensitivity(weighted, X, y, new, labels, sample_weight=weight)
    two = sensitivity(repeated, X[repeat], y[repeat], new, labels)
    np.testing.assert_allclose(one[:, repeat], two, atol=1e-3 * np.abs(two).max())


def test_rows_and_weights_of_another_fit_are_refused_or_told(rows):
    X, y = rows
    weight = np.where(X[:, 1] > 0, 4.0, 1.0)
    model = MarginClassifier(C=100.0).fit(X, y, sample_weight=weight)
    influence(model, X, y, sample_weight=weight)
    for others in ((X, y), (X[:, ::-1], y, weight), (X, y[::-1], weight)):
        given = {"sample_weight": others[2]} if len(others) > 2 else {}
        with pytest.raises(ValueError, match="X, y and sample_weight must be those the model was fitted to"):
            influence(model, *others[:2], **given)
        with pytest.warns(Caution, match="standard errors from those of these rows, labels and weights"):
            Inference(model, *others)

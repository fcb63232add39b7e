"""Displays hold the numbers they draw and refuse what they cannot."""

import sys

import numpy as np
import pandas as pd
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from softmargin import (
    MarginClassifier,
    RuleBoostClassifier,
    TunedClassifier,
    losses,
)
from softmargin.datasets import make_disk, make_gaussians, make_moons
from softmargin.inference import Inference
from softmargin.paths import balance_path, cost_path, margin_path, weight_path
from softmargin.plots import (
    BoundaryDisplay,
    ClassBiplotDisplay,
    HeatMapDisplay,
    IntervalDisplay,
    PathDisplay,
    ReliabilityDisplay,
    RuleDisplay,
    TuningDisplay,
    loss_gallery,
)
from softmargin.plots._gallery import _families
from softmargin.plots._style import direct_labels


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_boundary_shows_probabilities_and_where_they_cross_one_half():
    X, y, _ = make_disk(200, flip=0.05, random_state=0)
    model = LogisticRegression().fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, resolution=50)
    assert display.kind == "probability"
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(*display.grid)])
    np.testing.assert_allclose(display.response.ravel(), model.predict_proba(grid)[:, 1])
    assert display.figure_ is display.ax_.figure


def test_boundary_falls_back_on_scores_and_draws_on_given_axes():
    X, y, _ = make_disk(100, flip=0.05, random_state=0)
    _, ax = plt.subplots()
    display = BoundaryDisplay.from_estimator(LinearSVC().fit(X, y), X, resolution=20, ax=ax)
    assert display.kind == "score"
    assert display.ax_ is ax


def test_suspected_labels_get_their_own_mark():
    X, y, _ = make_disk(60, flip=0.05, random_state=0)
    trust = np.where(np.arange(60) < 5, 0.1, 0.9)
    display = BoundaryDisplay.from_estimator(LogisticRegression().fit(X, y), X, y, trust=trust, resolution=20)
    drawn = {
        group.get_label(): len(group.get_offsets()) for group in display.ax_.collections if group.get_offsets().size > 2
    }
    suspects = sum(count for label, count in drawn.items() if "not trusted" in label)
    assert suspects == 5
    assert sum(drawn.values()) - suspects == 55


def test_boundary_blends_many_classes():
    X, y, _ = make_gaussians(150, random_state=0)
    display = BoundaryDisplay.from_estimator(LogisticRegression().fit(X, y), X, y, resolution=30)
    assert display.response.shape == (30, 30, 3)
    assert display.image_.get_array().shape == (30, 30, 3)


def test_boundary_needs_two_features():
    with pytest.raises(ValueError, match="two features"):
        BoundaryDisplay.from_estimator(LogisticRegression(), np.zeros((3, 4)))
    with pytest.raises(ValueError, match="response must"):
        BoundaryDisplay.from_estimator(LogisticRegression(), np.zeros((3, 2)), response="odds")


def test_path_names_the_largest_coefficients():
    coefs = np.outer([1.0, 2.0, 3.0], [0.1, -2.0, 0.0, 1.0])
    display = PathDisplay([0.1, 1, 10], coefs, feature_names=list("abcd")).plot(n_named=2, mark=1.0)
    assert [text.get_text() for text in display.ax_.texts] == ["b", "d"]
    assert len(display.lines_) == 4


def test_path_checks_shapes():
    with pytest.raises(ValueError, match="one row per value"):
        PathDisplay([1, 2], np.zeros((3, 2)))
    with pytest.raises(ValueError, match="feature_names"):
        PathDisplay([1, 2], np.zeros((2, 2)), feature_names=["a"])


def test_labels_are_moved_apart():
    _, ax = plt.subplots()
    ax.set_ylim(0, 1)
    direct_labels(ax, 1.0, [0.5, 0.5, 0.51], ["a", "b", "c"], ["k", "k", "k"], least_gap=0.1)
    heights = sorted(text.xyann[1] for text in ax.texts)
    assert np.diff(heights).min() > 0.0999


def test_gallery_shows_every_registered_loss_with_its_values_and_pulls():
    figure = loss_gallery()
    upper, lower = figure.axes[: len(figure.axes) // 2], figure.axes[len(figure.axes) // 2 :]
    drawn = {loss.name for members in _families().values() for loss in members.values()}
    assert set(losses.available()) - drawn <= {"truncated", "power_margin"}
    for axis, members in zip(upper, _families().values(), strict=True):
        lines = {line.get_label(): line for line in axis.lines}
        for label, loss in members.items():
            u, cost = lines[label].get_data()
            np.testing.assert_allclose(cost, loss.value(u))
    for axis, members in zip(lower, _families().values(), strict=True):
        lines = {line.get_label(): line for line in axis.lines}
        for label, loss in members.items():
            u, pull = lines[label].get_data()
            shown = np.isfinite(pull)
            assert shown.sum() > 1100
            np.testing.assert_allclose(pull[shown], -loss.slope(u)[shown])


def test_gallery_draws_the_losses_it_is_given():
    figure = loss_gallery([losses.Hinge(), losses.Welsch(0.7)], margins=(-2, 2))
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["Hinge()", "Welsch(sigma=0.7)"]
    with pytest.raises(ValueError, match="low < high"):
        loss_gallery(margins=(1, 1))


def test_plots_without_matplotlib_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'softmargin\[plot\]'"):
        loss_gallery()


def test_reliability_bins_and_intervals():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=4000)
    y = rng.uniform(size=4000) < p
    display = ReliabilityDisplay.from_predictions(y, p, name="honest", n_bins=8)
    assert display.calibration.count.sum() == 4000
    low, high = display._interval()
    from scipy.stats import binomtest

    hits = round(display.calibration.observed[2] * display.calibration.count[2])
    exact = binomtest(hits, int(display.calibration.count[2])).proportion_ci(0.95)
    np.testing.assert_allclose([low[2], high[2]], [exact.low, exact.high], rtol=1e-8)
    assert ((low <= display.calibration.stated) & (display.calibration.stated <= high)).mean() > 0.6
    liar = ReliabilityDisplay.from_predictions(y, p**3, ax=display.ax_, n_bins=8)
    assert liar.calibration.value > 3 * display.calibration.value
    assert len(display.ax_.containers) == 2


def test_reliability_at_zero_and_one():
    display = ReliabilityDisplay.from_predictions(np.repeat([0, 1], 50), np.repeat([0.1, 0.9], 50), n_bins=2)
    low, high = display._interval()
    assert low[0] == 0
    assert high[1] == 1
    assert 0 < high[0] < 0.1
    X, y, _ = make_gaussians(60, random_state=0)
    with pytest.raises(ValueError, match="two classes"):
        ReliabilityDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)


def test_intervals_mark_those_that_exclude_zero():
    X, y, _ = make_disk(400, flip=0.05, random_state=0)
    with pytest.warns(UserWarning, match="the penalty moves a coefficient"):
        display = IntervalDisplay.from_inference(Inference(MarginClassifier().fit(X, y), X, y))
    assert display.excludes_zero.tolist() == [True, False]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["x1", "x0"]
    with pytest.raises(ValueError, match="intervals must have shape"):
        IntervalDisplay([1.0, 2.0], [[0.0, 1.0]])


def test_tuning_display_draws_one_line_per_setting_and_the_choice():
    X, y, _ = make_disk(80, random_state=0)
    tuned = TunedClassifier(MarginClassifier(), grid=5).fit(X, y)
    display = TuningDisplay.from_estimator(tuned)
    assert list(display.curves) == [""]
    C, value, error = display.curves[""]
    assert np.all(np.diff(C) > 0)
    assert value.min() == tuned.best_score_
    assert np.all(error > 0)
    dot = display.ax_.lines[-1]
    assert (dot.get_xdata()[0], dot.get_ydata()[0]) == (tuned.best_params_["C"], tuned.best_score_)


def test_a_display_of_its_own_has_labels_names_and_a_colour_bar():
    X, y, _ = make_moons(random_state=0)
    frame = pd.DataFrame(X, columns=["width", "height"])
    display = BoundaryDisplay.from_estimator(LogisticRegression().fit(frame.to_numpy(), y), frame, y)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("width", "height")
    assert {text.get_text() for text in display.ax_.get_legend().get_texts()} == {"-1", "1"}
    assert display.colorbar_.ax.get_ylabel() == "probability of 1"


@pytest.mark.parametrize("make", [cost_path, weight_path, balance_path])
def test_a_path_is_drawn_through_its_solutions(make):
    X, y, _ = make_moons(60, random_state=0)
    path = make(X, y)
    display = PathDisplay.from_path(path, n_points=40, feature_names=["width", "height"])
    assert len(display.lines_) == 2
    assert np.isfinite(display.parameter).all()
    for t, coefs in list(zip(display.parameter, display.coefs, strict=True))[::10]:
        np.testing.assert_allclose(coefs, path.at(t).coef)
    inside = (path.breakpoints >= display.parameter[0]) & (path.breakpoints <= display.parameter[-1])
    assert np.isin(path.breakpoints[inside], display.parameter).all()
    assert display.ax_.get_xscale() == ("log" if make is cost_path else "linear")


def test_a_grid_path_is_drawn_as_it_is():
    X, y, _ = make_moons(60, random_state=0)
    path = margin_path(X, y, Cs=7)
    display = PathDisplay.from_path(path)
    np.testing.assert_array_equal(display.parameter, path.Cs)
    np.testing.assert_array_equal(display.coefs, path.coefs)


def test_a_biplot_draws_rows_by_their_components_and_the_features_that_count():
    from sklearn.datasets import load_iris
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import scale

    from softmargin import CompositeLeastSquaresClassifier
    from softmargin.plots import ClassBiplotDisplay, HeatMapDisplay

    X, y = load_iris(return_X_y=True, as_frame=True)
    model = CompositeLeastSquaresClassifier(C=0.02, l1_ratio=1.0).fit(X, y)
    display = ClassBiplotDisplay.from_estimator(model, X, y, most=2, trust=np.linspace(0, 1, 150))
    truth = PCA(2).fit(scale(X))
    np.testing.assert_allclose(np.abs(display.points), np.abs(truth.transform(scale(X))), atol=1e-8)
    np.testing.assert_allclose(display.share, truth.explained_variance_ratio_, atol=1e-8)
    assert set(display.names) == set(X.columns[np.argsort(-np.linalg.norm(model.coef_, axis=0))[:2]])
    heat = HeatMapDisplay.from_estimator(model, X, y, most=3)
    np.testing.assert_array_equal(heat.y, np.sort(y))
    assert heat.image_.get_array().shape == (150, 3)
    with pytest.raises(ValueError, match="most must be"):
        HeatMapDisplay.from_estimator(model, X, y, most=0)
    with pytest.raises(ValueError, match="y must hold"):
        ClassBiplotDisplay.from_estimator(model, X, y[:3])


X60 = np.random.default_rng(0).normal(size=(60, 2))
Y60 = (X60[:, 0] > 0).astype(int)
OF_A_CLASSIFIER = {
    "boundary": lambda model, y: BoundaryDisplay.from_estimator(model, X60, y, resolution=9),
    "reliability": lambda model, y: ReliabilityDisplay.from_estimator(model, X60, y),
    "biplot": lambda model, y: ClassBiplotDisplay.from_estimator(model, X60, y),
    "heat map": lambda model, y: HeatMapDisplay.from_estimator(model, X60, y),
    "rules": lambda model, y: RuleDisplay.from_estimator(model),
    "tuning": lambda model, y: TuningDisplay.from_estimator(model),
}


@pytest.mark.parametrize("draw", OF_A_CLASSIFIER.values(), ids=OF_A_CLASSIFIER)
def test_pictures_are_of_fitted_classifiers(draw):
    for wrong in (None, 3, MarginClassifier):
        with pytest.raises(ValueError, match="estimator must be a classifier"):
            draw(wrong, Y60)
    for early in (MarginClassifier(), RuleBoostClassifier(), TunedClassifier(MarginClassifier())):
        with pytest.raises(NotFittedError):
            draw(early, Y60)


@pytest.mark.parametrize("name", ["reliability", "biplot", "heat map"])
@pytest.mark.parametrize("y", [None, Y60[:5], Y60 + 7, Y60.astype(str)])
def test_rows_are_drawn_with_labels_that_the_model_knows(name, y):
    with pytest.raises(ValueError, match="y must hold"):
        OF_A_CLASSIFIER[name](MarginClassifier().fit(X60, Y60), y)


@pytest.mark.parametrize(
    ("draw", "word"),
    [
        (RuleDisplay.from_estimator, "estimator must be a RuleBoost"),
        (TuningDisplay.from_estimator, "estimator must be a Tuned"),
        (IntervalDisplay.from_inference, "inference must be"),
        (PathDisplay.from_path, "path must be"),
    ],
)
def test_pictures_of_something_else_are_refused(draw, word):
    with pytest.raises(ValueError, match=word):
        draw(MarginClassifier().fit(X60, Y60))
    if "estimator" not in word:
        with pytest.raises(ValueError, match=word):
            draw(None)

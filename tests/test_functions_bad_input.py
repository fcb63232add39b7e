"""Functions and displays refuse arguments that are not meant, by an error that names them."""

import math

import numpy as np
import pytest

from softmargin import (
    AutoClassifier,
    BalancingSVC,
    MarginClassifier,
    RobustSVC,
    RuleBoostClassifier,
    ScoreCalibrator,
    audit_labels,
    datasets,
    inference,
    losses,
    paths,
    penalties,
    plots,
    probability,
    report,
)

pytestmark = pytest.mark.filterwarnings("ignore::softmargin.inference.Caution")

RNG = np.random.default_rng(1)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=60) > 0).astype(int)
SIGNS = np.where(Y > 0, 1.0, -1.0)
MODEL = MarginClassifier().fit(X, Y)
FLAT = MarginClassifier().fit(X[:, :2], Y)
PATH, GRID = paths.cost_path(X, Y, C_max=10.0), paths.margin_path(X, Y, Cs=4)
HUGE = X.tolist()
HUGE[3][1] = 10**400
NESTED = np.empty((60, 3), dtype=object)
NESTED[:] = 0.0
NESTED[7, 1] = [1.0, 2.0]
MASKED = np.ma.masked_array(X, X > 1)


def draw(display, *arguments, **options):
    import matplotlib

    matplotlib.use("Agg")
    return display(*arguments, **options)


ROWS = {
    "MarginPath.decision_function": GRID.decision_function,
    "Path.decision_function": lambda rows: PATH.decision_function(rows, 1.0),
    "cost_path": lambda rows: paths.cost_path(rows, Y),
    "margin_path": lambda rows: paths.margin_path(rows, Y, Cs=3),
    "influence": lambda rows: inference.influence(MODEL, rows, Y),
    "sensitivity": lambda rows: inference.sensitivity(MODEL, rows, Y, X[:1], Y[:1]),
    "breakdown": lambda rows: inference.breakdown(MODEL, rows, Y),
    "Inference": lambda rows: inference.Inference(MODEL, rows, Y),
    "decision_interval": lambda rows: inference.Inference(MODEL, X, Y).decision_interval(rows),
    "biplot": lambda rows: draw(plots.ClassBiplotDisplay.from_estimator, MODEL, rows, Y),
    "MarginClassifier.fit": lambda rows: MarginClassifier().fit(rows, Y),
    "RobustSVC.predict": lambda rows: RobustSVC().fit(X, Y).predict(rows),
    "RuleBoostClassifier.fit": lambda rows: RuleBoostClassifier().fit(rows, Y),
    "AutoClassifier.fit": lambda rows: AutoClassifier().fit(rows, Y),
    "ScoreCalibrator.fit": lambda rows: ScoreCalibrator(MarginClassifier()).fit(rows, Y),
}


@pytest.mark.parametrize("asked", ROWS)
def test_rows_beyond_doubles_and_masked_rows_are_refused(asked):
    with pytest.raises(ValueError, match="X holds a number beyond the range of double precision"):
        ROWS[asked](HUGE)
    with pytest.raises(ValueError, match="X is an array with masked values"):
        ROWS[asked](MASKED)


@pytest.mark.parametrize("rows", [X[:, :2], np.c_[X, X]])
@pytest.mark.parametrize(
    "asked",
    [
        GRID.decision_function,
        lambda rows: PATH.decision_function(rows, 1.0),
        lambda rows: inference.influence(MODEL, rows, Y),
        lambda rows: inference.sensitivity(MODEL, rows, Y, X[:1], Y[:1]),
        lambda rows: inference.influence(MODEL, X, Y, rows, Y),
        lambda rows: inference.sensitivity(MODEL, X, Y, rows, Y),
        lambda rows: inference.Inference(MODEL, X, Y).decision_interval(rows),
    ],
)
def test_rows_have_the_columns_of_the_fit(asked, rows):
    with pytest.raises(ValueError, match=r"^X(_new)? must have the 3 columns"):
        asked(rows)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[1, 2, 3], [1, 2]] * 30, r"X: all rows must have one length; got lengths \[2, 3\]"),
        (NESTED, "X: some cells hold several values"),
        (np.full((60, 3), np.datetime64("2020-01-01")), "X: dates are no numbers"),
        (np.full((60, 3), "a"), "X: (could not convert string to float.*AutoClassifier|dtype='numeric')"),
        (X + 1j, "X: Complex data"),
        (X[:, 0], "X: Expected 2D array"),
    ],
)
@pytest.mark.parametrize("asked", sorted(set(ROWS) - {"AutoClassifier.fit", "biplot", "RuleBoostClassifier.fit"}))
def test_what_is_wrong_with_rows_is_said_of_them(asked, rows, said):
    with pytest.raises((TypeError, ValueError), match=said):
        ROWS[asked](rows)


@pytest.mark.parametrize(
    ("labels", "said"),
    [(Y[:-3], r"\bX\b.*\b(57|y)\b"), (Y + 1j, "y: Complex data"), ([1, [2, 3]] * 30, "y: "), (None, r"\by\b")],
)
@pytest.mark.parametrize(
    "asked",
    [
        lambda y: paths.cost_path(X, y),
        lambda y: paths.margin_path(X, y, Cs=3),
        lambda y: inference.breakdown(MODEL, X, y),
        lambda y: BalancingSVC.choose(X, y),
        lambda y: MarginClassifier().fit(X, y),
        lambda y: RobustSVC().fit(X, y),
    ],
)
def test_what_is_wrong_with_labels_is_said_of_them(asked, labels, said):
    with pytest.raises((TypeError, ValueError), match=said):
        asked(labels)


def test_kernel_models_are_asked_about_the_rows_they_were_fitted_to():
    model = MarginClassifier(kernel="rbf").fit(X, Y)
    with pytest.raises(ValueError, match="X must hold the 60 rows that the model was fitted to; got 40"):
        inference.influence(model, X[:40], Y[:40])


@pytest.mark.parametrize("t", [-1, "x", None, math.nan, [1.0, "x"], [[1.0]], 10**400, 11.0])
def test_values_of_a_path_lie_within_it(t):
    for asked in (PATH.gaps, lambda t: PATH.decision_function(X, t), PATH.at):
        with pytest.raises(ValueError, match=r"^C"):
            asked(t)


def test_gaps_are_those_of_the_solutions():
    assert PATH.gaps([0.5, 2.0]) == pytest.approx([PATH.at(0.5).gap, PATH.at(2.0).gap], abs=1e-12)
    assert PATH.gaps(2.0).shape == (1,)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("C_max", -1), ("C_max", "x"), ("C_max", math.nan), ("K", np.eye(3)), ("K", "x"),
        ("K", np.full((60, 60), np.nan)),
        ("y", Y), ("y", np.ones(60)), ("y", SIGNS[:, None]), ("weights", np.ones(60)), ("weights", np.zeros((1, 60))),
        ("weights", -np.ones((1, 60))), ("weights", [["x"] * 60]),
    ],
)  # fmt: skip
def test_cost_paths_are_asked_with_a_gram_matrix_signs_and_weights(name, value):
    given = {"K": X @ X.T, "y": SIGNS, "weights": np.ones((1, 60)), "C_max": 1.0}
    with pytest.raises(ValueError, match=f"^{name}"):
        paths.cost_paths(**(given | {name: value}))


MIXED = ["1", 0] * 30


@pytest.mark.parametrize(
    "asked",
    [
        lambda y: MarginClassifier().fit(X, y),
        lambda y: RuleBoostClassifier().fit(X, y),
        lambda y: paths.cost_path(X, y),
        lambda y: paths.margin_path(X, y),
        lambda y: inference.breakdown(MODEL, X, y),
        lambda y: datasets.flip_labels(y, 0.1),
        lambda y: inference.influence(MODEL, X, y),
    ],
)
def test_a_list_of_text_and_numbers_is_no_list_of_labels(asked):
    with pytest.raises(TypeError, match="y must hold labels of one type; got int, str"):
        asked(MIXED)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", None), ("model", MarginClassifier), ("shares", 0.1), ("shares", "x"), ("shares", [math.nan]),
        ("shares", ["x"]), ("shares", []), ("distance", math.inf), ("distance", "x"), ("distance", [1.0]),
    ],
)  # fmt: skip
def test_breakdown_names_what_it_refuses(name, value):
    with pytest.raises(ValueError, match=f"^{name}"):
        inference.breakdown(**({"model": MODEL, "X": X, "y": Y, "shares": [0.0, 0.1]} | {name: value}))


@pytest.mark.parametrize("answers", [[], [[]], np.zeros((60, 0)), np.zeros(60), [["a", 1]] * 60])
def test_annotators_answer_with_labels_of_one_type(answers):
    pytest.importorskip("pandas")
    with pytest.raises((TypeError, ValueError), match="annotators"):
        audit_labels(MODEL, X, annotators=answers)


def test_answers_that_pandas_misses_are_none():
    pd = pytest.importorskip("pandas")
    answers = pd.DataFrame({"one": pd.array(Y, dtype="Int64"), "two": pd.array([None, *Y[1:]], dtype="Int64")})
    assert len(audit_labels(MODEL, X, Y, annotators=answers).table) == 60


@pytest.mark.parametrize("numbers", [{}, None, [], "x", {"data": {}}])
def test_a_page_is_made_of_the_numbers_of_a_report(numbers):
    for made in (report.to_markdown, report.to_json):
        with pytest.raises(ValueError, match=r"numbers must be the dict that report\.summarise returns"):
            made(numbers)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("P", [[math.nan, 1.0]] * 3), ("P", [0.5, 0.5]), ("codes", [0, 1]), ("codes", [0, 1, 2]),
        ("codes", [0.0, 1.0, 0.0]),
        ("weight", [1.0, math.nan, 1.0]), ("weight", [-1.0, 1.0, 1.0]), ("weight", [0.0] * 3), ("weight", [1.0]),
    ],
)  # fmt: skip
def test_sharpness_names_what_it_refuses(name, value):
    given = {"P": [[0.3, 0.7], [0.6, 0.4], [0.9, 0.1]], "codes": [1, 0, 0], "weight": [1.0, 1.0, 1.0]}
    assert probability.sharpness(**given) > 0
    with pytest.raises(ValueError, match=name):
        probability.sharpness(**(given | {name: value}))


@pytest.mark.parametrize("labels", [[0.0, math.nan, 1.0], [[0, 1]], 3, np.ma.masked_array([0, 1], [True, False])])
def test_labels_to_flip_are_labels(labels):
    with pytest.raises(ValueError, match=r"^y"):
        datasets.flip_labels(labels, 0.5)


SQUARE = np.zeros((3, 3))
DISPLAYS = {
    "names of intervals": (plots.IntervalDisplay, ([1.0, 2.0], [[0, 1], [1, 2]], ["a"]), "names"),
    "estimates": (plots.IntervalDisplay, ([[1.0]], [[0, 1]]), "estimates"),
    "names of a biplot": (plots.ClassBiplotDisplay, (X[:, :2], np.eye(2), ["a"], Y, (0.5, 0.5)), "names"),
    "y of a biplot": (plots.ClassBiplotDisplay, (X[:, :2], np.eye(2), ["a", "b"], Y[:5], (0.5, 0.5)), "y"),
    "names of a heat map": (plots.HeatMapDisplay, (X, ["a"], Y, np.arange(60)), "names"),
    "y of a heat map": (plots.HeatMapDisplay, (X, list("abc"), Y[:5], np.arange(60)), "y"),
    "rows of a heat map": (plots.HeatMapDisplay, (X, list("abc"), Y, np.arange(6)), "rows"),
    "texts of rules": (plots.RuleDisplay, (["a"], [1.0, 2.0]), "texts"),
    "classes of rules": (plots.RuleDisplay, (["a"], [1.0], ["one"]), "classes"),
    "points of rules": (plots.RuleDisplay, (["a"], [math.nan]), "points"),
    "names of a path": (plots.PathDisplay, ([1, 2], np.zeros((2, 2)), ["a"]), "feature_names"),
    "coefs of a path": (plots.PathDisplay, ([1, 2], "x"), "coefs"),
    "curves": (plots.TuningDisplay, ({"a": ([1, 2], [1, 2])},), "curves"),
    "lengths of curves": (plots.TuningDisplay, ({"a": ([1, 2], [1, 2], [1])},), "curves"),
    "calibration": (plots.ReliabilityDisplay, (None,), "calibration"),
    "response": (plots.BoundaryDisplay, (([0, 1, 2], [0, 1]), SQUARE, [0, 1], "score"), "response"),
    "kind": (plots.BoundaryDisplay, (([0, 1, 2], [0, 1, 2]), SQUARE, [0, 1], "x"), "kind"),
    "grid": (plots.BoundaryDisplay, ([0, 1, 2], SQUARE, [0, 1], "score"), "grid"),
    "y of a boundary": (plots.BoundaryDisplay.from_estimator, (FLAT, X[:, :2], Y[:5]), "y"),
    "families": (plots.loss_gallery, ({"a": 3},), "families"),
    "losses": (plots.loss_gallery, (["hinge"],), "families"),
    "code": (plots.class_colour, ("x",), "code"),
    "axes of intervals": (plots.IntervalDisplay([1.0], [[0, 1]]).plot, ("x",), "ax"),
    "axes of a path": (plots.PathDisplay([1, 2], np.eye(2)).plot, (3,), "ax"),
    "names that are none": (plots.PathDisplay, ([1, 2], np.eye(2), np.array(0.5)), "feature_names"),
}


@pytest.mark.parametrize("kind", DISPLAYS)
def test_displays_name_what_they_refuse(kind):
    pytest.importorskip("matplotlib")
    display, given, name = DISPLAYS[kind]
    with pytest.raises(ValueError, match=f"^{name}"):
        draw(display, *given)


@pytest.mark.parametrize("trust", [Y[:5], "x", [[1.0]] * 60])
def test_trust_is_one_number_per_row(trust):
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match=r"^trust"):
        draw(plots.BoundaryDisplay.from_estimator, FLAT, X[:, :2], Y, trust=trust)
    with pytest.raises(ValueError, match=r"^trust"):
        draw(plots.ClassBiplotDisplay.from_estimator, MODEL, X, Y, trust=trust)


@pytest.mark.parametrize("value", [[], {}, X, "x", None, np.empty(0)], ids=lambda value: type(value).__name__)
def test_names_of_choices_are_compared_as_names(value):
    asked = {
        "rule": lambda: datasets.make_disk(10, rule=value),
        "variant": lambda: datasets.make_g241(10, variant=value),
        "scale": lambda: losses.Coherence(scale=value),
    }
    for name, ask in asked.items():
        with pytest.raises(ValueError, match=f"^{name} must be"):
            ask()


@pytest.mark.parametrize("value", [np.uint8(1), 10**400, math.nan, "x", None, [0.1]], ids=lambda value: repr(value)[:9])
def test_shares_and_sizes_of_simulated_data_are_numbers(value):
    for name in ("n", "flip"):
        with pytest.raises(ValueError, match=f"^{name} "):
            datasets.make_disk(**{name: value})


@pytest.mark.parametrize("value", ["x", None, 1j, {}, [10**400] * 60, ["a"] * 60], ids=lambda value: repr(value)[:9])
def test_targets_and_probabilities_are_numbers(value):
    with pytest.raises(ValueError, match=r"^targets "):
        probability.brier(value, np.full(60, 0.5))
    with pytest.raises(ValueError, match=r"^probabilities "):
        probability.brier(Y, value)
    with pytest.raises(ValueError, match=r"^factors "):
        penalties.ElasticNet(1.0, factors=value if value is not None else "x")


def test_a_model_of_wrong_labels_asks_for_shares():
    for weight in (None, "x", [0.4], X):
        with pytest.raises(ValueError, match=r"^weight "):
            losses.Copas().probability(0.1, weight)
    with pytest.raises(ValueError, match=r"^p must be between 0 and 1"):
        losses.Copas().score(-1.0, 0.4)


def test_intervals_of_rows_beyond_doubles_are_refused():
    with pytest.raises(ValueError, match="so far out that their scores overflow"):
        inference.Inference(MODEL, X, Y).decision_interval(1e200 * X)


@pytest.mark.parametrize("value", ["x", 1, np.zeros((60, 3)), np.full((60, 2), np.nan), [10**400], [1j]], ids=range(6))
def test_given_probabilities_are_one_number_per_row_and_class(value):
    pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"^baselines\['other'\] "):
        report.summarise(MODEL, X, Y, baselines={"other": value})
    with pytest.raises(ValueError, match=r"^probabilities "):
        audit_labels(None, X, Y, probabilities=value)
    with pytest.raises(ValueError, match="sample_weight"):
        MarginClassifier().fit(X, Y, sample_weight=1j)

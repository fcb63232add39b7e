"""Arguments of functions that are not what they are meant to be: no rows, several lengths, no number, no look."""

import math

import numpy as np
import pytest

from softmargin import (
    MarginClassifier,
    RuleBoostClassifier,
    audit_labels,
    datasets,
    inference,
    losses,
    paths,
    penalties,
    plots,
    report,
)

pytestmark = pytest.mark.filterwarnings("ignore::softmargin.inference.Caution")

RNG = np.random.default_rng(1)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=60) > 0).astype(int)
MODEL = MarginClassifier().fit(X, Y)
FLAT = MarginClassifier().fit(X[:, :2], Y)
PATH = paths.cost_path(X, Y, C_max=10.0)


def draw(display, *arguments, **options):
    import matplotlib

    matplotlib.use("Agg")
    return display(*arguments, **options)


RAGGED = [[1.0], [2.0, 3.0]]
UNEVEN = {
    "weights of cost_path": ("sample_weight", lambda: paths.cost_path(X, Y, sample_weight=RAGGED)),
    "weights of margin_path": ("sample_weight", lambda: paths.margin_path(X, Y, sample_weight=RAGGED)),
    "weights of Inference": ("sample_weight", lambda: inference.Inference(MODEL, X, Y, RAGGED)),
    "weights of a fit": ("sample_weight", lambda: MarginClassifier().fit(X, Y, sample_weight=RAGGED)),
    "Cs of margin_path": ("Cs", lambda: paths.margin_path(X, Y, Cs=RAGGED)),
    "labels of Inference": ("y", lambda: inference.Inference(MODEL, X, RAGGED)),
    "labels of influence": ("y", lambda: inference.influence(MODEL, X, RAGGED)),
    "new labels of sensitivity": ("y_new", lambda: inference.sensitivity(MODEL, X, Y, X[:2], RAGGED)),
    "labels of flip_labels": ("y", lambda: datasets.flip_labels(RAGGED, 0.1)),
    "labels of a report": ("y", lambda: report.summarise(MODEL, X, RAGGED)),
    "labels of an audit": ("y", lambda: audit_labels(MODEL, X, RAGGED)),
    "groups of an audit": ("groups", lambda: audit_labels(MODEL, X, Y, groups=RAGGED)),
}


@pytest.mark.parametrize("asked", UNEVEN)
def test_lists_of_several_lengths_are_refused_by_the_name_of_their_argument(asked):
    name, call = UNEVEN[asked]
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        call()


@pytest.mark.parametrize("rows", [None, 3, np.float64(0.5), np.array(1.0)])
def test_what_has_no_rows_is_refused_by_the_name_of_its_argument(rows):
    for call in (lambda: report.summarise(MODEL, rows, Y), lambda: audit_labels(MODEL, rows, Y)):
        with pytest.raises((TypeError, ValueError), match=r"\bX\b"):
            call()
    with pytest.raises((TypeError, ValueError), match=r"training\[0\]"):
        report.summarise(MODEL, X, Y, training=(rows, Y))


@pytest.mark.parametrize("weight", [math.nan, math.inf, [math.nan] * 60])
def test_one_weight_for_all_rows_is_a_finite_number(weight):
    for fit in (MarginClassifier().fit, paths.cost_path, lambda X, Y, **given: paths.margin_path(X, Y, Cs=3, **given)):
        with pytest.raises(ValueError, match="sample_weight"):
            fit(X, Y, sample_weight=weight)


def test_weights_of_paths_are_those_that_can_be_added_up():
    for path in (paths.cost_path, paths.weight_path, paths.balance_path, paths.margin_path):
        with pytest.raises(ValueError, match="sample_weight"):
            path(X, Y, sample_weight=5e-324)


def test_a_cap_beyond_what_loops_count_is_none():
    assert paths.cost_path(X, Y, C_max=1.0, max_events=2**63).complete


def test_a_scorer_at_no_value_has_no_columns():
    assert PATH.scorer([])(X).shape == (60, 0)


def test_switches_of_a_data_set_are_truth_values():
    for name in ("encode", "standardize", "download"):
        with pytest.raises(ValueError, match=f"{name} must be True or False"):
            datasets.load("iris", **{name: np.ones(2)})


def test_a_scale_may_be_any_whole_number():
    assert np.isfinite(datasets.make_wavy(10, scale=2**63, random_state=0).probability).all()


def test_a_base_is_a_loss_whether_it_is_used_or_not():
    with pytest.raises(ValueError, match="base must be"):
        losses.make_loss(np.square, base=[])


def test_looks_that_matplotlib_does_not_know_are_refused_by_the_name_of_their_argument():
    for style in ({"a": "b"}, {1: 2}):
        with pytest.raises(ValueError, match="boundary"):
            draw(plots.BoundaryDisplay.from_estimator, FLAT, X[:, :2], Y, resolution=20, boundary=style)
    with pytest.raises(ValueError, match="colour must be"):
        draw(plots.ReliabilityDisplay.from_estimator, MODEL, X, Y, colour="no such")


def test_an_audit_is_written_to_a_file():
    with pytest.raises(ValueError, match="path must be"):
        audit_labels(MODEL, X, Y, random_state=0).to_csv(3)


def test_numbers_too_small_or_large_to_tell_from_none_are_refused_by_name():
    with pytest.raises(ValueError, match="l1_ratio of MCP"):
        penalties.get("mcp", l1_ratio=5e-324)
    with pytest.raises(ValueError, match="l1 must be"):
        RuleBoostClassifier(l1=1e-300).fit(X, Y)
    with pytest.raises(ValueError, match="distance must be"):
        inference.breakdown(MODEL, X, Y, distance=1e300)

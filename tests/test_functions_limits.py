"""Functions and classifiers refuse by name what would not end, is not finite or is no number at all."""

import math
import warnings

import numpy as np
import pytest
from scipy import sparse

from softmargin import (
    BalancingSVC,
    MarginClassifier,
    ProbabilisticSVC,
    RobustSVC,
    RuleBoostClassifier,
    TunedClassifier,
    audit_labels,
    chunks,
    datasets,
    export,
    inference,
    load,
    losses,
    paths,
    penalties,
    probability,
    report,
    save,
)
from softmargin.expansions import DenseFeatures
from softmargin.problem import Problem
from softmargin.solvers import solve

pytestmark = pytest.mark.filterwarnings("ignore::softmargin.inference.Caution")

RNG = np.random.default_rng(1)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=60) > 0).astype(int)
SIGNS = np.where(Y > 0, 1.0, -1.0)
MODEL = MarginClassifier().fit(X, Y)


@pytest.mark.parametrize("value", [-1, 1.5, "x", True, math.nan, [1], 2**32, {}], ids=repr)
def test_random_states_are_refused_by_name(value):
    asked = (
        lambda: datasets.make_disk(10, random_state=value),
        lambda: datasets.make_g241(10, random_state=value),
        lambda: datasets.make_monks(1, random_state=value),
        lambda: datasets.flip_labels(Y, 0.1, random_state=value),
        lambda: inference.Inference(MODEL, X, Y, random_state=value),
        lambda: probability.calibration_error(Y, np.full(60, 0.5), random_state=value),
        lambda: audit_labels(MarginClassifier(), X, Y, random_state=value),
    )
    for ask in asked:
        with pytest.raises(ValueError, match=r"^random_state must be"):
            ask()


def test_random_states_of_every_kind_draw_the_same_rows_again():
    def drawn(random_state):
        return inference.Inference(MODEL, X, Y, method="bootstrap", n_resamples=3, random_state=random_state).theta_

    for make in (lambda: 3, lambda: np.random.RandomState(3), lambda: np.random.default_rng(3)):
        assert drawn(make()) == pytest.approx(drawn(make()), abs=0)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        (lambda: inference.Inference(MODEL, X, Y, method="bootstrap", n_resamples=10**9), "n_resamples"),
        (lambda: probability.calibration_error(Y, np.full(60, 0.5), n_resamples=10**9), "n_resamples"),
        (lambda: paths.margin_path(X, Y, Cs=10**9), "Cs"),
        (lambda: audit_labels(MarginClassifier(), X, Y, n_repeats=10**9), "n_repeats"),
        (lambda: RobustSVC(n_init=10**9).fit(X, Y), "n_init"),
        (lambda: RuleBoostClassifier(n_rules=10**9).fit(X, Y), "n_rules"),
        (lambda: RuleBoostClassifier(max_literals=10**9).fit(X, Y), "max_literals"),
        (lambda: ProbabilisticSVC(n_resamples=10**9).fit(X, Y), "n_resamples"),
        (lambda: TunedClassifier(MarginClassifier(), criterion="gkl", n_draws=10**9).fit(X, Y), "n_draws"),
    ],
)
def test_repetitions_without_end_are_refused(asked, name):
    with pytest.raises(ValueError, match=f"^{name} must be .* to 10*"):
        asked()


def test_choosing_a_balance_names_what_it_refuses_and_takes_sparse_rows():
    for name, values in {
        "Cs": ([], "x", [1.0, -1.0], 0.0, [[1.0]], 10**400, {}),
        "criterion": ("cv", np.arange(2), None),
        "kernel": ("no such kernel", 3),
        "gamma": (-1.0, "x"),
    }.items():
        for value in values:
            with pytest.raises(ValueError, match=f"^{name} must be"):
                BalancingSVC.choose(X, Y, **{name: value})
    for kernel in (None, "rbf"):
        dense = BalancingSVC.choose(X, Y, Cs=[0.1, 1.0], kernel=kernel)
        for form in (sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix):
            found = BalancingSVC.choose(form(X), Y, Cs=[0.1, 1.0], kernel=kernel)
            assert (found.C, found.balance) == pytest.approx((dense.C, dense.balance), rel=1e-6)
            assert found.value == pytest.approx(dense.value, rel=1e-6)


@pytest.mark.parametrize("value", ["x", [[1, 2]], [[1, "x"], [1, 1]], np.full((2, 2), np.nan), 10**400, {(0, 1): "x"}])
def test_costs_of_mistakes_are_numbers(value):
    with pytest.raises(ValueError, match=r"^costs"):
        probability.cost_matrix(value, [0, 1])


@pytest.mark.parametrize("fit", [probability.fit_sigmoid, probability.fit_temperature, probability.fit_coherence])
def test_links_are_fitted_to_a_finite_score_and_a_label_per_row(fit):
    scores = X[:, 0]
    for f in (scores[:-3], X, "x", [math.nan] * 60, 3.0, [10**400] * 60, {}):
        with pytest.raises(ValueError, match=r"^(f|y) "):
            fit(f, SIGNS)
    for y in (SIGNS[:-3], SIGNS[:, None], ["a"] * 60, None):
        with pytest.raises(ValueError, match=r"^y "):
            fit(scores, y)
    for weight in (np.zeros(60), -np.ones(60), np.ones(59), ["1"] * 60, [10**400] * 60):
        with pytest.raises(ValueError, match="weight"):
            fit(scores, SIGNS, weight)


def test_bounds_of_the_excess_risk_are_asked_with_numbers():
    bound = losses.excess_risk_bound(losses.LeastSquares())
    square = np.array([[0.1, 0.2], [0.3, 0.4]])
    assert bound.psi(square) == pytest.approx(np.square(square))
    for ask, name in ((bound.psi, "theta"), (bound, "excess")):
        for value in ("x", 10**400, 1j, {}, -1.0, math.nan):
            with pytest.raises(ValueError, match=f"^{name} "):
                ask(value)


def test_rows_whose_products_overflow_have_no_influence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="columns of X are too large"):
            inference.influence(MODEL, 1e300 * X, Y)


@pytest.mark.parametrize("name", sorted(name for name in datasets.__all__ if name.startswith("make_")))
def test_samples_beyond_memory_are_refused_before_they_are_drawn(name):
    if name != "make_monks":
        with pytest.raises(MemoryError, match=r"sample of n=1000000000000 rows takes .* Use fewer rows"):
            getattr(datasets, name)(10**12)


@pytest.mark.parametrize("value", [1e-300, 1e300, 0, -1.0, math.inf, "x"])
def test_spreads_are_such_that_densities_are_doubles(value):
    for make, name in (
        (datasets.make_wavy, "scale"),
        (datasets.make_gaussians, "scale"),
        (datasets.make_sine, "noise"),
    ):
        with pytest.raises(ValueError, match=f"^{name} must be a positive number"):
            make(10, **{name: value})


@pytest.mark.parametrize("spread", [1e-100, 1e100])
def test_extreme_spreads_have_probabilities(spread):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for sample in (
            datasets.make_wavy(20, scale=spread, random_state=0),
            datasets.make_gaussians(20, scale=spread, random_state=0),
            datasets.make_sine(20, noise=spread, random_state=0),
            datasets.make_moons(20, noise=spread, random_state=0),
        ):
            assert np.isfinite(sample.X).all()
            assert np.isfinite(sample.probability).all()


@pytest.mark.parametrize("value", [[3], {}, np.arange(3), "x", None, 3.5])
def test_names_and_numbers_of_examples_are_compared_as_such(value):
    for name, make in {"n_classes": datasets.make_gaussians, "problem": datasets.make_monks}.items():
        with pytest.raises(ValueError, match=f"^{name} must be one of"):
            make(**{name: value})
    with pytest.raises(ValueError, match=r"^part must be one of"):
        datasets.make_monks(1, part=value)


LOSSES = [losses.Hinge(), losses.BalancedHinge(2.0), losses.TruncatedHinge(), losses.Psi(), losses.Welsch(1.0)]
PENALTIES = [
    penalties.ElasticNet(0.5),
    penalties.ElasticNet(1.0),
    penalties.ElasticNet(0.0, positive=True),
    penalties.SCAD(),
    penalties.MCP(0.5),
    penalties.AdaptiveL1(),
]


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_pairs_that_do_not_go_together_are_named_with_a_remedy_that_works(loss, penalty):
    problem = Problem(loss, DenseFeatures(X), SIGNS, np.ones(60), penalty)
    try:
        solve(problem, tol=1e-2)
    except ValueError as error:
        said = str(error)
    else:
        return
    assert said.startswith(f"loss={loss!r} cannot be fitted with ")
    assert ". Use " in said
    assert not any(name in said for name in ("newton", "box_qp", "majorize", "solver"))
    changed = {
        "(a ridge)": (loss, penalties.ElasticNet(0.0, positive=penalty.positive)),
        "(an elastic net)": (loss, penalties.ElasticNet(penalty.l1_ratio, positive=penalty.positive)),
        "se positive=False": (loss, penalties.ElasticNet(penalty.l1_ratio)),
        "loss='huberized_hinge'": (losses.HuberizedHinge(), penalty),
        "loss='welsch'": (losses.Welsch(1.0), penalty),
    }
    named = [pair for words, pair in changed.items() if words in said]
    assert named
    for other, remedy in named:
        solve(Problem(other, DenseFeatures(X), SIGNS, np.ones(60), remedy), tol=1e-2)


@pytest.mark.parametrize("rows", [X.tolist(), tuple(map(tuple, X)), sparse.coo_matrix(X), memoryview(X)], ids=type)
def test_reports_read_rows_in_every_container(rows, tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("jinja2")
    found = report.build(MODEL, rows, Y, tmp_path / "page.html", training=(rows, Y))
    wanted = report.summarise(MODEL, X, Y, training=(X, Y))
    for name, score in wanted["scores"]["MarginClassifier"].items():
        assert found["scores"]["MarginClassifier"][name] == pytest.approx(score)


def test_reports_name_what_they_refuse(tmp_path):
    pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"^title must be a string"):
        report.build(MODEL, X, Y, tmp_path / "page.html", title=None)
    with pytest.raises(ValueError, match=r"^training\[1\] must hold one label per row of training\[0\]"):
        report.summarise(MODEL, X, Y, training=("a", "b"))
    with pytest.raises(IsADirectoryError, match="give the path of a file"):
        report.build(MODEL, X, Y, tmp_path)


def test_files_exports_and_chunks_name_what_they_refuse(tmp_path):
    save(MODEL, tmp_path / "model")
    for trusted in ([1], np.eye(2), np.array(0.5), 3):
        with pytest.raises(ValueError, match=r"^trusted must be"):
            load(tmp_path / "model", trusted=trusted)
    for trusted in ({"a:b"}, iter(["a:b"]), ("a:b",), np.array(["a:b"])):
        load(tmp_path / "model", trusted=trusted)
    assert export.to_sql(MODEL, "t", key=np.array([])) == export.to_sql(MODEL, "t")
    with pytest.raises(ValueError, match=r"^cache_directory must be"):
        chunks.from_arrays(lambda: iter([(X, Y)]), cache_directory=tmp_path / "model")
    masked = np.ma.masked_array(np.ones(60), Y > 0)
    with pytest.raises(ValueError, match="masked values"):
        MarginClassifier().fit(*chunks.from_arrays(lambda: iter([(X, Y, masked)])))


def test_a_wall_is_not_rounded_off():
    given = chunks.from_arrays(lambda: iter([(X, Y)]))
    with pytest.raises(ValueError, match="cannot be fitted with l1_ratio=0 on rows outside memory"):
        MarginClassifier(loss=losses.BalancedHinge(math.inf)).fit(*given)

"""Leveraging one feature or a block: golden optima, the residual test, the decrease of the risk, separable cases."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softmargin import losses
from softmargin.expansions import DenseFeatures
from softmargin.solvers.rules.leveraging import Block, Evaluation, Separable, WeightedRisk, correct, leverage

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "uls.json").read_text())
LOSSES = {
    "exp": lambda p: losses.Exponential(),
    "log": lambda p: losses.BalancedConvex(losses.LogEntropy()),
    "matsushita": lambda p: losses.BalancedConvex(losses.Matsushita()),
    "mu": lambda p: losses.BalancedConvex(losses.Matsushita(mu=p)),
    "squared": lambda p: losses.LeastSquares(),
    "gini": lambda p: losses.BalancedConvex(losses.Gini()),
    "gini_extended": lambda p: losses.ModifiedHuber(),
    "power": lambda p: losses.BalancedConvex(losses.PowerEntropy(power=p)),
}
CYCLIC = GOLDEN["cyclic"]
X, Y = np.array(CYCLIC["X"], dtype=float), np.array(CYCLIC["y"], dtype=float)
RUNS = [pytest.param(run, id=f"{run['loss']}{run['param'] or ''}") for run in CYCLIC["runs"]]


def plain(loss, n):
    """The risk of n rows of weight one and label +1."""
    return WeightedRisk(loss, np.ones(n), np.ones(n))


def schedule(loss, blocks, weights=None):
    """Coefficients after each block of a schedule."""
    weights = np.ones(len(Y)) if weights is None else weights
    risk = WeightedRisk(loss, Y, weights)
    coef, point = np.zeros(X.shape[1]), Evaluation.at(loss, np.zeros(len(Y)))
    for block in blocks:
        if len(block) == 1:
            step = leverage(risk, point, X[:, block[0]])
            coef[block[0]] += step.delta
            point = step.point
        else:
            solved = correct(risk, DenseFeatures(X[:, block]), Block(coef[block], point))
            coef[block] = solved.coef
            point = solved.point
        yield coef.copy()


@pytest.mark.parametrize("run", RUNS)
def test_cyclic_leveraging_reaches_every_golden_iterate(run):
    loss = LOSSES[run["loss"]](run["param"])
    iterates = list(schedule(loss, [[j % 4] for j in range(len(run["alpha"]))]))
    np.testing.assert_allclose(iterates, run["alpha"], atol=1e-8)


@pytest.mark.parametrize("run", RUNS)
def test_pairs_and_totally_corrective_blocks_reach_the_golden_iterates(run):
    loss = LOSSES[run["loss"]](run["param"])
    pairs = list(schedule(loss, [[j % 4, (j + 1) % 4] for j in range(len(run["pairs_schedule"]))]))
    np.testing.assert_allclose(pairs, run["pairs_schedule"], atol=1e-8)
    for coef, expected in zip(
        schedule(loss, [list(range(k + 1)) for k in range(4)]), run["totally_corrective"], strict=True
    ):
        np.testing.assert_allclose(coef[: len(expected)], expected, atol=1e-8)


@pytest.mark.parametrize("run", RUNS)
def test_correct_finds_the_golden_optimum_plain_and_weighted(run):
    loss = LOSSES[run["loss"]](run["param"])
    *_, optimum = schedule(loss, [[0, 1, 2, 3]])
    np.testing.assert_allclose(optimum, run["optimum"], atol=1e-8)
    *_, weighted = schedule(loss, [[0, 1, 2, 3]], np.array(CYCLIC["sample_weight"]))
    np.testing.assert_allclose(weighted, run["weighted_optimum"], atol=1e-8)


@pytest.mark.parametrize("run", RUNS)
def test_edges_and_risks_follow_the_golden_trace(run):
    loss = LOSSES[run["loss"]](run["param"])
    coef = np.zeros(4)
    for j, (after, line) in enumerate(zip(schedule(loss, [[j % 4] for j in range(6)]), run["trace"], strict=True)):
        w = -loss.slope(Y * (X @ coef))
        edge = (Y * X[:, j % 4] * w).sum() / np.abs(w).sum()  # squared: weights may be negative
        np.testing.assert_allclose(edge, line["edge"], rtol=1e-8)
        coef = after


@pytest.mark.parametrize("name", GOLDEN["leverage"]["delta"])
def test_one_feature_reaches_the_golden_step(name):
    kind, _, param = name.partition(":")
    case = GOLDEN["leverage"]
    loss = LOSSES[kind](float(param) if param else None)
    keep = np.array(case["sample_weight"]) > 0
    z, s, c = (np.array(case[k])[keep] for k in ("z", "yh", "sample_weight"))
    step = leverage(WeightedRisk(loss, np.ones_like(c), c), Evaluation.at(loss, z), s)
    assert step.delta == pytest.approx(case["delta"][name], abs=1e-9)
    w = -loss.slope(z + step.delta * s)
    assert abs((c * s * w).sum()) <= 1e-10 * (c * np.abs(s) * np.abs(w)).sum()


FIRST_STEPS = [case for case in GOLDEN["first_step"]["cases"] if case["phi"] in LOSSES]


@pytest.mark.parametrize("case", FIRST_STEPS, ids=lambda c: f"{c['phi']}-{c['n_plus']}-{c['eps']}")
def test_smoothed_first_step_is_the_link_of_a_smoothed_share(case):
    loss = LOSSES[case["phi"]](case["param"])
    column = np.where(np.arange(case["n"]) < case["n_plus"], 1.0, -1.0)
    step = leverage(plain(loss, case["n"]), Evaluation.at(loss, np.zeros(case["n"])), column, smoothing=case["eps"])
    assert step.delta == pytest.approx(case["delta"], abs=1e-9)


def test_a_block_that_separates_is_reported_although_each_feature_has_a_finite_step():
    A = np.array(GOLDEN["lemma2"]["A"])
    for name in ("exp", "log", "matsushita"):
        loss = LOSSES[name](None)
        start = Evaluation.at(loss, np.zeros(2))
        assert np.isfinite(leverage(plain(loss, 2), start, A[:, 0]).delta)
        with pytest.raises(Separable):
            correct(plain(loss, 2), DenseFeatures(A), Block(np.zeros(2), start))
        smooth = correct(plain(loss, 2), DenseFeatures(A), Block(np.zeros(2), start), smoothing=0.5)
        assert smooth.converged
        assert np.all(np.isfinite(smooth.coef))
    squared = losses.LeastSquares()
    exact = correct(plain(squared, 2), DenseFeatures(A), Block(np.zeros(2), Evaluation.at(squared, np.zeros(2))))
    np.testing.assert_allclose(exact.coef, 2, atol=1e-10)


def test_a_feature_of_one_sign_separates_and_a_zero_feature_moves_nothing():
    case = GOLDEN["lemma2"]["all_same_sign"]
    column = np.array(case["A_column"])
    log, squared = losses.Logistic(), losses.LeastSquares()
    with pytest.raises(Separable):
        leverage(plain(log, 4), Evaluation.at(log, np.zeros(4)), column)
    step = leverage(plain(squared, 4), Evaluation.at(squared, np.zeros(4)), column)
    assert step.delta == pytest.approx(case["squared_delta"], abs=1e-10)
    assert leverage(plain(log, 3), Evaluation.at(log, np.zeros(3)), np.zeros(3)).delta == 0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["log", "matsushita", "gini", "squared", "power"]))
def test_every_step_decreases_the_risk_by_the_bound_of_theorem_2(seed, name):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    loss = LOSSES[name](0.25)
    # min f'' over the weights, for psi scaled as the library's loss: curvature is at most 1 / (kappa b^2) there
    z, s = rng.normal(size=n), rng.choice([-1.0, 1.0], size=n) * rng.uniform(0.1, 2, size=n)
    s[:2] = [1.0, -1.0]
    before = Evaluation.at(loss, z)
    step = leverage(plain(loss, n), before, s)
    force = float((s * -before.slope).sum())
    bound = force**2 / (2 * loss.curvature_bound * (s @ s))
    decrease = before.value.sum() - step.point.value.sum()
    assert decrease >= bound * (1 - 1e-9) - 1e-12
    if name == "squared":
        assert decrease == pytest.approx(bound, rel=1e-8, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_exponential_step_on_signs_multiplies_the_risk_by_the_adaboost_factor(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    z, s, c = rng.normal(size=n), rng.choice([-1.0, 1.0], size=n), rng.uniform(0.1, 3, size=n)
    s[:2] = [1.0, -1.0]
    loss = losses.Exponential()
    before = Evaluation.at(loss, z)
    edge = float((c * s * -before.slope).sum() / (c * -before.slope).sum())
    after = leverage(WeightedRisk(loss, np.ones(n), c), before, s).point
    assert c @ after.value == pytest.approx((c @ before.value) * np.sqrt(1 - edge**2), rel=1e-10)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["log", "matsushita", "gini_extended"])
@pytest.mark.parametrize("depth", [50.0, 900.0, 1e6])
def test_a_start_on_the_straight_part_of_a_loss_is_left_by_finite_steps(name, depth):
    rng = np.random.default_rng(0)
    columns, signs = rng.normal(size=(30, 2)), rng.choice([-1.0, 1.0], 30)
    loss = LOSSES[name](None)
    risk = WeightedRisk(loss, signs, np.ones(30))
    coef = np.array([depth, -depth])
    start = Block(coef, risk.at(signs * (columns @ coef)))
    found = correct(risk, DenseFeatures(columns), start)
    best = correct(risk, DenseFeatures(columns), Block(np.zeros(2), risk.at(np.zeros(30))))
    assert np.all(np.isfinite(found.coef))
    assert risk.value(found.point) <= risk.value(best.point) * (1 + 1e-6)

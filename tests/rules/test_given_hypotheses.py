"""Given hypotheses, blocks, the record of rounds and the boosting-rate bound, against golden values and enumeration."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from softmargin import RuleBoostClassifier, losses

pd = pytest.importorskip("pandas")

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


def paper(**options):
    return RuleBoostClassifier.paper_settings(learner="given", **options)


def stages(model):
    """Coefficients in the order of the columns after each round."""
    order = model._hypotheses
    for _, coef in model._stages[1:]:
        wide = np.zeros(len(order))
        wide[: coef.shape[1]] = coef[0]
        yield wide[np.argsort(order)]


@pytest.mark.parametrize("run", RUNS)
def test_blocks_of_one_column_in_turn_reach_every_golden_iterate(run):
    model = paper(loss=LOSSES[run["loss"]](run["param"]), blocks=[[0], [1], [2], [3]], n_rules=len(run["alpha"]))
    np.testing.assert_allclose(list(stages(model.fit(X, Y)))[3:], run["alpha"][3:], atol=1e-8)


@pytest.mark.parametrize("run", RUNS)
def test_overlapping_pairs_and_growing_blocks_reach_the_golden_iterates(run):
    loss = LOSSES[run["loss"]](run["param"])
    pairs = [[j, (j + 1) % 4] for j in range(4)]
    model = paper(loss=loss, blocks=pairs, n_rules=len(run["pairs_schedule"])).fit(X, Y)
    np.testing.assert_allclose(list(stages(model))[2:], run["pairs_schedule"][2:], atol=1e-8)
    model = paper(loss=loss, blocks=[[0], [1], [2], [3]], n_rules=4, update="corrective").fit(X, Y)
    np.testing.assert_allclose(model.coef_[0], run["totally_corrective"][-1], atol=1e-8)
    weighted = model.fit(X, Y, sample_weight=np.array(CYCLIC["sample_weight"]))
    np.testing.assert_allclose(weighted.coef_[0], run["weighted_optimum"], atol=1e-7)


def real_columns(seed, n=60, d=5):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, d)) * rng.uniform(0.1, 3, size=d)
    label = (H[:, 0] - H[:, 1] + rng.normal(size=n) > 0) ^ (np.arange(n) % 7 == 0)  # flips: nothing separates
    return H, label.astype(int)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["logistic", "exponential", "modified_huber"]))
def test_many_rounds_over_real_columns_end_at_the_minimum_found_by_another_route(seed, loss):
    H, y = real_columns(seed)
    signs = 2.0 * y - 1
    model = RuleBoostClassifier(loss, learner="given", n_rules=12, smoothing=0, min_edge=0).fit(H, y)
    loss = model.loss_

    def risk(beta):
        z = signs * (beta[0] + H @ beta[1:])
        return loss.value(z).sum(), np.column_stack([np.ones(len(H)), H]).T @ (signs * loss.slope(z))

    best = minimize(risk, np.zeros(6), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert model.solution_.objective <= best.fun * (1 + 1e-8) + 1e-10
    assert model.solution_.converged
    np.testing.assert_allclose(model.decision_function(H), model.intercept_ + H @ model.coef_[0])


def test_the_largest_scaled_edge_is_taken_whatever_the_units_of_columns():
    H, y = real_columns(1)
    units = np.array([1e-3, 1.0, 50.0, 1e4, 1e-7])
    plain, scaled = (paper(n_rules=8).fit(M, y) for M in (H, H * units))
    assert plain._hypotheses == scaled._hypotheses
    np.testing.assert_allclose(plain.decision_function(H), scaled.decision_function(H * units), rtol=1e-7)
    edges = plain.rounds_["edge"]
    g = (2.0 * y - 1) * 0.5
    expected = np.abs(H.T @ g) / (np.abs(g).sum() * np.sqrt(np.mean(H**2, axis=0)))
    assert edges[0] == pytest.approx(expected.max())
    assert plain._hypotheses[0] == int(expected.argmax())


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(set(LOSSES) - {"mu"})),
    st.sampled_from(["rules", "given"]),
    st.sampled_from(["single", "corrective"]),
    st.sampled_from([0.0, 0.5, 5.0]),
    st.sampled_from([1.0, 0.3]),
)
def test_the_risk_stays_below_the_boosting_rate_bound(seed, name, learner, update, smoothing, rate):
    H, y = real_columns(seed)
    model = RuleBoostClassifier(
        LOSSES[name](0.25),
        learner=learner,
        update=update,
        smoothing=smoothing,
        learning_rate=rate,
        n_rules=6,
        max_bins=8,
    ).fit(H, y)
    bound, history = model.rate_bound_, np.array(model.solution_.history)
    assert bound.shape == history.shape == (model.n_iter_ + 1,)
    assert np.all(history <= bound + 1e-7 * abs(history[0]))
    assert np.all(np.diff(bound) <= 1e-12)
    assert model.weak_learning_edge_ == model.edges_.min()


def test_the_bound_is_reached_by_the_squared_loss_and_follows_adaboost_for_the_exponential():
    H, y = real_columns(0)
    squared = paper(loss=losses.LeastSquares(), n_rules=5).fit(H, y)
    np.testing.assert_allclose(squared.rate_bound_, squared.solution_.history, rtol=1e-9)
    boosted = paper(loss="exponential", n_rules=5).fit(np.sign(H), y)
    np.testing.assert_allclose(boosted.rate_bound_, boosted.solution_.history, rtol=1e-9)
    np.testing.assert_allclose(boosted.rate_bound_[1:], len(y) * np.cumprod(np.sqrt(1 - boosted.edges_**2)), rtol=1e-9)


def test_rounds_say_what_was_chosen_and_why():
    H, y = real_columns(2, n=150)
    bag = ["logistic", "exponential", losses.BalancedConvex(losses.Matsushita())]
    for tuning in ("F", "E"):
        model = RuleBoostClassifier.paper_settings(loss=bag, tuning=tuning, n_rules=5).fit(H, y)
        rounds = model.rounds_
        assert list(rounds.columns[:5]) == ["round", "rule", "edge", "leverage", "loss"]
        scores = rounds[[c for c in rounds.columns if c.startswith("score ")]]
        assert scores.shape == (5, 3)
        best = scores.to_numpy().argmin(axis=1) if tuning == "F" else scores.to_numpy().argmax(axis=1)
        chosen = [scores.columns[k].removeprefix("score ") for k in best]
        assert chosen == list(rounds["loss"])
        # a rule of one round only has that round's leverage as its coefficient
        table = model.rules_.set_index("text")["coefficient"]
        total = rounds.groupby("rule")["leverage"].sum()
        np.testing.assert_allclose(total[table.index], table)
    whole = RuleBoostClassifier(bag, n_rules=4, tuning="F*", random_state=0).fit(H, y)
    assert len(whole.tuning_scores_) == 3
    assert repr(whole.loss_) == min(whole.tuning_scores_, key=whole.tuning_scores_.get)
    named = paper(blocks=[[0, 1], [2, 3, 4]], n_rules=2).fit(pd.DataFrame(H, columns=list("abcde")), y).rounds_
    assert list(named["rule"]) == ["a; b", "c; d; e"]
    assert [len(step) for step in named["leverage"]] == [2, 3]
    many = RuleBoostClassifier(n_rules=3).fit(H, np.arange(len(H)) % 3).rounds_
    assert {"leverage 0", "leverage 1", "leverage 2"} <= set(many.columns)


def test_several_classes_sparse_input_and_early_stopping_work_on_given_columns():
    from scipy import sparse

    H, _ = real_columns(3, n=200)
    y = np.digitize(H[:, 0] + 0.3 * H[:, 1], [-0.5, 0.5])
    model = RuleBoostClassifier(learner="given", n_rules=10, early_stopping=True, random_state=0).fit(H, y)
    assert model.coef_.shape == (3, 5)
    np.testing.assert_array_equal(model.predict_proba(H).argmax(axis=1), model.predict(H))
    np.testing.assert_allclose(list(model.staged_decision_function(H))[-1], model.decision_function(H))
    thin = RuleBoostClassifier(learner="given", n_rules=10, early_stopping=True, random_state=0).fit(
        sparse.csr_array(H), y
    )
    np.testing.assert_allclose(thin.coef_, model.coef_)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([[0, 1], [2]], "never visits the columns"),
        ([[0], [7]], "column numbers"),
        ([], "column numbers"),
        ([[]], "column"),
    ],
)
def test_blocks_that_miss_columns_are_refused(blocks, message):
    H, y = real_columns(0)
    with pytest.raises(ValueError, match=message):
        paper(blocks=blocks).fit(H, y)


def test_gaps_categories_and_reading_are_refused_by_name():
    H, y = real_columns(0)
    frame = pd.DataFrame(H, columns=list("abcde"))
    with pytest.raises(ValueError, match=r"'word'.*categories"):
        paper().fit(frame.assign(word="x"), y)
    frame.iloc[3, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        paper().fit(frame, y)
    with pytest.raises(AttributeError, match="learner='given' has none"):
        paper().fit(H, y).to_text()
    with pytest.raises(ValueError, match="blocks"):
        RuleBoostClassifier(blocks=[[0, 1, 2, 3, 4]]).fit(H, y)


def test_rules_given_as_columns_are_boosted_alike():
    H, y = real_columns(4, n=120)
    rules = RuleBoostClassifier.paper_settings(n_rules=6).fit(H, y)
    columns = np.column_stack([2.0 * rule.holds(rules._prediction_set(H)) - 1 for rule in rules.rule_list_])
    given = paper(n_rules=6, blocks=[list(one.members) for one in rules._rounds]).fit(columns, y)
    np.testing.assert_allclose(given.decision_function(columns), rules.decision_function(H), atol=1e-9)


def test_renormalised_squared_loss_is_the_loop_of_the_paper():
    rng = np.random.default_rng(2)
    H = np.sign(rng.standard_normal((40, 5)))
    y = np.sign(H[:, :3].sum(axis=1))
    coef, expected = np.zeros(5), []
    for j in (0, 1, 2, 3, 4, 0, 1):  # the step of least squares along one column, then the sum of sizes back to one
        coef[j] += (H[:, j] @ (y - H @ coef)) / 40
        coef /= max(1.0, np.abs(coef).sum())
        expected.append(coef.copy())
    assert max(np.abs(one).sum() for one in expected) > 1 - 1e-12  # the bound was met
    settings = {"blocks": [[0], [1], [2], [3], [4]], "n_rules": 7, "renormalize": True}
    np.testing.assert_allclose(list(stages(paper(loss="least_squares", **settings).fit(H, y))), expected, atol=1e-9)
    for loss in ("least_squares", losses.BalancedConvex(losses.Gini())):
        model = paper(loss=loss, **settings).fit(H, y)
        assert np.abs(model.decision_function(np.sign(rng.standard_normal((50, 5))))).max() <= 1 + 1e-12


def test_renormalising_leaves_losses_without_a_bound_alone_and_needs_single_steps():
    rng = np.random.default_rng(3)
    H, y = np.sign(rng.standard_normal((40, 3))), np.sign(rng.standard_normal(40))
    plain, same = (paper(loss="logistic", n_rules=4, renormalize=on).fit(H, y) for on in (False, True))
    np.testing.assert_array_equal(plain.coef_, same.coef_)
    bag = [losses.BalancedConvex(losses.Gini()), "logistic"]
    model = RuleBoostClassifier.paper_settings(loss=bag, tuning="F", n_rules=4, renormalize=True).fit(H, y)
    assert np.isfinite(model.decision_function(H)).all()
    with pytest.raises(ValueError, match="renormalize=True undoes part of every step"):
        RuleBoostClassifier(renormalize=True).fit(H, y)
    with pytest.raises(ValueError, match=r"renormalize must be True or False; got 1.0"):
        RuleBoostClassifier.paper_settings(renormalize=1.0).fit(H, y)


@pytest.mark.parametrize("size", [1e155, 1e200])
def test_columns_whose_squares_overflow_are_refused_by_name(size):
    H = size * np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match=r"columns of X reach .*Scale"):
        RuleBoostClassifier(learner="given", n_rules=5).fit(H, H[:, 0] > 0)

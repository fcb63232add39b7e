"""Boosted trees: the best split by brute force, leaf equations, categories and gaps, invariances, hostile nodes."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from softmargin import RuleBoostClassifier, losses
from softmargin._compiled.trees import grow, score_trees
from softmargin.expansions import BinnedTable, Table
from softmargin.solvers.rules.leveraging import WeightedRisk
from softmargin.solvers.rules.trees import TreePlan, boost_trees, leverage_leaves, score_of

pd = pytest.importorskip("pandas")

FIXED = {"learner": "trees", "early_stopping": False, "n_rules": 15, "n_jobs": 1}


@parametrize_with_checks([RuleBoostClassifier(learner="trees", n_rules=5), RuleBoostClassifier(**FIXED)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def parity(n=1500, seed=0):
    """Labels by the product of three signs: no rule of two literals has an edge."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    flip = rng.random(n) < 0.05
    return X, ((X[:, 0] * X[:, 1] * X[:, 2] > 0) ^ flip).astype(int)


def mixed(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "dose": rng.normal(size=n),
            "ward": pd.Series(rng.choice(list("abcde"), size=n), dtype=object),
            "age": rng.integers(20, 30, size=n).astype(float),
            "smoker": rng.random(n) < 0.3,
        }
    )
    score = frame["dose"] * np.where(frame["ward"].isin(["a", "d"]), 1, -1) + frame["smoker"] + rng.normal(size=n)
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    frame.loc[rng.random(n) < 0.2, "ward"] = None
    return frame, (score > 0).astype(int).to_numpy()


def gain(inside, values, ridge):
    parts = [values[inside].sum(axis=0), values[~inside].sum(axis=0), values.sum(axis=0)]
    left, right, whole = (part[0] ** 2 / (part[1] + ridge) for part in parts)
    return left + right - whole


def every_cut(column, missing):
    """Each way a split may send rows left: bins below a cut with gaps on either side, or any set of categories."""
    present = sorted(set(column[~missing]), key=str)
    if column.dtype == object:
        groups = [*present, None] if missing.any() else present
        for size in range(1, len(groups)):
            for chosen in combinations(groups, size):
                yield np.array([(None if gap else v) in chosen for v, gap in zip(column, missing, strict=True)])
        return
    for value in present[:-1] if not missing.any() else present:
        yield np.where(missing, False, column <= value)
        yield np.where(missing, True, column <= value)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 3.0]), st.sampled_from([0.1, 2.0]))
def test_the_first_split_is_the_best_of_all(seed, least, ridge):
    rng = np.random.default_rng(seed)
    n = 25
    number, word = rng.integers(0, 6, size=n).astype(float), rng.choice(np.array(list("abcd"), dtype=object), size=n)
    number[rng.random(n) < 0.2] = np.nan
    word[rng.random(n) < 0.2] = None
    frame = pd.DataFrame({"number": number, "constant": 1.0, "word": word})
    weight = rng.integers(1, 3, size=n).astype(float)
    values = np.column_stack([rng.normal(size=n), rng.uniform(0.1, 1, size=n), weight, np.zeros(n)])
    binned = BinnedTable.from_table(Table(frame), np.ones(n), 64)
    nodes, masks = np.empty((3, 5), dtype=np.int32), np.zeros((3, 4), dtype=np.uint64)
    limits = (2, 5, ridge, ridge, least, 0.0)
    rows = np.arange(n, dtype=np.int32)
    count = grow(binned.codes, rows, values, binned.offsets, binned.layout, binned.asked, limits, nodes, masks)
    gaps = [np.isnan(number), np.array([v is None for v in word])]
    cuts = [cut for column, gap in zip((number, word), gaps, strict=True) for cut in every_cut(column, gap)]
    cuts = [cut for cut in cuts if min(weight[cut].sum(), weight[~cut].sum()) >= max(least, 1)]
    best = max((gain(cut, values[:, :2], ridge) for cut in cuts), default=0.0)
    if count == 1:
        assert best <= 1e-9
        return
    feature = nodes[0, 0]
    codes = binned.codes[feature].astype(int)
    inside = (masks[0][codes >> 6] >> (codes & 63).astype(np.uint64)) & np.uint64(1) == 1
    assert gain(inside, values[:, :2], ridge) == pytest.approx(best, rel=1e-8)
    left = set(rows[: int(inside.sum())].tolist())
    assert left == set(np.flatnonzero(inside).tolist())


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["logistic", "exponential", "modified_huber", "squared_hinge"]))
def test_leaves_satisfy_their_leveraging_equations(seed, name):
    rng = np.random.default_rng(seed)
    n, smoothing = 80, 0.7
    loss = losses.get(name)
    y, weight, z = rng.choice([-1.0, 1.0], size=n), rng.uniform(0.5, 2, size=n), rng.normal(size=n)
    leaf = rng.integers(0, 5, size=n).astype(np.int32)
    risk = WeightedRisk(loss, y, weight)
    delta, residual = leverage_leaves(risk, risk.at(z), leaf, TreePlan(1, smoothing=smoothing))
    force = -np.bincount(leaf, weight * y * loss.slope(z + y * delta[leaf]))
    force -= smoothing * (loss.slope(delta) - loss.slope(-delta))
    assert residual <= 1e-10
    assert np.all(np.abs(force) <= 1e-8)


def test_three_way_parity_is_learnt_and_the_risk_falls():
    X, y = parity()
    model = RuleBoostClassifier(learner="trees", random_state=0).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > 0.8
    assert np.all(np.diff(model.solution_.history) <= 0)
    assert model.held_out_risk_.argmin() == model.n_iter_
    assert model.solution_.converged == (model.solution_.gap <= model.tol)
    shallow = RuleBoostClassifier(max_literals=2, **FIXED).fit(X, y)
    assert shallow.rounds_["rule"].str.removesuffix(" leaves").astype(int).max() <= 4


@pytest.mark.parametrize("loss", ["exponential", "modified_huber", losses.BalancedConvex(losses.Matsushita())])
def test_any_calibrated_surrogate_serves(loss):
    X, y = parity()
    model = RuleBoostClassifier(loss, learner="trees", random_state=0).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > 0.75
    p = model.predict_proba(X)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))


def test_integer_weights_are_repeated_rows_and_the_order_of_rows_is_nothing():
    frame, y = mixed()
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = RuleBoostClassifier(**FIXED).fit(frame, y, sample_weight=weight)
    repeated = RuleBoostClassifier(**FIXED).fit(frame.iloc[rows], y[rows])
    np.testing.assert_allclose(weighted.decision_function(frame), repeated.decision_function(frame), atol=1e-8)
    order = rng.permutation(len(y))
    shuffled = RuleBoostClassifier(**FIXED).fit(frame.iloc[order], y[order])
    plain = RuleBoostClassifier(**FIXED).fit(frame, y)
    np.testing.assert_allclose(shuffled.decision_function(frame), plain.decision_function(frame), atol=1e-8)


def test_silent_columns_and_increasing_transforms_change_nothing():
    X, y = parity(400)
    base = RuleBoostClassifier(**FIXED).fit(X, y)
    for place in (0, 2, 5):
        for silent in (1.0, np.nan):
            wide = np.insert(X, place, silent, axis=1)
            model = RuleBoostClassifier(**FIXED).fit(wide, y)
            np.testing.assert_array_equal(model.decision_function(wide), base.decision_function(X))
    bent = RuleBoostClassifier(**FIXED).fit(np.exp(X), y)
    np.testing.assert_allclose(bent.decision_function(np.exp(X)), base.decision_function(X), atol=1e-10)


def test_gaps_and_unseen_categories_are_scored_and_frames_equal_arrays():
    frame, y = mixed()
    model = RuleBoostClassifier(**FIXED).fit(frame, y)
    new = frame[:5].assign(ward="never seen")
    assert np.isfinite(model.decision_function(new)).all()
    gaps = frame[:5].assign(ward=None, age=np.nan)
    assert np.isfinite(model.predict_proba(gaps)).all()
    numbers = frame[["dose", "age"]]
    a, b = (RuleBoostClassifier(**FIXED).fit(X, y) for X in (numbers, numbers.to_numpy()))
    np.testing.assert_array_equal(a.decision_function(numbers), b.decision_function(numbers.to_numpy()))
    one = [b.decision_function(row[None])[0] for row in numbers.to_numpy()[:20]]
    np.testing.assert_array_equal(one, b.decision_function(numbers.to_numpy())[:20])


def test_results_depend_on_the_seed_alone_and_refits_forget():
    X, y = parity(500)
    options = {"learner": "trees", "row_fraction": 0.6, "column_fraction": 0.6, "random_state": 3}
    one, two = (RuleBoostClassifier(n_jobs=jobs, **options).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    again = clone(one).set_params(learner="rules", n_rules=3).fit(X[:, :3], y)
    again.set_params(learner="trees", n_rules=None).fit(X, y)
    assert set(vars(again)) == set(vars(one))
    np.testing.assert_array_equal(again.decision_function(X), one.decision_function(X))
    stages = list(one.staged_decision_function(X))
    assert len(stages) == one.n_iter_ + 1 == len(one.rounds_) + 1
    np.testing.assert_allclose(stages[-1], one.decision_function(X), atol=1e-12)


def test_several_classes_have_a_tree_each():
    X, y = load_iris(return_X_y=True)
    model = RuleBoostClassifier(learner="trees", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert list(model.staged_decision_function(X))[-1].shape == (150, 3)


def test_constant_columns_leave_the_share_of_the_class():
    model = RuleBoostClassifier(**FIXED).fit(np.zeros((50, 2)), np.arange(50) % 5 == 0)
    np.testing.assert_allclose(model.predict_proba(np.zeros((3, 2)))[:, 1], 0.2, atol=1e-6)
    assert model.solution_.status == "no rule has an edge"
    assert len(model.rounds_) == 0


@pytest.mark.parametrize(
    "nodes",
    [
        [[0, 0, 0, 0, 0]],
        [[5, 0, 0, 1, 2], [-1, 0, 0, -1, -1], [-1, 0, 0, -1, -1]],
        [[0, 0, 0, 1, 9], [-1, 0, 0, -1, -1], [-1, 0, 0, -1, -1]],
        [[0, 0, 0, 1, 2], [0, 0, 0, 0, 2], [-1, 0, 0, -1, -1]],
    ],
)
def test_nodes_that_do_not_fit_together_are_refused(nodes):
    nodes = np.array(nodes, dtype=np.int32)
    count = len(nodes)
    masks, roots = np.zeros((count, 4), dtype=np.uint64), np.zeros((1, 2), dtype=np.int32)
    with pytest.raises(ValueError, match="do not fit together"):
        score_trees(np.zeros((2, 2)), nodes, np.zeros(count), masks, np.zeros(count), roots, np.zeros((2, 1)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_leaves": 1}, "max_leaves must be"),
        ({"row_fraction": 0}, "row_fraction must be"),
        ({"column_fraction": 1.5}, "column_fraction must be"),
        ({"min_leaf_weight": -1}, "min_leaf_weight must be"),
        ({"learner": "forest"}, "learner must be one of"),
        ({"n_rules": "x"}, "n_rules must be"),
        ({"loss": ["logistic", "exponential"], "tuning": "F", "update": "single"}, "tuning='F'"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        RuleBoostClassifier(**{"learner": "trees"} | options).fit(*parity(60))


def test_trees_are_not_read_as_rules():
    X, y = parity(200)
    model = RuleBoostClassifier(**FIXED).fit(X, y)
    for call in (model.to_text, model.sql, lambda: model.rules_, lambda: model.explain(X)):
        with pytest.raises(AttributeError, match="learner='trees' has none"):
            call()


def test_rows_of_weight_zero_have_no_say_and_are_told_like_new_rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    signs = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=300) > 0, 1.0, -1.0)
    kept = np.arange(300) % 3 > 0
    table = Table(X)
    binned = BinnedTable.from_table(table, np.ones(300), 64)
    plan = TreePlan(n_rounds=20, smoothing=1.0)
    fits = [
        boost_trees(
            binned, losses.Logistic(), np.where(kept, signs, told)[None], kept.astype(float), plan, lambda model: False
        )
        for told in (signs, -signs)
    ]
    scores = [score_of(fit, binned)(table)[:, 0] for fit in fits]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-12)
    np.testing.assert_allclose(fits[0].margins[0], signs * scores[0], atol=1e-12)

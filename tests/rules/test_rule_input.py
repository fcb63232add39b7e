"""What rules can be asked about: frames of every kind, gaps, unseen categories, and clear refusals."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from softmargin import RuleBoostClassifier

pd = pytest.importorskip("pandas")


def frame_and_labels(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(20, 80, size=n), "group": rng.choice(["a", "b", "c"], size=n)})
    y = ((frame["age"] > 50) ^ (frame["group"] == "b")).astype(int).to_numpy()
    return frame, y


def test_missing_values_are_false_for_every_literal_but_is_missing():
    x = np.array([1.0, 2.0, 3.0, 4.0, np.nan, np.nan])
    y = np.array([0, 0, 0, 0, 1, 1])
    model = RuleBoostClassifier(n_rules=1).fit(x[:, None], y)
    assert model.rule_list_[0].text(["x"]) == "x is missing"
    other = RuleBoostClassifier(n_rules=1).fit(x[:4, None], np.array([0, 0, 1, 1]))
    assert not other.rule_list_[0].holds(other._prediction_set(np.array([[np.nan]])))[0]


def test_unseen_categories_fail_equality_and_pass_inequality():
    frame, y = frame_and_labels()
    model = RuleBoostClassifier(n_rules=10).fit(frame, y)
    assert model.score(frame, y) > 0.95
    new = pd.DataFrame({"age": [30], "group": ["never seen"]})
    for rule in model.rule_list_:
        for literal in rule.literals:
            if literal.op in (2, 3):
                holds = literal.holds(model._prediction_set(new).column(1))
                assert holds[0] == (literal.op == 3)
    assert model.predict_proba(new).shape == (1, 2)


def test_pandas_polars_and_category_dtypes_give_the_same_model():
    pl = pytest.importorskip("polars")
    frame, y = frame_and_labels()
    base = RuleBoostClassifier(n_rules=5).fit(frame, y)
    for other in (
        frame.astype({"group": "category"}),
        frame.astype({"group": "string"}),
        frame.astype({"age": "Int64"}),
        pl.DataFrame({"age": frame["age"].to_numpy(), "group": frame["group"].tolist()}),
    ):
        model = RuleBoostClassifier(n_rules=5).fit(other, y)
        assert model.rule_list_ == base.rule_list_
        np.testing.assert_allclose(model.decision_function(other), base.decision_function(frame))


def test_gaps_in_pandas_strings_and_nullable_booleans_are_missing():
    frame = pd.DataFrame(
        {
            "text": pd.array(["a", None, "b", "a", None, "b"], dtype="string"),
            "flag": pd.array([True, None, False, True, None, False], dtype="boolean"),
        }
    )
    y = np.array([0, 1, 0, 0, 1, 0])
    model = RuleBoostClassifier(n_rules=1).fit(frame, y)
    assert model.rule_list_[0].text(["text", "flag"]) == "text is missing"
    assert model.score(frame, y) == 1


def test_sparse_matrices_and_float32_are_read_like_dense_float64():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6)) * (rng.random((150, 6)) < 0.4)
    y = (X[:, 0] + X[:, 1] > 0.1).astype(int)
    dense = RuleBoostClassifier(n_rules=5).fit(X, y)
    for other in (sparse.csr_array(X), sparse.csc_matrix(X)):
        model = RuleBoostClassifier(n_rules=5).fit(other, y)
        assert model.rule_list_ == dense.rule_list_
        np.testing.assert_allclose(model.decision_function(other), dense.decision_function(X))
    single = RuleBoostClassifier(n_rules=5).fit(X.astype(np.float32), y)
    np.testing.assert_array_equal(single.predict(X.astype(np.float32)), dense.predict(X))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", 1.5, "b", None], "mixes number and text"),
        ([True, "a", None, False], "mixes boolean and text"),
        ([object(), object(), None, None], "mixes object values"),
        (pd.to_datetime(["2020-01-01"] * 4), "holds dates or times"),
    ],
)
def test_columns_that_cannot_be_asked_about_are_named(column, message):
    frame = pd.DataFrame({"fine": [1, 2, 3, 4], "odd one": column})
    with pytest.raises(ValueError, match=message) as error:
        RuleBoostClassifier().fit(frame, [0, 1, 0, 1])
    assert "odd one" in str(error.value)


def test_prediction_refuses_other_kinds_of_columns():
    frame, y = frame_and_labels()
    model = RuleBoostClassifier(n_rules=5).fit(frame, y)
    with pytest.raises(ValueError, match="categorical columns at fit"):
        model.predict(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="'age' is numeric"):
        model.predict(pd.DataFrame({"age": ["old", "young"], "group": ["a", "b"]}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="infinity"):
        RuleBoostClassifier().fit(frame.assign(age=np.inf), y)


def test_constant_and_empty_columns_are_ignored_and_single_rows_predicted():
    frame, y = frame_and_labels()
    wide = frame.assign(constant=1.0, absent=np.nan, void=None)
    model = RuleBoostClassifier(n_rules=5).fit(wide, y)
    base = RuleBoostClassifier(n_rules=5).fit(frame, y)
    assert model.rule_list_ == base.rule_list_
    assert model.predict(wide[:1]).shape == (1,)


def test_frames_survive_clone_pickle_and_zero_weights():
    frame, y = frame_and_labels()
    model = clone(RuleBoostClassifier(n_rules=5)).fit(frame, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    weight = (np.arange(200) % 3 > 0).astype(float)
    dropped = RuleBoostClassifier(n_rules=5).fit(frame[weight > 0], y[weight > 0])
    zeroed = RuleBoostClassifier(n_rules=5).fit(frame, y, sample_weight=weight)
    assert zeroed.rule_list_ == dropped.rule_list_
    np.testing.assert_allclose(zeroed.coef_, dropped.coef_)

"""AutoClassifier reads tables as they are, and its probabilities are those of rows it has not seen."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_wine, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import check_estimator

import softmargin as sm
from softmargin import AutoClassifier


def raw_table(n=200, seed=0):
    """Numbers with gaps, names, booleans, dates, a text, an identifier, a constant; the label needs three of them."""
    rng = np.random.default_rng(seed)
    income = np.exp(rng.normal(size=n))
    town = rng.choice(["Athens", "Bern", "Cairo"], n)
    words = np.where(rng.random(n) < 0.5, "late and broken again", "good and quick and kind")
    score = np.log(income) + (town == "Bern") - 0.3 + 1.5 * (words == "late and broken again") - 0.7
    label = np.where(score + 0.7 * rng.logistic(size=n) > 0, "leaves", "stays")
    frame = pd.DataFrame(
        {
            "income": np.where(rng.random(n) < 0.1, np.nan, income),
            "town": pd.Series(np.where(rng.random(n) < 0.1, None, town), dtype=object),
            "member": rng.random(n) < 0.5,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "letter": [f"{text} {rng.integers(9999)}" for text in words],
            "id": [f"row{i:05d}" for i in range(n)],
            "one": 1,
        }
    )
    return frame, label


def test_scikit_learns_own_checks():
    check_estimator(AutoClassifier(effort="fast"))


def test_a_raw_table_needs_no_preparation_and_every_decision_can_be_read():
    X, y = raw_table(600)
    model = AutoClassifier(effort="fast").fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.7
    kinds = {decision.name: decision.kind for decision in model.encoder_.decisions}
    assert kinds == {
        "income": "number",
        "town": "category",
        "member": "category",
        "since": "number",
        "letter": "text",
        "id": "dropped",
        "one": "dropped",
    }
    assert "town: category" in model.describe()
    board = model.leaderboard_
    assert board["log_loss"].is_monotonic_increasing
    assert board["weight"].sum() == pytest.approx(1)
    assert board["machine"][0] == model.best_


def test_pandas_polars_and_categoricals_tell_the_same():
    X, y = raw_table()
    expected = AutoClassifier(effort="fast").fit(X, y).predict_proba(X)
    for other in (pl.from_pandas(X), X.astype({"town": "category"}), X.astype({"income": "Float64"})):
        found = AutoClassifier(effort="fast").fit(other, y).predict_proba(other)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_values_never_seen_are_read_at_prediction():
    X, y = raw_table()
    model = AutoClassifier(effort="fast").fit(X, y)
    strange = X.assign(town="Zagreb", letter="unheard words only here", income=np.nan)
    P = model.predict_proba(strange)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1)


def test_labels_and_probabilities_agree_for_two_classes_and_more():
    for load in (load_breast_cancer, load_wine):
        X, y = load(return_X_y=True)
        model = AutoClassifier(effort="fast").fit(X[::2], y[::2])
        np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))


def test_left_out_log_loss_tells_the_log_loss_of_new_rows():
    X, y = make_moons(2400, noise=0.3, random_state=0)
    model = AutoClassifier(effort="fast").fit(X[:400], y[:400])
    fresh = log_loss(y[400:], model.predict_proba(X[400:]))
    assert fresh == pytest.approx(model.leaderboard_["log_loss"].min(), abs=0.1)
    plain = LogisticRegression().fit(X[:400], y[:400])
    assert fresh < 0.8 * log_loss(y[400:], plain.predict_proba(X[400:]))


def test_integer_weights_equal_repeated_rows_where_no_folds_are_drawn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(int)
    times = rng.integers(0, 3, 40)
    weighted = AutoClassifier(effort="fast").fit(X, y, sample_weight=times)
    repeated = AutoClassifier(effort="fast").fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    if (times.sum() < 60) and ((times > 0).sum() < 60):
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


def test_two_fits_give_one_answer():
    X, y = load_wine(return_X_y=True)
    one, two = (AutoClassifier(effort="fast").fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_constant_and_repeated_columns_anywhere_change_nothing_much():
    X, y = load_wine(return_X_y=True)
    expected = AutoClassifier(effort="fast").fit(X, y).predict(X)
    for place in (0, 5, X.shape[1]):
        padded = np.insert(X, place, 3.0, axis=1)
        np.testing.assert_array_equal(AutoClassifier(effort="fast").fit(padded, y).predict(padded), expected)


def test_sparse_matrices_of_many_columns_are_read():
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 2000), density=0.01, random_state=0, format="csr")
    y = (X @ rng.normal(size=2000) > 0).astype(int)
    model = AutoClassifier(effort="fast").fit(X, y)
    assert model.score(X, y) > 0.8
    np.testing.assert_allclose(model.predict_proba(sparse.csc_array(X)), model.predict_proba(X))


def test_a_short_time_limit_still_answers():
    X, y = raw_table()
    model = AutoClassifier(time_limit=1e-6).fit(X, y)
    assert list(model.mixture_) == ["linear"]


def test_an_interpretable_answer_is_one_readable_machine():
    X, y = raw_table()
    model = AutoClassifier(effort="fast", interpretable=True).fit(X, y)
    assert set(model.mixture_) <= {"linear", "rules"}
    assert list(model.mixture_.values()) == [1.0]


def test_an_explanation_names_the_columns_that_matter():
    X, y = raw_table(400)
    model = AutoClassifier(effort="fast").fit(X, y)
    told = model.explain(X, row=3)
    assert set(told["column"]) == set(X.columns)
    assert told.loc[told["column"].isin(["id", "one"]), "share"].abs().max() == pytest.approx(0, abs=1e-9)
    assert told["column"][0] in ("income", "town", "letter")
    assert told.attrs["label"] == model.predict(X)[3]


def test_it_goes_through_a_file(tmp_path):
    X, y = raw_table()
    model = AutoClassifier(effort="fast").fit(X, y)
    sm.save(model, tmp_path / "model.softmargin")
    np.testing.assert_array_equal(sm.load(tmp_path / "model.softmargin").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(("parameters", "named"), [({"effort": "much"}, "effort"), ({"time_limit": -1}, "time_limit")])
def test_wrong_parameters_are_named(parameters, named):
    with pytest.raises(ValueError, match=named):
        AutoClassifier(**parameters).fit(*load_wine(return_X_y=True))


def test_a_column_of_several_kinds_is_refused_with_its_name():
    frame = pd.DataFrame({"mixed": ["a", 1, "b", 2.5] * 10, "x": np.arange(40.0)})
    with pytest.raises(ValueError, match="mixed"):
        AutoClassifier(effort="fast").fit(frame, [0, 1] * 20)


def test_costs_move_decisions_and_leave_probabilities():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200, :4], np.where(y[:200] == 1, "benign", "malignant")
    plain = AutoClassifier(effort="fast").fit(X, y)
    careful = AutoClassifier(effort="fast", costs={("malignant", "benign"): 20}).fit(X, y)
    P = plain.predict_proba(X)
    np.testing.assert_array_equal(careful.predict_proba(X), P)
    expected = np.where(20 * P[:, 1] > P[:, 0], "malignant", "benign")
    np.testing.assert_array_equal(careful.predict(X), expected)
    assert np.mean(careful.predict(X) == "malignant") > np.mean(plain.predict(X) == "malignant")
    same = careful.set_params(costs=np.array([[0.0, 1.0], [20.0, 0.0]]))
    np.testing.assert_array_equal(same.predict(X), expected)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (np.zeros((3, 3)), "2 classes need a row and a column each"),
        ({("good", "bad"): 1}, "its keys are pairs"),
        ([[0, np.inf], [1, 0]], "must be finite"),
        ("dear", "costs must be"),
    ],
)
def test_costs_that_do_not_fit_the_classes_are_refused(costs, message):
    with pytest.raises(ValueError, match=message):
        AutoClassifier(effort="fast", costs=costs).fit(np.arange(40.0).reshape(20, 2), np.arange(20) % 2)


def test_trees_that_read_the_table_are_among_the_machines_and_are_saved(tmp_path):
    X, y = raw_table(150)
    model = AutoClassifier(effort="fast").fit(X, y)
    assert "drawn trees" in set(model.leaderboard_["machine"])
    model._weights = np.array([float(member.name == "drawn trees") for member in model._members])
    P = model.predict_proba(X)
    assert np.ptp(P[:, 0]) > 0.2
    sm.save(model, tmp_path / "trees.softmargin")
    np.testing.assert_array_equal(sm.load(tmp_path / "trees.softmargin").predict_proba(X), P)


def test_a_handful_of_rows_that_no_tree_can_split():
    X = np.random.default_rng(3).standard_cauchy((7, 7))
    model = AutoClassifier(effort="fast", random_state=0).fit(X, np.arange(7) % 2)
    assert np.all(np.isfinite(model.predict_proba(X)))


def test_machines_on_matrices_learn_from_a_sample_of_many_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=900), "z": rng.normal(size=900), "c": rng.choice(list("abc"), 900)})
    y = np.where(X["x"] + (X["c"] == "a") + rng.logistic(size=900) > 0, "yes", "no")
    whole = AutoClassifier(effort="fast").fit(X, y)
    monkeypatch.setattr("softmargin.estimators._auto.many_rows._MOST_ROWS", 400)
    monkeypatch.setattr("softmargin.estimators._auto.many_rows._BLOCK", 150)
    part = AutoClassifier(effort="fast").fit(X, y)
    assert set(part.leaderboard_["machine"]) == set(whole.leaderboard_["machine"])
    np.testing.assert_allclose(part.leaderboard_["log_loss"].min(), whole.leaderboard_["log_loss"].min(), atol=0.03)
    P = part.predict_proba(X)
    np.testing.assert_allclose(P[100:130], part.predict_proba(X[100:130]))
    assert np.abs(P - whole.predict_proba(X)).mean() < 0.05


def test_columns_whose_squares_overflow_are_read():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    plain = AutoClassifier(effort="fast", random_state=0).fit(X, X[:, 0] > 0)
    huge = AutoClassifier(effort="fast", random_state=0).fit(2.0**515 * X, X[:, 0] > 0)
    np.testing.assert_allclose(huge.predict_proba(2.0**515 * X), plain.predict_proba(X), atol=0.05)

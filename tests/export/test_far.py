"""Rows far from all others, and gaps that a model has no answer to, are answered as the model does or not at all."""

from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, MinMaxScaler, SplineTransformer
from tests.export import test_sql
from tests.export.test_every_estimator import ROWS, graph_agrees, run
from tests.files import models

import softmargin as sm
from softmargin import export

FAR = pd.DataFrame(
    [[1e30, -1e30, 1e15], [-1e300, 1.0, 0.0], [1e-310, 5e-324, -0.0], [1e8, -1e8, 1e8], [0.0, 1e30, -1e300]],
    columns=ROWS.columns,
)
MAKERS = {
    "matern": lambda: sm.CoherenceClassifier(kernel="matern"),
    "rbf": lambda: sm.MarginClassifier(kernel="rbf"),
    "laplacian": lambda: sm.MarginClassifier(kernel="laplacian"),
    "score map": lambda: sm.ScoreCalibrator(sm.MarginClassifier()),
    "score map decides": lambda: sm.ScoreCalibrator(sm.MulticategorySVC(), decision="calibrated"),
    "exponential": lambda: sm.CompositeMarginClassifier(loss="exponential", mix=0.0),
    "simplex": lambda: sm.CompositeLeastSquaresClassifier(rescale="simplex"),
    "waterfill": lambda: sm.CompositeLeastSquaresClassifier(mix=0.2),
    "additive": lambda: sm.AdditiveKernelClassifier(),
    "trees": lambda: sm.RuleBoostClassifier(learner="trees", n_rules=5, min_leaf_weight=3),
    "auto": lambda: sm.AutoClassifier(effort="fast"),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.filterwarnings("ignore")
def test_far_rows_are_answered_as_the_model_does(name):
    model = MAKERS[name]().fit(ROWS[:60], models.NAMES)
    for number in range(len(FAR)):
        row = FAR[number : number + 1].reset_index(drop=True)
        scale = np.abs(np.asarray(model.decision_function(row))).max()
        if np.isfinite(scale):
            _same_probabilities(model, row)


def _same_probabilities(model, row):
    P = model.predict_proba(row)
    found = test_sql.answers(model, row, "sqlite")
    told = found[[f"probability_{label}" for label in model.classes_]].to_numpy(float)
    np.testing.assert_allclose(told, P, atol=1e-6)
    np.testing.assert_allclose(run(model, row)["probabilities"], P, atol=1e-6)


@pytest.mark.parametrize("step", [MinMaxScaler(clip=True), Binarizer()])
def test_a_gap_that_a_pipeline_refuses_is_null_however_it_is_cut(step):
    model = make_pipeline(step, sm.MarginClassifier()).fit(ROWS[:60], models.SIGN)
    rows = ROWS[:4].copy()
    rows.loc[2, "x1"] = np.nan
    for dialect in ("sqlite", "duckdb"):
        found = test_sql.answers(model, rows, dialect)
        assert found.drop(columns="id").isna().all(axis=1).tolist() == [False, False, True, False]


@pytest.mark.parametrize("extrapolation", ["constant", "linear"])
def test_splines_of_a_constant_column_answer_as_the_model_does(extrapolation):
    frame = ROWS[:60].assign(x1=3.0)
    step = SplineTransformer(extrapolation=extrapolation)
    model = make_pipeline(step, sm.MarginClassifier()).fit(frame, models.SIGN)
    graph_agrees(model, frame)
    test_sql.agree(model, frame, "sqlite")


def test_one_score_that_is_unknown_leaves_no_label():
    y = np.array(["a", "b", "c"])[np.digitize(models.X[:, 0], [-0.5, 0.5])]
    model = sm.MarginClassifier(l1_ratio=1.0, C=0.2).fit(ROWS[:60], y)
    assert np.any(model.coef_ == 0)
    rows = ROWS[:3].copy()
    rows.loc[1] = [np.nan] * 3
    for column in ROWS.columns:
        rows.loc[2, column] = np.nan
        found = test_sql.answers(model, rows, "sqlite")
        gone = found[[f"score_{label}" for label in model.classes_]].isna().any(axis=1)
        assert found["label"].isna().tolist() == gone.tolist()


def test_a_column_that_a_database_has_not_is_no_text():
    model = sm.MarginClassifier().fit(ROWS[:60], models.SIGN)
    with closing(test_sql.connect("sqlite")) as database:
        database.execute('CREATE TABLE t ("x0" REAL, "x1" REAL)')
        database.execute("INSERT INTO t VALUES (1, 2)")
        with pytest.raises(Exception, match="no such column"):
            database.execute(export.to_sql(model, "t", dialect="sqlite"))


def test_columns_of_one_name_are_refused_where_names_tell_columns_apart():
    model = sm.MarginClassifier().fit(ROWS[:60], models.SIGN)
    model.feature_names_in_ = np.array(["a", "a", "b"], dtype=object)  # some readers of frames refuse them at fit
    with pytest.raises(export.NotExportable, match="Two columns are called 'a'"):
        export.to_sql(model, "t")


def test_inputs_have_names_of_their_own_whatever_columns_are_called():
    pytest.importorskip("onnx")
    columns = ["", "label", "label_", "softmargin:1", "scores"]
    frame = pd.DataFrame({name: np.where(models.X[:, place % 3] > 0, "u", "v") for place, name in enumerate(columns)})
    model = sm.RuleBoostClassifier(n_rules=15).fit(frame, models.NAMES)
    made = export.to_onnx(model)
    names = [one.name for one in made.graph.input]
    assert len(set(names)) == len(names)
    assert not {"", "label", "scores", "softmargin:1"} & set(names)


@pytest.mark.filterwarnings("ignore")
def test_numbers_that_are_categories_are_compared_as_numbers():
    rng = np.random.default_rng(0)
    codes = pd.Series(pd.Categorical(rng.choice([1, 2, 3, 10], 200)))
    y = np.where(codes.isin([2, 10]), "yes", "no")
    y[::11] = "no"
    frame = pd.DataFrame({"code": codes.mask(rng.random(200) < 0.1), "x0": rng.normal(size=200)})
    for parameters in ({"effort": "fast"}, {"interpretable": True}):
        model = sm.AutoClassifier(**parameters).fit(frame, y)
        test_sql.agree(model, frame.iloc[:40].reset_index(drop=True), "sqlite")
        found = test_sql.answers(model, frame.iloc[:40].astype({"code": float}).reset_index(drop=True), "duckdb")
        assert found["label"].tolist() == model.predict(frame.iloc[:40]).tolist()


@pytest.mark.parametrize("kernel", ["rbf", "matern"])
def test_similarities_beside_huge_columns_are_those_of_differences(kernel):
    frame = ROWS[:60].assign(x2=1e9 * np.sign(ROWS["x2"][:60]))
    graph_agrees(sm.MarginClassifier(kernel=kernel, gamma=0.5).fit(frame, models.SIGN), frame)

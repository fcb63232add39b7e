"""Levels are told apart as at fit: empty, like another but for case or blanks, called like a gap, or never seen."""

from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from tests.export import tables, test_sql
from tests.files import models

import softmargin as sm
from softmargin import export
from softmargin.expansions.rules.sql import DIALECTS

LEVELS = ["", "nan", "None", "a", "A", "a ", "10", "10.0", "é", "<missing>", "missing", "it's"]
rng = np.random.default_rng(5)
N = 30 * (len(LEVELS) + 1)
WORDS = pd.Series([*LEVELS, None] * 30, name="word", dtype=object)
FRAME = pd.DataFrame({"word": WORDS, "x": rng.normal(size=N)})
LABELS = np.where(rng.random(len(LEVELS) + 1) < 0.5, "yes", "no")[np.arange(N) % (len(LEVELS) + 1)]
LABELS[rng.random(N) < 0.1] = "no"
NEW = pd.DataFrame({"word": pd.Series([*LEVELS, None, "never", " a"], dtype=object), "x": 0.3})


def _encoded(*steps):
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    return make_pipeline(make_column_transformer((make_pipeline(*steps), ["word"]), (numbers, ["x"])), _kernel())


def _kernel():
    return sm.MarginClassifier(kernel="rbf", n_components=20, random_state=0)


MAKERS = {
    "rules": lambda: sm.RuleBoostClassifier(n_rules=40),
    "trees": lambda: sm.RuleBoostClassifier(learner="trees", n_rules=10, min_leaf_weight=3),
    "auto": lambda: sm.AutoClassifier(effort="fast"),
    "read": lambda: sm.AutoClassifier(interpretable=True),
    "one hot": lambda: _encoded(OneHotEncoder(handle_unknown="ignore")),
    "rare": lambda: _encoded(OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=5)),
    "ordinal": lambda: _encoded(
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    ),
    "filled": lambda: _encoded(
        SimpleImputer(strategy="constant", fill_value="missing"), OneHotEncoder(handle_unknown="ignore")
    ),
    "filled by the most frequent": lambda: _encoded(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    ),
}


def test_a_table_with_words_truths_and_gaps_goes_through_the_encoders_of_the_command_line():
    frame = FRAME.assign(flag=rng.random(N) < 0.5, x=FRAME["x"].where(rng.random(N) < 0.9))
    frame["word"] = frame["word"].where(frame["word"].notna(), np.nan)
    classifier = pytest.importorskip("softmargin.cli._models").classifier
    model = classifier("MarginClassifier", effort="fast", time_limit=None, seed=0).fit(frame, LABELS)
    new = NEW.assign(flag=np.arange(len(NEW)) % 2 == 0, x=np.where(np.arange(len(NEW)) % 3, 0.4, np.nan))
    new["word"] = new["word"].where(new["word"].notna(), np.nan)
    test_sql.agree(model, new, "sqlite")
    test_sql.agree(model, new, "duckdb")
    _graph_agrees(model, new)


def _fitted(name):
    missing = np.nan if name.startswith("filled") else None  # imputers look for NaN
    train, new = (frame.assign(word=frame["word"].where(frame["word"].notna(), missing)) for frame in (FRAME, NEW))
    return MAKERS[name]().fit(train, LABELS), new


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.filterwarnings("ignore")
def test_a_graph_tells_levels_apart_as_the_model_does(name):
    _graph_agrees(*_fitted(name))


def _graph_agrees(model, new):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    made = export.to_onnx(model)
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    label, P, _ = session.run(None, tables.feed(made, new))
    np.testing.assert_allclose(P, model.predict_proba(new), atol=1e-6)
    np.testing.assert_array_equal(label, model.predict(new))


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.filterwarnings("ignore")
def test_a_query_tells_levels_apart_as_the_model_does(name, dialect):
    test_sql.agree(*_fitted(name), dialect)


def test_a_query_tells_cases_apart_in_a_column_that_does_not():
    model = _fitted("one hot")[0]
    with closing(test_sql.connect("sqlite")) as database:
        database.execute('CREATE TABLE t (id INTEGER, "word" TEXT COLLATE NOCASE, "x" REAL)')
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", tables.rows_of(NEW))
        found = sorted(database.execute(export.to_sql(model, "t", dialect="sqlite", key="id")).fetchall())
    assert [row[-1] for row in found] == model.predict(NEW).tolist()


def test_databases_that_ignore_case_or_blanks_are_told_not_to():
    model = _fitted("one hot")[0]
    assert "AS BINARY)" in export.to_sql(model, "t", dialect="mysql")
    query = export.to_sql(model, "t", dialect="sqlserver")
    assert "BIN2" in query
    assert "= N'a |'" in query


def test_a_missing_number_may_be_nan_in_a_database():
    duckdb = pytest.importorskip("duckdb")
    frame = pd.DataFrame({"x": np.where(np.arange(60) % 3, models.X[:, 0], np.nan)})
    model = sm.RuleBoostClassifier(n_rules=5).fit(frame, models.SIGN)
    with closing(duckdb.connect()) as database:
        database.execute("CREATE TABLE t AS SELECT 1 AS id, 'NaN'::DOUBLE AS x UNION ALL SELECT 2, NULL")
        found = database.execute(export.to_sql(model, "t", dialect="duckdb")).fetchall()
    assert found[0] == found[1]
    np.testing.assert_allclose(found[0][0], model.decision_function(pd.DataFrame({"x": [np.nan]}))[0])


def test_the_text_for_missing_ones_may_be_chosen():
    onnx = pytest.importorskip("onnx")
    model = sm.RuleBoostClassifier(n_rules=40).fit(FRAME, LABELS)
    made = export.to_onnx(model, missing_text="NA")
    assert isinstance(made, onnx.ModelProto)
    assert '{"word": "NA"}' in {one.value for one in made.metadata_props}
    with pytest.raises(ValueError, match="missing_text='a' is a level of column 'word'"):
        export.to_onnx(_fitted("trees")[0], missing_text="a")


@pytest.mark.parametrize("write", [export.to_onnx, lambda model: export.to_sql(model, "t")])
def test_two_kinds_of_gaps_are_refused_by_name(write):
    pytest.importorskip("onnx")
    words = pd.DataFrame({"word": pd.Series(["a", None, np.nan, "b"] * 10, dtype=object)})
    y = np.arange(40) % 2
    with pytest.raises(export.NotExportable, match="one missing value only"):
        write(make_pipeline(OneHotEncoder(), sm.MarginClassifier()).fit(words, y))


def test_levels_never_seen_are_null_where_the_encoder_refuses_them():
    model = make_pipeline(OneHotEncoder(), sm.MarginClassifier()).fit(FRAME[["word"]], LABELS)
    found = test_sql.answers(model, NEW[["word"]], "sqlite")
    unseen = ~NEW["word"].isin([*LEVELS, None])
    assert found["label"].isna().tolist() == unseen.tolist()


def test_thousands_of_levels_nest_no_deeper_than_a_few():
    pytest.importorskip("onnx")
    words = pd.DataFrame({"word": [f"w{j:04d}" for j in range(3000)]})
    y = np.arange(3000) % 2
    for encoder in (OneHotEncoder(max_categories=5, handle_unknown="ignore"), OrdinalEncoder()):
        model = make_pipeline(encoder, sm.MarginClassifier()).fit(words, y)
        export.to_onnx(model)
        assert test_sql.answers(model, words[:5], "sqlite")["label"].tolist() == model.predict(words[:5]).tolist()


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_every_dialect_has_words_for_a_text(dialect):
    model = make_pipeline(OneHotEncoder(), sm.MarginClassifier()).fit(FRAME[["word"]], LABELS)
    assert "it" in export.to_sql(model, "t", dialect=dialect)


@pytest.mark.parametrize(("first", "second"), [("True", "False"), ("False", "True")])
def test_words_that_spell_truth_values_are_words(first, second):
    frame = pd.DataFrame({"said": pd.Series([first, second] * 40, dtype=object), "x": rng.normal(size=80)})
    model = sm.AutoClassifier(effort="fast").fit(frame, np.arange(80) % 2)
    test_sql.agree(model, frame, "sqlite")

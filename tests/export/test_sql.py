"""A query answers like the model, row by row, in real databases: NULLs, quotes, backslashes and odd names included."""

import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.export import tables
from tests.files import models

import softmargin as sm
from softmargin import export
from softmargin.expansions.rules.sql import DIALECTS

with closing(sqlite3.connect(":memory:")) as _database:
    HAS_EXP = ("ENABLE_MATH_FUNCTIONS",) in _database.execute("PRAGMA compile_options").fetchall()
FRAME = pd.DataFrame(
    np.vstack([models.X, 3 * np.random.default_rng(0).normal(size=(20, 3))]), columns=["x0", "x1", "x2"]
)


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'


def _type(column):
    return {"f": "DOUBLE PRECISION", "i": "INTEGER", "b": "BOOLEAN"}.get(column.dtype.kind, "VARCHAR")


def connect(dialect):
    if dialect == "sqlite":
        if not HAS_EXP:
            pytest.skip("this sqlite was built without EXP and LN")
        return sqlite3.connect(":memory:")
    return pytest.importorskip("duckdb").connect()


def answers(model, frame, dialect):
    """Score columns, probability columns and labels of a query, in the order of the rows."""
    with closing(connect(dialect)) as database:
        return _ask(database, model, frame, dialect)


def _ask(database, model, frame, dialect):
    columns = ", ".join(f"{_quoted(name)} {_type(frame[name])}" for name in frame.columns)
    database.execute(f'CREATE TABLE "the ""rows""" (id INTEGER, {columns})')
    marks = ", ".join("?" * (1 + frame.shape[1]))
    database.executemany(f'INSERT INTO "the ""rows""" VALUES ({marks})', tables.rows_of(frame))
    query = export.to_sql(model, 'the "rows"', dialect=dialect, key="id")
    cursor = database.execute(query)
    heads = [one[0] for one in cursor.description]
    found = pd.DataFrame(sorted(cursor.fetchall()), columns=heads)
    assert found["id"].tolist() == list(range(len(frame)))
    return found


def agree(model, frame, dialect):
    found = answers(model, frame, dialect)
    assert found["label"].tolist() == model.predict(frame).tolist()
    names = [name for name in found.columns if name.startswith("score")]
    scores = np.asarray(model.decision_function(frame)).reshape(len(frame), -1)
    np.testing.assert_allclose(found[names].to_numpy(float), scores, atol=1e-6, rtol=1e-6)
    if hasattr(model, "predict_proba"):
        P = found[[f"probability_{label}" for label in model.classes_]].to_numpy(float)
        np.testing.assert_allclose(P, model.predict_proba(frame), atol=1e-6)


MAKERS = {
    "linear": lambda: sm.MarginClassifier().fit(FRAME, _labels(2)),
    "several": lambda: sm.CoherenceClassifier().fit(FRAME, _labels(3)),
    "no probabilities": lambda: sm.MulticategorySVC().fit(FRAME, _labels(3)),
    "together": lambda: sm.CompositeLeastSquaresClassifier().fit(FRAME, _labels(3)),
    "tabulated link": lambda: sm.MarginClassifier(loss="pregibon").fit(FRAME, _labels(2)),
    "kernel": lambda: sm.MarginClassifier(kernel="rbf", n_components=5, random_state=0).fit(FRAME, _labels(2)),
    "brackets": lambda: sm.ProbabilisticSVC(n_weights=4).fit(FRAME, _labels(2)),
    "calibrated": lambda: sm.ScoreCalibrator(sm.MulticategorySVC()).fit(FRAME, _labels(3)),
    "rules": lambda: sm.RuleBoostClassifier(n_rules=6).fit(FRAME, _labels(3)),
    "trees": lambda: sm.RuleBoostClassifier(learner="trees", n_rules=4, min_leaf_weight=5).fit(FRAME, _labels(2)),
    "scaled": lambda: make_pipeline(StandardScaler(), sm.MarginClassifier()).fit(FRAME, _labels(2)),
    "tuned": lambda: sm.TunedClassifier(sm.MarginClassifier(), grid=3).fit(FRAME, _labels(2)),
}


def _labels(k):
    codes = (FRAME["x0"] > FRAME["x1"]).astype(int) + (FRAME["x2"] > 0.5) * (k - 2)
    return np.array(["ape", "bee's", "c\\at"])[codes]


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.filterwarnings("ignore")
def test_queries_answer_like_the_model(name, dialect):
    agree(MAKERS[name](), FRAME, dialect)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("name", tables.MAKERS)
@pytest.mark.filterwarnings("ignore")
def test_tables_with_gaps_and_awkward_names_answer_like_the_model(name, dialect):
    agree(tables.MAKERS[name](), tables.NEW, dialect)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_model_that_takes_no_gaps_answers_null(dialect):
    model = sm.MarginClassifier().fit(FRAME, _labels(3))
    rows = FRAME.iloc[:4].copy()
    rows.loc[2, "x1"] = np.nan
    found = answers(model, rows, dialect)
    assert found.drop(columns="id").isna().all(axis=1).tolist() == [False, False, True, False]


def test_the_key_may_be_several_columns_or_none():
    model = sm.MarginClassifier(loss="hinge").fit(FRAME, _labels(2))
    assert '"x0" AS k0, "x1" AS k1' in export.to_sql(model, "t", key=["x0", "x1"])
    assert "k0" not in export.to_sql(model, "t")
    with pytest.raises(ValueError, match="key='label' is also a column of the answer"):
        export.to_sql(model, "t", key="label")


def test_dialects_write_strings_their_own_way():
    model = sm.RuleBoostClassifier(n_rules=6).fit(tables.TABLE, tables.WORDS)
    texts = {name: export.to_sql(model, "t", dialect=name) for name in ("ansi", "bigquery", "spark", "postgres")}
    assert "'it''s\\so'" in texts["ansi"]
    assert "'it\\'s\\\\so'" in texts["bigquery"]
    assert "`age`" in texts["spark"]
    assert "AS MATERIALIZED" in texts["postgres"]
    with pytest.raises(ValueError, match="dialect must be one of"):
        export.to_sql(model, "t", dialect="cobol")


def literal(value):
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"


@pytest.mark.parametrize("name", ["linear", "several", "calibrated", "rules in words", "auto"])
@pytest.mark.filterwarnings("ignore")
def test_postgres_answers_like_the_model(postgres, name):
    words = name in ("rules in words", "auto")
    frame = tables.NEW if words else FRAME
    model = tables.MAKERS[name.removesuffix(" in words")]() if words else MAKERS[name]()
    columns = ", ".join(f"{_quoted(one)} {_type(frame[one])}" for one in frame.columns)
    rows = ", ".join("(" + ", ".join(map(literal, row)) + ")" for row in tables.rows_of(frame))
    query = export.to_sql(model, "t", dialect="postgres", key="id")
    lines = postgres(
        f"CREATE TEMP TABLE t (id INTEGER, {columns}); INSERT INTO t VALUES {rows};\n{query}\nORDER BY 1;\n"
    )
    assert [line[-1] for line in lines] == model.predict(frame).tolist()
    k = len(model.classes_)
    P = np.array([line[-1 - k : -1] for line in lines], dtype=float)
    np.testing.assert_allclose(P, model.predict_proba(frame), atol=1e-6)


CASES = pd.DataFrame(FRAME.to_numpy(), columns=["a", "A", "b"])
ONE_CASE = ("bigquery", "duckdb", "mysql", "spark", "sqlite", "sqlserver")


@pytest.mark.parametrize("model", [sm.MarginClassifier(), sm.RuleBoostClassifier(n_rules=6)])
@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_names_that_a_database_takes_for_one_are_refused(model, dialect):
    fitted = clone(model).fit(CASES, CASES["a"] > CASES["A"])
    questions = [lambda: export.to_sql(fitted, "t", dialect=dialect)]
    if hasattr(fitted, "sql"):
        questions.append(lambda: fitted.sql("t", dialect=dialect))
    for ask in questions:
        if dialect in ONE_CASE:
            with pytest.raises(ValueError, match=r"'a' and 'A'|'A' and 'a'"):
                ask()
        else:
            assert '"A"' in ask()


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_these_databases_take_names_of_another_case_for_one(dialect):
    with closing(connect(dialect)) as database:
        database.execute('CREATE TABLE t ("a" INTEGER)')
        database.execute("INSERT INTO t VALUES (3)")
        assert database.execute('SELECT "A" FROM t').fetchall() == [(3,)]


@pytest.mark.parametrize(
    "change", [{"table": None}, {"key": 3}, {"key": [3]}, {"dialect": []}, {"dialect": None}, {"model": None}]
)
def test_arguments_of_a_query_are_named(change):
    model = sm.MarginClassifier().fit(FRAME, _labels(2))
    with pytest.raises(ValueError, match=f"{next(iter(change))} must be"):
        export.to_sql(**({"model": model, "table": "t"} | change))

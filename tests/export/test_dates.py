"""Dates are days since 1970 in every target, as the model reads them."""

from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from tests.export import tables, test_sql

import softmargin as sm
from softmargin import export
from softmargin.expansions.rules.sql import DIALECTS

rng = np.random.default_rng(2)
N = 240
DAYS = pd.Timestamp("1960-03-01") + pd.to_timedelta(rng.integers(0, 25_000, N), "D")
TIMES = pd.Timestamp("2019-12-31 12:00") + pd.to_timedelta(rng.integers(0, 10**8, N), "s")
FRAME = pd.DataFrame({"day": DAYS, "time": TIMES, "sex": rng.choice(["m", "f"], N), "x": rng.normal(size=N)})
SIGNS = (FRAME["day"].dt.year > 1995).astype(int) + (FRAME["time"] > "2021-06-01") + (FRAME["sex"] == "m")
LABELS = np.array(["no", "yes"])[(SIGNS > 1).astype(int)]
FRAME.loc[::9, "day"] = pd.NaT
FRAME.loc[::13, "time"] = pd.NaT
NEW = FRAME.iloc[::2].reset_index(drop=True)

MAKERS = {
    "auto": lambda: sm.AutoClassifier(effort="fast").fit(FRAME, LABELS),
    "all machines": lambda: sm.AutoClassifier(effort="balanced", random_state=0).fit(FRAME, LABELS),
    "read": lambda: sm.AutoClassifier(interpretable=True).fit(FRAME, LABELS),
    "no words": lambda: sm.AutoClassifier(effort="fast").fit(FRAME[["x", "time", "day"]], LABELS),
}


@pytest.fixture(params=MAKERS, scope="module")
def model(request):
    return MAKERS[request.param]()


@pytest.mark.filterwarnings("ignore")
def test_a_graph_reads_dates_as_the_model_does(model):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    made = export.to_onnx(model)
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    new = NEW[model.feature_names_in_]
    label, P, _ = session.run(None, tables.feed(made, new))
    np.testing.assert_allclose(P, model.predict_proba(new), atol=1e-6)
    np.testing.assert_array_equal(label, model.predict(new))


def _stored(dialect):
    """Types of the columns; SQLite has none for dates, which are texts there."""
    date, time = ("TEXT", "TEXT") if dialect == "sqlite" else ("DATE", "TIMESTAMP")
    text = "TEXT" if dialect == "sqlite" else "VARCHAR"
    return f'(id INTEGER, "day" {date}, "time" {time}, "sex" {text}, "x" DOUBLE PRECISION)'


def _rows():
    return [
        (number, *(None if pd.isna(value) else str(value) for value in row[:2]), *row[2:])
        for number, row in enumerate(NEW.itertuples(index=False))
    ]


def _check(model, found):
    assert [row[-1] for row in found] == model.predict(NEW[model.feature_names_in_]).tolist()
    P = np.array([row[-3:-1] for row in found], dtype=float)
    np.testing.assert_allclose(P, model.predict_proba(NEW[model.feature_names_in_]), atol=1e-6)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.filterwarnings("ignore")
def test_a_query_reads_dates_as_the_model_does(model, dialect):
    if dialect == "duckdb" and not model.interpretable:
        pytest.skip("it plans mixtures for long; rules read dates too")
    with closing(test_sql.connect(dialect)) as database:
        database.execute(f"CREATE TABLE t {_stored(dialect)}")
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", _rows())
        _check(model, sorted(database.execute(export.to_sql(model, "t", dialect=dialect, key="id")).fetchall()))


@pytest.mark.filterwarnings("ignore")
def test_postgres_reads_dates_as_the_model_does(model, postgres):
    rows = ", ".join("(" + ", ".join(map(test_sql.literal, row)) + ")" for row in _rows())
    query = export.to_sql(model, "t", dialect="postgres", key="id")
    _check(
        model,
        postgres(f"CREATE TEMP TABLE t {_stored('postgres')}; INSERT INTO t VALUES {rows};\n{query}\nORDER BY 1;\n"),
    )


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.filterwarnings("ignore")
def test_no_dialect_takes_a_date_for_a_number(dialect):
    model = MAKERS["auto"]()
    if dialect == "ansi":
        with pytest.raises(export.NotExportable, match=r"'day' is a date, and dialect='ansi'|'time' is a date"):
            export.to_sql(model, "t", dialect=dialect)
    else:
        query = export.to_sql(model, "t", dialect=dialect)
        for name in ("day", "time"):
            quoted = DIALECTS[dialect].name(name)
            assert quoted in query
            assert f"CAST({quoted} AS {DIALECTS[dialect].double})" not in query


def test_a_file_keeps_which_columns_are_dates(tmp_path):
    model = MAKERS["auto"]()
    sm.save(model, tmp_path / "model")
    assert export.to_sql(sm.load(tmp_path / "model"), "t", dialect="duckdb") == export.to_sql(
        model, "t", dialect="duckdb"
    )

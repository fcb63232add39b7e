"""A file of one row is read like the file it was taken from, and every command knows the columns of its model."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import softmargin
from softmargin.cli._app import app
from softmargin.cli._read import read_table

pytest.importorskip("jinja2")

N = 160
MODELS = {"auto": "auto", "rules": "RuleBoostClassifier", "margin": "MarginClassifier", "svc": "MulticategorySVC"}


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def done(*words):
    result = run(*words)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def refused(*words):
    result = run(*words)
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture(scope="module")
def table():
    """Codes of digits and letters, truth values, dates and times, each with gaps, as a CSV writes them."""
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), unit="D")
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=N).round(3),
            "code": rng.choice(["010", "020", "x"], N),
            "flag": rng.choice(["True", "False"], N),
            "day": day.strftime("%Y-%m-%d"),
            "at": [f"{hour:02d}:30" for hour in rng.integers(0, 24, N)],
        }
    ).astype(object)
    score = 1.5 * frame["x"].astype(float) + 2 * (frame["code"] == "010") + (frame["flag"] == "True") - 1.5
    frame["y"] = np.where(score + 0.5 * rng.logistic(size=N) > 0, "[/yes]", "no")
    for place, name in enumerate(("x", "code", "flag", "day", "at")):
        frame.loc[place::13, name] = None
    return frame


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("columns")
    table.to_csv(folder / "data.csv", index=False)
    for name, model in MODELS.items():
        words = [] if name == "auto" else ["--drop", "day", "--drop", "at"]
        words += ["--model", model, "--effort", "fast", "-o", folder / name]
        done("fit", folder / "data.csv", "--target", "y", *words)
        done("predict", folder / name, folder / "data.csv", "-o", folder / f"{name}.csv")
    return folder


@pytest.mark.parametrize("name", MODELS)
def test_a_row_in_a_file_of_its_own_has_its_answer_in_the_whole_file(folder, table, tmp_path, name):
    expected = pd.read_csv(folder / f"{name}.csv")["p(no)"]
    assert np.ptp(expected) > 0.5
    for row in (0, 1, 2, 3, 4, 7, 8, 9):
        table.iloc[[row]].to_csv(tmp_path / "one.csv", index=False)
        done("predict", folder / name, tmp_path / "one.csv", "-o", tmp_path / "told.csv")
        assert pd.read_csv(tmp_path / "told.csv")["p(no)"][0] == pytest.approx(expected[row], abs=1e-9)


def test_every_format_of_rows_has_one_answer(folder, table, tmp_path):
    expected = pd.read_csv(folder / "auto.csv")["p(no)"]
    read = read_table(str(folder / "data.csv"))
    read.to_parquet(tmp_path / "typed.parquet")
    table.drop(columns="x").assign(x=table["x"].astype(float)).to_parquet(tmp_path / "words.parquet")
    table.to_json(tmp_path / "words.jsonl", orient="records", lines=True)
    for name in ("typed.parquet", "words.parquet", "words.jsonl"):
        done("predict", folder / "auto", tmp_path / name, "-o", tmp_path / "told.csv")
        np.testing.assert_allclose(pd.read_csv(tmp_path / "told.csv")["p(no)"], expected, atol=1e-9, err_msg=name)


def test_dates_and_times_of_a_file_are_read_as_such(folder):
    model = softmargin.load(folder / "auto/model.softmargin")
    reasons = {decision.name: decision.reason for decision in model.encoder_.decisions}
    assert reasons["day"] == reasons["at"] == "a date, as days"


def test_an_audit_reads_dates(folder, tmp_path):
    done("audit", folder / "data.csv", "--target", "y", "-o", tmp_path / "audit")
    assert json.loads((tmp_path / "audit/audit.json").read_text())["rows"] == N


@pytest.mark.parametrize("name", ["rules", "margin"])
def test_other_models_refuse_dates_by_name(folder, tmp_path, name):
    words = ("--model", MODELS[name], "--drop", "at", "-o", tmp_path / "out")
    assert "olumn 'day' holds dates" in refused("fit", folder / "data.csv", "--target", "y", *words)
    assert not (tmp_path / "out").exists()


def test_held_out_rows_of_another_file_are_read_like_the_data(folder, table, tmp_path):
    table[table["code"] == "010"].to_csv(tmp_path / "digits.csv", index=False)
    words = ("--test", tmp_path / "digits.csv", "--effort", "fast", "-o", tmp_path / "out")
    done("fit", folder / "data.csv", "--target", "y", *words)
    held = pd.read_parquet(tmp_path / "out/predictions.parquet")
    model = softmargin.load(tmp_path / "out/model.softmargin")
    rows = read_table(str(folder / "data.csv"))
    rows = rows[rows["code"] == "010"][list(model.feature_names_in_)]
    np.testing.assert_allclose(held["p(no)"], model.predict_proba(rows)[:, list(model.classes_).index("no")], atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_a_report_on_a_few_rows_reads_them_like_the_model(folder, table, tmp_path, name):
    few = pd.concat([table[table["code"].eq("010")][:9], table[table["y"].eq("no") & table["code"].eq("010")][:3]])
    few.to_csv(tmp_path / "few.csv", index=False)
    done("report", folder / name, tmp_path / "few.csv", "--target", "y", "-o", tmp_path / "new/r.html")
    few.assign(y=["maybe", "maybe", *few["y"][2:]]).to_csv(tmp_path / "odd.csv", index=False)
    said = refused("report", folder / name, tmp_path / "odd.csv", "--target", "y", "-o", tmp_path / "r.html")
    assert "the class 'maybe'" in said


@pytest.mark.parametrize("name", MODELS)
def test_a_row_is_explained_or_the_model_is_said_not_to(folder, name):
    if name in ("margin", "svc"):
        assert f"holds a {MODELS[name]}, which does not" in refused("explain", folder / name, folder / "data.csv")
        return
    told = pd.read_csv(folder / f"{name}.csv")
    shown = done("explain", folder / name, folder / "data.csv", "--row", 5)
    sure = told[["p(no)", "p([/yes])"]].max(axis=1)[5]
    assert f"row 5: {told['predicted'][5]} with probability {sure:.3f}" in shown
    assert "code" in shown
    assert "moves the" in shown


def test_the_points_of_an_explanation_sum_to_the_score_of_the_label(folder):
    from softmargin.cli._predict import explain_row

    model = softmargin.load(folder / "rules/model.softmargin")
    rows = read_table(str(folder / "data.csv"))[list(model.feature_names_in_)]
    for row, score in enumerate(model.decision_function(rows)[:10]):
        told = explain_row(str(folder / "rules"), str(folder / "data.csv"), row)
        assert told["moves the score by"].sum() == pytest.approx(abs(score))
        assert told.attrs["label"] == model.predict(rows)[row]


@pytest.mark.parametrize("name", ["margin", "svc"])
def test_a_model_with_words_and_gaps_is_exported_and_answers_alike(folder, tmp_path, name):
    done("export", folder / name, "--to", "sql", "--dialect", "sqlite", "--table", "t", "-o", tmp_path / "m.sql")
    done("export", folder / name, "--to", "json", "-o", tmp_path / "m.json")
    rows = read_table(str(folder / "data.csv"), {"code": "text"})[["x", "code", "flag"]]
    rows["flag"] = rows["flag"].map({True: 1.0, False: 0.0}).astype(float)
    with closing(sqlite3.connect(":memory:")) as database:
        rows.to_sql("t", database, index=False)
        told = pd.read_sql_query((tmp_path / "m.sql").read_text(), database)
    expected = pd.read_csv(folder / f"{name}.csv")
    assert told["label"].tolist() == expected["predicted"].tolist()
    np.testing.assert_allclose(told.filter(like="no").iloc[:, 0], expected["p(no)"], atol=1e-6)


def test_the_target_is_no_other_column(folder, tmp_path):
    for command in ("fit", "audit"):
        for option in ("--drop", "--id", "--weight"):
            said = refused(command, folder / "data.csv", "--target", "y", option, "y", "-o", tmp_path / "out")
            assert f"{option} 'y' is the --target as well" in said
    assert not (tmp_path / "out").exists()


def test_columns_without_any_value_are_refused(table, tmp_path):
    table.assign(x=None, code=None, flag=None, day=None, at=None).to_csv(tmp_path / "data.csv", index=False)
    for words in (["fit"], ["fit", "--model", "MarginClassifier"], ["audit"]):
        said = refused(*words, tmp_path / "data.csv", "--target", "y", "-o", tmp_path / "out")
        assert "no column besides y has a value in any row" in said


@pytest.mark.parametrize("model", ["auto", "RuleBoostClassifier", "MarginClassifier"])
def test_columns_without_a_value_beside_others_are_no_obstacle(table, tmp_path, model):
    """Neither where the whole column is empty nor where the rows held out have none of its values."""
    rows = table[["x", "code", "y"]].assign(void=None, rare=None)
    rows.loc[[0, 1, 2], "rare"] = ["u", "v", "u"]
    rows.to_csv(tmp_path / "data.csv", index=False)
    rows[40:].to_csv(tmp_path / "late.csv", index=False)
    words = ("--target", "y", "--model", model, "--effort", "fast", "-o", tmp_path / "out")
    done("fit", tmp_path / "data.csv", "--test", tmp_path / "late.csv", *words)
    done("report", tmp_path / "out", tmp_path / "late.csv", "--target", "y", "-o", tmp_path / "r.html")
    done("predict", tmp_path / "out", tmp_path / "late.csv", "-o", tmp_path / "p.csv")
    done("export", tmp_path / "out", "--to", "sql", "--dialect", "sqlite", "--table", "t", "-o", tmp_path / "m.sql")
    with closing(sqlite3.connect(":memory:")) as database:
        rows[40:].to_sql("t", database, index=False)
        told = pd.read_sql_query((tmp_path / "m.sql").read_text(), database)
    assert told["label"].tolist() == pd.read_csv(tmp_path / "p.csv")["predicted"].tolist()


@pytest.mark.parametrize("target", ["predicted", "row", "p(no)"])
def test_a_target_called_like_a_column_of_ours_keeps_its_labels(table, tmp_path, target):
    table[["x", "code", "y"]].rename(columns={"y": target}).to_csv(tmp_path / "data.csv", index=False)
    words = ("--model", "RuleBoostClassifier", "-o", tmp_path / "out")
    done("fit", tmp_path / "data.csv", "--target", target, *words)
    held = pd.read_parquet(tmp_path / "out/predictions.parquet")
    assert held[f"{target} (given)"].tolist() == table["y"][held["row"]].tolist()
    numbers = json.loads(done("compare", tmp_path / "out", tmp_path / "out", "--json"))
    assert numbers["error"]["first"] == pytest.approx((held["predicted"] != held[f"{target} (given)"]).mean())


def test_an_identifier_called_like_an_answer_is_refused(folder, table, tmp_path):
    table.assign(predicted=1).to_csv(tmp_path / "rows.csv", index=False)
    words = ("--id", "predicted", "-o", tmp_path / "p.csv")
    assert "--id 'predicted' is the name of an answer" in refused(
        "predict", folder / "auto", tmp_path / "rows.csv", *words
    )


def test_dates_may_be_classes(table, tmp_path):
    day = np.where(table["y"] == "no", "2020-01-01", "2020-01-02")
    table[["x", "code"]].assign(y=day).to_csv(tmp_path / "data.csv", index=False)
    pd.DataFrame({"x": table["x"].astype(float), "code": table["code"], "y": pd.to_datetime(day)}).to_parquet(
        tmp_path / "data.parquet"
    )
    for first, second in (("data.csv", "data.parquet"), ("data.parquet", "data.csv")):
        done("fit", tmp_path / first, "--target", "y", "--model", "RuleBoostClassifier", "-o", tmp_path / "out")
        done("report", tmp_path / "out", tmp_path / second, "--target", "y", "-o", tmp_path / "r.html")
        assert softmargin.load(tmp_path / "out/model.softmargin").classes_.tolist() == ["2020-01-01", "2020-01-02"]

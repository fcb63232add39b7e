"""The commands around a fit: other models, decisions, audits, comparisons, exports, files in parts."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow
import pytest
from tests.cli.test_fit import refused, run

import softmargin
from softmargin.cli._decisions import decided
from softmargin.cli._predict import predict_file
from softmargin.cli._prepare import prepare
from softmargin.cli._read import BadInput, read_batches, read_table

pytest.importorskip("jinja2")


def packed(frame, path):
    with pyarrow.output_stream(str(path), compression="zstd") as file:
        file.write(frame.to_csv(index=False).encode())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table and two fits to it."""
    folder = tmp_path_factory.mktemp("commands")
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"a": rng.normal(size=240), "b": rng.normal(size=240), "town": rng.choice(["Oslo", "Rome"], 240)}
    )
    frame["y"] = np.where(frame["a"] + (frame["town"] == "Rome") > 0.5, "top", "low")
    frame["x id"] = np.arange(240) + 1000
    frame.to_csv(folder / "data.csv", index=False)
    packed(frame[["a", "b", "town"]], folder / "rows.csv.zst")
    for name, model in (("rules", "RuleBoostClassifier"), ("margin", "MarginClassifier")):
        words = ("--model", model, "--id", "x id", "-o", folder / name, "--effort", "fast")
        done = run("fit", folder / "data.csv", "--target", "y", *words)
        assert done.exit_code == 0, done.output
    return folder


@pytest.mark.parametrize("name", ["rules", "margin"])
def test_a_named_model_is_fitted_saved_and_predicts(folder, name):
    done = run("predict", folder / name / "model.softmargin", folder / "rows.csv.zst", "-o", folder / f"{name}.csv")
    assert done.exit_code == 0, done.output
    told = pd.read_csv(folder / f"{name}.csv")
    model = softmargin.load(folder / name / "model.softmargin")
    rows = read_table(str(folder / "rows.csv.zst"))
    assert told["predicted"].tolist() == model.predict(rows).tolist()
    assert list(told.columns) == ["predicted", "p(low)", "p(top)"]


def test_an_unknown_model_is_refused_with_the_nearest_name(folder, tmp_path):
    said = refused("fit", folder / "data.csv", "--target", "y", "--model", "RobustSCV", "-o", tmp_path / "o")
    assert "did you mean 'RobustSVC'" in said
    assert not (tmp_path / "o").exists()


def test_one_class_against_the_others():
    frame = pd.DataFrame({"a": np.arange(12.0), "y": np.tile(["low", "mid", "top"], 4)})
    rows = prepare(frame, "y", positive="top")
    assert rows.y.tolist() == np.tile(["other", "other", "top"], 4).tolist()
    with pytest.raises(BadInput, match="is no value of y"):
        prepare(frame, "y", positive="tip")
    two = frame[frame["y"] != "mid"]
    assert prepare(two, "y", positive="low").y.tolist() == two["y"].tolist()


def test_decisions_change_labels_and_drop_rows(folder, tmp_path):
    frame = read_table(str(folder / "data.csv"))
    other = "top" if frame["y"][5] != "top" else "low"
    rows = pd.DataFrame({"row": [3, 5, 7], "decision": ["drop", "relabel", "keep"], "label": ["", other, ""]})
    rows.to_csv(tmp_path / "decisions.csv", index=False)
    changed, done = decided(frame, "y", str(tmp_path / "decisions.csv"))
    assert done == "decisions: 1 labels changed, 1 rows dropped"
    assert changed.loc[5, "y"] == other
    assert len(changed) == len(frame) - 1
    rows.assign(row=[3, 5, 999]).to_csv(tmp_path / "wrong.csv", index=False)
    assert "rows outside" in refused("fit", folder / "data.csv", "--target", "y", "--decisions", tmp_path / "wrong.csv")
    rows.assign(label="tip").to_csv(tmp_path / "wrong.csv", index=False)
    assert "'tip'" in refused("fit", folder / "data.csv", "--target", "y", "--decisions", tmp_path / "wrong.csv")


def test_two_fits_are_compared_on_their_common_rows(folder, tmp_path):
    done = run("compare", folder / "rules", folder / "margin", "--json")
    assert done.exit_code == 0, done.output
    numbers = json.loads(done.stdout)
    held = pd.read_parquet(folder / "rules/predictions.parquet")
    assert numbers["rows"] == len(held)
    assert numbers["error"]["first"] == pytest.approx((held["predicted"] != held["y"]).mean())
    same = json.loads(run("compare", folder / "margin", folder / "margin", "--json").stdout)
    assert same["log_loss"]["difference"] == 0
    assert same["error"]["p_value_exact"] == 1
    assert run("compare", folder / "rules", folder / "margin").exit_code == 0
    assert "holds no predictions" in refused("compare", folder / "rules", tmp_path)


def test_an_audit_finds_the_flipped_labels(folder, tmp_path):
    frame = read_table(str(folder / "data.csv"))
    sure = np.flatnonzero((np.abs(frame["a"] + (frame["town"] == "Rome") - 0.5) > 0.7).to_numpy())[::12]
    frame.loc[sure, "y"] = np.where(frame.loc[sure, "y"] == "top", "low", "top")
    frame.to_csv(tmp_path / "noisy.csv", index=False)
    done = run("audit", tmp_path / "noisy.csv", "--target", "y", "--id", "x id", "-o", tmp_path / "o", "--json")
    assert done.exit_code == 0, done.output
    table = pd.read_csv(tmp_path / "o/suspects.csv")
    assert np.isin(table["row"], sure).mean() > 0.7
    assert len(table)
    assert (table["x id"] == table["row"] + 1000).all()
    numbers = json.loads((tmp_path / "o/audit.json").read_text())
    assert numbers["errors"]["low"] <= numbers["errors"]["estimate"] <= numbers["errors"]["high"]


def test_exports_answer_like_the_model(folder, tmp_path):
    model = folder / "rules/model.softmargin"
    for to in ("sql", "json", "onnx"):
        if to == "onnx":
            pytest.importorskip("onnx")
        done = run("export", model, "--to", to, "-o", tmp_path / f"m.{to}", "--dialect", "sqlite", "--table", "t")
        assert done.exit_code == 0, done.output
    rows = read_table(str(folder / "rows.csv.zst"))
    with closing(sqlite3.connect(":memory:")) as database:
        rows.to_sql("t", database, index=False)
        told = pd.read_sql_query((tmp_path / "m.sql").read_text(), database)
    assert told["label"].tolist() == softmargin.load(model).predict(rows).tolist()
    assert json.loads((tmp_path / "m.json").read_text())["model"] == "RuleBoostClassifier"
    assert "--to must be" in refused("export", model, "--to", "pmml", "-o", tmp_path / "m")
    assert "dialect must be" in refused("export", model, "--to", "sql", "--dialect", "x", "-o", tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_file_read_in_parts_is_written_in_parts(folder, tmp_path, monkeypatch, ending):
    whole = read_table(str(folder / "rows.csv.zst"))
    (tmp_path / "parts").mkdir()
    whole[:100].to_csv(tmp_path / "parts/1.csv", index=False)
    whole[100:].to_csv(tmp_path / "parts/2.csv", index=False)
    out = tmp_path / f"out.{ending}"
    assert predict_file(str(folder / "rules/model.softmargin"), str(tmp_path / "parts"), out, None) == len(whole)
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": lambda path: pd.read_json(path, lines=True)}
    told = read[ending](out)
    model = softmargin.load(folder / "rules/model.softmargin")
    np.testing.assert_allclose(told[["p(low)", "p(top)"]], model.predict_proba(whole), atol=1e-9)


def test_a_file_that_fails_half_way_leaves_nothing(folder, tmp_path):
    (tmp_path / "parts").mkdir()
    whole = read_table(str(folder / "rows.csv.zst"))
    whole.to_csv(tmp_path / "parts/1.csv", index=False)
    whole.drop(columns="a").to_csv(tmp_path / "parts/2.csv", index=False)
    said = refused("predict", folder / "rules/model.softmargin", tmp_path / "parts", "-o", tmp_path / "p.csv")
    assert "lacks the column 'a'" in said
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


def test_packed_files_read_like_plain_ones(folder, tmp_path):
    frame = read_table(str(folder / "data.csv"))
    frame.to_json(tmp_path / "a.jsonl.gz", orient="records", lines=True)
    packed(frame, tmp_path / "a.csv.zst")
    for name in ("a.jsonl.gz", "a.csv.zst"):
        read = read_table(str(tmp_path / name))  # words of a CSV are kept once each
        pd.testing.assert_frame_equal(read.astype(object), frame.astype(object), check_dtype=False)
    parts = list(read_batches(str(tmp_path / "a.csv.zst"), {"a": "number", "town": "text"}))
    assert sum(len(part) for part in parts) == len(frame)

"""From a file to a decision by one command; whatever is wrong with the input is one line and exit code 2."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import softmargin
from softmargin.cli._app import app
from softmargin.cli._read import read_table

pytest.importorskip("jinja2")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 300).astype(float),
            "town": rng.choice(["Oslo", "Rome", "Åbo"], 300),
            "key": [f"k{i}" for i in range(300)],
        }
    )
    frame.loc[::17, "age"] = np.nan
    score = (frame["age"].fillna(50) - 50) / 15 + (frame["town"] == "Rome")
    frame["churn"] = np.where(score + rng.logistic(size=300) > 0, "yes", "no")
    return frame


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def refused(*words):
    done = run(*words)
    assert done.exit_code == 2, done.output
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("softmargin: ")
    return done.stderr


@pytest.fixture(scope="module")
def fitted(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    table.to_csv(folder / "data.csv", sep=";", index=False, encoding="cp1252")
    done = run("fit", folder / "data.csv", "--target", "churn", "--id", "key", "-o", folder / "out", "--effort", "fast")
    assert done.exit_code == 0, done.output
    return folder


def test_one_command_writes_model_report_and_predictions(fitted, table):
    out = fitted / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        "model.softmargin",
        "predictions.parquet",
        "report.html",
        "report.json",
        "suspects.csv",
    ]
    model = softmargin.load(out / "model.softmargin")
    assert list(model.feature_names_in_) == ["age", "town"]
    held = pd.read_parquet(out / "predictions.parquet")
    np.testing.assert_array_equal(table["key"].to_numpy()[held["row"]], held["key"])
    np.testing.assert_allclose(held["p(no)"] + held["p(yes)"], 1)
    numbers = json.loads((out / "report.json").read_text())
    assert numbers["data"]["rows"] == len(held)
    assert set(numbers["scores"]) >= {"AutoClassifier", "class shares", "logistic regression", "gradient boosting"}


def test_predictions_of_a_file_are_those_of_the_model(fitted, table):
    done = run(
        "predict", fitted / "out/model.softmargin", fitted / "data.csv", "-o", fitted / "p.parquet", "--id", "key"
    )
    assert done.exit_code == 0, done.output
    told = pd.read_parquet(fitted / "p.parquet")
    model = softmargin.load(fitted / "out/model.softmargin")
    np.testing.assert_allclose(told["p(yes)"], model.predict_proba(table[["age", "town"]])[:, 1])
    assert list(told["key"]) == list(table["key"])


def test_a_row_is_explained_and_a_report_made_again(fitted):
    done = run("explain", fitted / "out/model.softmargin", fitted / "data.csv", "--row", 3)
    assert done.exit_code == 0, done.output
    assert "age" in done.output
    done = run(
        "report", fitted / "out/model.softmargin", fitted / "data.csv", "--target", "churn", "-o", fitted / "r.html"
    )
    assert done.exit_code == 0, done.output
    assert (fitted / "r.html").stat().st_size < 2_000_000


def test_bad_words_are_one_line_with_the_remedy(fitted, tmp_path):
    data = fitted / "data.csv"
    assert "did you mean 'churn'" in refused("fit", data, "--target", "chrn", "-o", tmp_path / "o")
    assert "does not exist" in refused("fit", tmp_path / "none.csv", "--target", "y")
    (tmp_path / "empty.csv").write_text("")
    assert "empty" in refused("fit", tmp_path / "empty.csv", "--target", "y")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    assert "no table" in refused("fit", tmp_path / "binary.csv", "--target", "y")
    one = pd.DataFrame({"x": [1, 2, 3], "y": ["a", "a", "a"]})
    one.to_csv(tmp_path / "one.csv", index=False)
    assert "one value only" in refused("fit", tmp_path / "one.csv", "--target", "y")
    many = pd.DataFrame({"x": np.arange(500), "y": np.arange(500) / 7})
    many.to_csv(tmp_path / "many.csv", index=False)
    assert "quantity" in refused("fit", tmp_path / "many.csv", "--target", "y")
    many.drop(columns="x").to_csv(tmp_path / "other.csv", index=False)
    assert "lacks the column 'age'" in refused("predict", fitted / "out/model.softmargin", tmp_path / "other.csv")
    assert "not a softmargin model" in refused("predict", data, data)
    assert not (tmp_path / "o").exists()


def test_a_copy_of_the_target_is_found_and_left_out(table, tmp_path):
    table.assign(churned=(table["churn"] == "yes").astype(int)).to_csv(tmp_path / "leak.csv", index=False)
    done = run(
        "fit", tmp_path / "leak.csv", "--target", "churn", "--drop", "key", "-o", tmp_path / "o", "--effort", "fast"
    )
    assert done.exit_code == 0, done.output
    assert "churned tells churn exactly" in done.output
    assert "churned" not in softmargin.load(tmp_path / "o/model.softmargin").feature_names_in_


def test_every_format_reads_the_same(table, tmp_path):
    numbers = table[["age", "churn"]]
    numbers.to_csv(tmp_path / "a.tsv", sep="\t", index=False)
    numbers.to_csv(tmp_path / "a.csv.gz", index=False)
    numbers.to_parquet(tmp_path / "a.parquet")
    numbers.to_feather(tmp_path / "a.feather")
    numbers.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    (tmp_path / "parts").mkdir()
    numbers[:100].to_parquet(tmp_path / "parts/1.parquet")
    numbers[100:].to_parquet(tmp_path / "parts/2.parquet")
    for name in ("a.tsv", "a.csv.gz", "a.parquet", "a.feather", "a.jsonl", "parts", "parts/*.parquet"):
        read = read_table(str(tmp_path / name)).astype({"churn": object})  # words of a CSV are kept once each
        pd.testing.assert_frame_equal(read, numbers.astype({"churn": object}), check_dtype=False)


def test_names_of_files_columns_and_labels_are_text_on_the_page(table, tmp_path):
    image = "<img src=x onerror=alert(1)>"
    hostile = table.rename(columns={"age": image, "churn": "</script><script>alert(1)"}).drop(columns="key")
    hostile["</script><script>alert(1)"] = np.where(table["churn"] == "yes", "<b>yes", '" onload="')
    path = tmp_path / f"{image}.csv"
    try:
        hostile.to_csv(path, index=False)
    except OSError as reason:
        pytest.skip(f"this system has no such file names: {reason}")
    done = run("fit", path, "--target", "</script><script>alert(1)", "-o", tmp_path / "out", "--effort", "fast")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<img" not in page
    assert "<b>yes" not in page
    assert page.count("<script") == 2  # the numbers and our own

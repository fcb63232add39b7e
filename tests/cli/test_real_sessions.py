"""Sessions at the command line on real tables: exit codes, files written, fields of the numbers, and bad input."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import softmargin
from softmargin import datasets
from softmargin.cli._app import app

pd = pytest.importorskip("pandas")
pytest.importorskip("jinja2")
pytest.importorskip("pyarrow")

ROWS = 500
FILES = ["model.softmargin", "predictions.parquet", "report.html", "report.json", "suspects.csv"]


def table(name):
    """The first rows of a real table with its class in the column "target"."""
    try:
        data = datasets.load(name, download=False)
    except datasets.DataNotFound:
        pytest.skip(f"the data set {name!r} is not on this machine")
    frame = pd.DataFrame(data.X).assign(target=np.asarray(data.y))
    frame.columns = [str(column) for column in frame.columns]
    return frame.sample(min(ROWS, len(frame)), random_state=0)


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def refused(*words):
    done = run(*words)
    assert done.exit_code == 2, done.output
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("name", ["titanic", "adult", "churn", "credit_data", "sms_spam", "segment"])
def test_a_real_table_is_fitted_reported_on_and_predicted(name, tmp_path):
    frame = table(name)
    frame.to_csv(tmp_path / "data.csv", index=False)
    words = ("--target", "target", "-o", tmp_path / "out", "--effort", "fast", "--time-limit", 5, "--json")
    done = run("fit", tmp_path / "data.csv", *words)
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES
    assert (tmp_path / "out" / "report.html").stat().st_size < 2_000_000
    numbers = json.loads(done.stdout)
    assert numbers == json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    own = next(iter(numbers["scores"].values()))
    majority = 1 - frame["target"].value_counts(normalize=True).max()
    assert own["error"]["estimate"] <= majority + 0.05
    model = softmargin.load(tmp_path / "out" / "model.softmargin")
    assert set(map(str, model.classes_)) == set(map(str, frame["target"].unique()))
    done = run("predict", tmp_path / "out" / "model.softmargin", tmp_path / "data.csv", "-o", tmp_path / "p.csv")
    assert done.exit_code == 0, done.output
    assert len(pd.read_csv(tmp_path / "p.csv")) == len(frame)


def test_what_is_wrong_with_a_real_table_is_one_line(tmp_path):
    frame = table("churn")
    frame["number"] = np.arange(len(frame)) / 7
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.assign(target="same").to_csv(tmp_path / "one.csv", index=False)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else")
    out = ("-o", tmp_path / "out", "--effort", "fast")
    assert "column" in refused("fit", tmp_path / "data.csv", "--target", "tarjet", *out)
    assert "one value" in refused("fit", tmp_path / "one.csv", "--target", "target", *out)
    assert "number" in refused("fit", tmp_path / "data.csv", "--target", "number", *out)
    assert "empty" in refused("fit", tmp_path / "empty.csv", "--target", "target", *out)
    assert "broken.parquet" in refused("fit", tmp_path / "broken.parquet", "--target", "target", *out)
    assert not (tmp_path / "out").exists()

"""``softmargin fit`` of Parquet files too large for memory."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import softmargin
from softmargin.cli import _fit_chunks
from softmargin.cli._app import app

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(_fit_chunks, "_LARGE", 1000)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2400, 3)), columns=list("abc"))
    frame["word"] = "x"
    frame["late"] = np.where(frame["a"] - frame["b"] + rng.logistic(size=2400) > 0, "yes", "no")
    (tmp_path / "rides").mkdir()
    for part in range(3):
        frame[800 * part : 800 * (part + 1)].to_parquet(tmp_path / "rides" / f"{part}.parquet")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_folder_of_parquet_files_is_fitted_in_chunks_and_predicted(folder):
    done = run("fit", f"{folder}/rides/*.parquet", "--target", "late", "-o", folder / "out", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["scores"]
    for name in ("model.softmargin", "report.html", "report.json", "predictions.parquet", "suspects.csv"):
        assert (folder / "out" / name).stat().st_size > 0
    model = softmargin.load(folder / "out" / "model.softmargin")
    assert list(model.feature_names_in_) == list("abc")
    done = run("predict", folder / "out" / "model.softmargin", folder / "rides", "-o", folder / "p.parquet")
    assert done.exit_code == 0, done.output
    assert len(pd.read_parquet(folder / "p.parquet")) == 2400


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "lat"], "is no column"),
        (["--target", "word"], "one class only"),
        (["--target", "late", "--model", "RobustSVC"], "does not fit tables in chunks"),
    ],
)
def test_bad_words_end_in_one_line_and_write_nothing(folder, words, said):
    done = run("fit", folder / "rides", "-o", folder / "out", *words)
    assert done.exit_code == 2
    assert said in done.output.replace("\n", " ")
    assert not (folder / "out").exists()


def test_a_corrupt_file_names_itself(folder):
    (folder / "rides" / "1.parquet").write_bytes(b"no parquet at all")
    done = run("fit", folder / "rides", "--target", "late", "-o", folder / "out")
    assert done.exit_code == 2
    assert "1.parquet" in done.output.replace("\n", "")

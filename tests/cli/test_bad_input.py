"""What is wrong with a file is one line with the remedy, exit code 2, and nothing is written."""

import os

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from softmargin.cli._app import app

pytest.importorskip("jinja2")


def good(n=80):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"key": np.arange(n), "x": rng.normal(size=n).round(3), "c": rng.choice(list("abc"), n)})
    return frame.assign(y=np.where(frame["x"] + rng.logistic(size=n) > 0, "yes", "no"))


def text(frame, sep=","):
    return frame.to_csv(index=False, sep=sep).encode()


def lines(change):
    """The good table with line 40 changed."""
    rows = text(good()).decode().splitlines()
    rows[40] = change(rows[40])
    return ("\n".join(rows) + "\n").encode()


BAD = {
    "a target that is no column": (text(good().rename(columns={"y": "z"})), "the columns are key, x, c, z"),
    "a target nearly named": (text(good().rename(columns={"y": "yy"})), "did you mean 'yy'?"),
    "one class": (text(good().assign(y="yes")), "has one value only (yes); a classifier needs two"),
    "a number for each row": (text(good(300).assign(y=np.arange(300))), "300 distinct values, a quantity and not"),
    "a quantity": (text(good().assign(y=np.linspace(0, 1, 80))), "cut it into classes first"),
    "no label at all": (text(good().assign(y=None)), "has no value in any row"),
    "a class of one row": (text(good().assign(y=["maybe", *good()["y"][1:]])), "one row only (maybe); merge or remove"),
    "nothing": (b"", "is empty"),
    "empty lines": (b"\n\n\n", "is empty"),
    "a header alone": (b"key,x,c,y\n", "has no rows"),
    "two rows": (text(good(2)), "one row only"),
    "binary data": (bytes(range(256)) * 20, "holds binary data"),
    "columns of one name": (text(good().rename(columns={"c": "x"})), "several columns called 'x'; rename"),
    "targets of one name": (text(good().rename(columns={"c": "y"})), "several columns called 'y'; rename"),
    "a short row": (lines(lambda row: row.rsplit(",", 1)[0]), "names 4 columns, but a row has 3 values; mend the row"),
    "a long row": (lines(lambda row: row + ",1"), "names 4 columns, but a row has 5 values; mend the row"),
    "another delimiter": (text(good(), sep=":"), "separate them and the values by commas"),
    "the target alone": (text(good()[["y"]]), "needs at least one"),
}


def refused(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 2, (done.output, done.exception)
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("softmargin: ")
    return done.stderr


@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_is_refused_in_one_line(name, tmp_path):
    content, said = BAD[name]
    (tmp_path / "data.csv").write_bytes(content)
    for command in ("fit", "audit"):
        assert said in refused(command, tmp_path / "data.csv", "--target", "y", "-o", tmp_path / "out")
    assert os.listdir(tmp_path) == ["data.csv"]


def test_a_file_that_is_not_what_its_name_says(tmp_path):
    for name in ("data.parquet", "data.feather", "data.jsonl", "data.csv.gz"):
        (tmp_path / name).write_bytes(b"\x01no table\x02" * 50)
        assert "cannot be read" in refused("fit", tmp_path / name, "--target", "y", "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_json_lines_of_several_kinds_name_the_column(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"x": 1, "y": "a"}\n{"x": "high", "y": "b"}\n')
    assert "the column 'x' mixes" in refused("fit", tmp_path / "a.jsonl", "--target", "y", "-o", tmp_path / "out")


def test_an_output_that_cannot_be_a_folder_is_one_line(tmp_path):
    (tmp_path / "data.csv").write_bytes(text(good()))
    said = refused("audit", tmp_path / "data.csv", "--target", "y", "-o", tmp_path / "data.csv")
    assert "exists" in said


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    frame = good().assign(mixed=[str(i) if i % 4 else "unknown" for i in range(80)])
    frame.to_csv(folder / "data.csv", index=False)
    words = ["fit", folder / "data.csv", "--target", "y", "--id", "key", "--effort", "fast", "-o", folder / "out"]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return folder, done.output


def test_a_column_of_numbers_and_words_is_told(fitted):
    assert "mixed holds numbers and words such as 'unknown'" in fitted[1]


def test_rows_that_do_not_suit_the_model_are_refused(fitted, tmp_path):
    folder, _ = fitted
    frame = pd.read_csv(folder / "data.csv")
    cases = {
        "lacks the column 'x'": frame.drop(columns="x"),
        "cannot be read": frame.assign(x="high"),
        "has no rows": frame[:0],
    }
    for said, rows in cases.items():
        rows.to_csv(tmp_path / "new.csv", index=False)
        for words in (["predict", folder / "out", tmp_path / "new.csv", "-o", tmp_path / "p.csv"],):
            assert said in refused(*words), said
    assert "no column of" in refused("predict", folder / "out", folder / "data.csv", "--id", "k", "-o", tmp_path / "p")
    assert "--row must be" in refused("explain", folder / "out", folder / "data.csv", "--row", 999)
    assert sorted(os.listdir(tmp_path)) == ["new.csv"]


def test_the_directory_of_a_fit_stands_for_its_model(fitted, tmp_path):
    folder, _ = fitted
    done = CliRunner().invoke(
        app, ["predict", str(folder / "out"), str(folder / "data.csv"), "-o", f"{tmp_path}/p.csv"]
    )
    assert done.exit_code == 0, done.output
    assert len(pd.read_csv(tmp_path / "p.csv")) == 80
    assert "does not exist" in refused("predict", tmp_path, folder / "data.csv", "-o", tmp_path / "q.csv")


CELLS = {"list": [1, 2], "dict": {"a": 1}, "bytes": b"x"}


@pytest.mark.parametrize("kind", CELLS)
def test_cells_that_hold_no_single_value_are_refused_by_their_column(kind, tmp_path):
    path = tmp_path / "data.parquet"
    good().assign(cell=[None, *[CELLS[kind]] * 79]).to_parquet(path)
    for command in ("fit", "audit"):
        said = refused(command, path, "--target", "y", "-o", tmp_path / "out")
        assert f"a {kind} in each cell of the column 'cell'" in said
    assert not (tmp_path / "out").exists()


def test_an_empty_folder_and_one_json_value_are_said_to_be_so(tmp_path):
    (tmp_path / "folder").mkdir()
    words = ("--target", "y", "-o", tmp_path / "out")
    assert "holds no table" in refused("fit", tmp_path / "folder", *words)
    good().to_json(tmp_path / "data.json", orient="records")
    assert "write JSON lines" in refused("fit", tmp_path / "data.json", *words)


def test_weights_of_words_are_refused_by_their_column(tmp_path):
    (tmp_path / "data.csv").write_bytes(text(good()))
    for command in ("fit", "audit"):
        said = refused(command, tmp_path / "data.csv", "--target", "y", "--weight", "c", "-o", tmp_path / "out")
        assert "--weight 'c' must hold numbers; got '" in said

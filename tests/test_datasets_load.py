"""Real sets by name: the file conventions, the encodings, and errors that say what to do."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from softmargin import datasets
from softmargin.datasets import DataNotFound, load


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """A data directory of three small files in the documented formats."""
    monkeypatch.setenv("SOFTMARGIN_DATA", str(tmp_path))
    mixed = pd.DataFrame(
        {
            "size": [1.0, None, 3.0, 5.0],
            "colour": ["red", None, "blue", "green"],
            "sex": ["f", "m", "m", "f"],
            "target": ["a", "b", "a", "b"],
            "split": ["train", "train", "test", "test"],
        }
    )
    mixed.to_parquet(tmp_path / "mixed.parquet")
    pd.DataFrame(
        {"text": ["good good film", "bad film", "good bad"], "target": [1, 0, 1], "fold": [0, 1, 2]}
    ).to_parquet(tmp_path / "movie_reviews.parquet")
    X = sparse.csr_array(np.array([[1, 0, 2], [0, 0, 3]], dtype=np.int8))
    np.savez(
        tmp_path / "wide.npz", data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, target=np.array([-1, 1])
    )
    return tmp_path


def test_a_table_gives_features_classes_and_split(directory):
    data = load("mixed")
    assert data.feature_names == ["size", "colour", "sex"]
    assert list(data.X.columns) == data.feature_names
    assert data.y.tolist() == ["a", "b", "a", "b"]
    X, y = data.part("test")
    assert len(X) == len(y) == 2
    assert data.source == str(directory / "mixed.parquet")


def test_encoding_is_numeric_with_medians_and_indicators(directory):
    data = load("mixed", encode=True)
    assert data.feature_names == ["size", "colour=blue", "colour=green", "colour=red", "sex=m"]
    np.testing.assert_array_equal(data.X, [[1, 0, 0, 1, 0], [3, 0, 0, 0, 1], [3, 1, 0, 0, 1], [5, 0, 1, 0, 0]])
    scaled = load("mixed", standardize=True).X
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1)


def test_text_is_strings_or_tfidf_and_extras_are_set_aside(directory):
    data = load("movie_reviews")
    assert data.X.tolist() == ["good good film", "bad film", "good bad"]
    assert data.extras["fold"].tolist() == [0, 1, 2]
    encoded = load("movie_reviews", encode=True)
    assert encoded.feature_names == ["bad", "film", "good"]
    assert encoded.X.shape == (3, 3)
    np.testing.assert_allclose(encoded.X.power(2).sum(axis=1), 1)


def test_a_sparse_file_is_float64_csr(directory):
    data = load("wide")
    assert data.X.dtype == np.float64
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0, 2], [0, 0, 3]])
    assert data.feature_names == ["x0", "x1", "x2"]
    assert load("wide", standardize=True).X.nnz == data.X.nnz


def test_another_column_can_be_the_class(directory):
    data = load("movie_reviews", target="fold")
    assert data.y.tolist() == [0, 1, 2]
    assert data.extras["target"].tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="fold"):
        load("movie_reviews", target="colour")


def test_constant_columns_become_zero(directory):
    pd.DataFrame({"c": [2, 2], "x": [0, 1], "gap": [np.nan, np.nan], "target": [0, 1]}).to_parquet(
        directory / "flat.parquet"
    )
    np.testing.assert_array_equal(load("flat", standardize=True).X, [[0, -1, 0], [0, 1, 0]])


@pytest.mark.parametrize(("name", "shape"), [("breast_cancer", (569, 30)), ("iris", (150, 4)), ("wine", (178, 13))])
def test_embedded_sets_need_no_file(directory, name, shape):
    data = load(name, encode=True)
    assert data.X.shape == shape
    assert data.y.dtype.kind == "U"
    assert name in datasets.available()


def test_a_missing_set_says_how_to_get_it(directory):
    with pytest.raises(DataNotFound, match=r"'mixd' not found.*'mixed'.*SOFTMARGIN_DATA"):
        load("mixd", download=False)


@pytest.mark.parametrize(
    "name",
    [
        "../mixed",
        "a/../mixed",
        "/etc/passwd",
        "..",
        ".hidden",
        "sub/mixed",
        "sub\\mixed",
        "c:mixed",
        "mixed\0",
        "",
        3,
        None,
    ],
)
def test_a_path_is_no_name(directory, name):
    (directory / "sub").mkdir()
    with pytest.raises(ValueError, match="name must be the name of a data set"):
        load(name)


def test_no_name_leaves_the_directory(directory, monkeypatch):
    inner = directory / "inner"
    inner.mkdir()
    monkeypatch.setenv("SOFTMARGIN_DATA", str(inner))
    for name in ("../mixed", str(directory / "mixed")):
        with pytest.raises(ValueError, match="not a path"):
            load(name)


def test_openml_is_asked_with_arguments_it_accepts(directory, monkeypatch):
    import sklearn.datasets._openml as openml

    seen = []

    def answer(*arguments, **options):
        seen.append(options)
        raise OSError("asked for real")

    monkeypatch.setattr(openml, "_get_data_info_by_name", answer)
    monkeypatch.setattr(openml, "_get_data_description_by_id", answer)
    for name in ("spambase", "some set"):
        with pytest.raises(DataNotFound, match="asked for real"):
            load(name)
    assert len(seen) == 2


def test_openml_failure_is_reported(directory, monkeypatch):
    def offline(**asked):
        raise OSError(f"no route to host for {asked['data_id']}")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    with pytest.raises(DataNotFound, match="no route to host for 44"):
        load("spambase")


def test_openml_answer_becomes_a_dataset(directory, monkeypatch):
    from sklearn.utils import Bunch

    def fetch_openml(**asked):
        assert asked["name"] == "some_set"
        frame = pd.DataFrame({"x": [1.0, 2.0]})
        return Bunch(data=frame, target=pd.Series(["no", "yes"], dtype="category"), details={"id": "9"})

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    data = load("some_set")
    assert data.y.tolist() == ["no", "yes"]
    assert data.source == "OpenML 9"


def test_a_wrong_directory_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("SOFTMARGIN_DATA", str(tmp_path / "absent"))
    with pytest.raises(DataNotFound, match="absent"):
        load("spambase")


def test_part_needs_a_split(directory):
    with pytest.raises(ValueError, match="no official split"):
        load("iris").part("train")
    with pytest.raises(ValueError, match="'test', 'train'"):
        load("mixed").part("valid")


@pytest.mark.parametrize(
    ("name", "shape", "extras"),
    [
        ("mammographic", (830, 4), {"birads", "target_noisy"}),
        ("leukemia_golub", (72, 7129), {"target_binary", "sample"}),
        ("colon", (62, 2000), {"sample", "target_suspect"}),
        ("spect", (267, 22), set()),
        ("a9a", (48842, 123), set()),
    ],
)
def test_real_files_keep_their_extra_columns_out_of_the_features(real_data, name, shape, extras):
    data = real_data(name)
    assert data.X.shape == shape
    assert set(data.extras) == extras
    assert not extras & set(data.feature_names)


def test_every_real_file_can_be_encoded(real_data):
    for name in ("german", "credit_data", "hepatitis", "house_votes84", "zoo", "soybean"):
        X = real_data(name, standardize=True).X
        assert X.dtype == np.float64
        assert np.isfinite(X).all()

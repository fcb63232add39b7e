"""Chunks are one table: what a fit of that table in memory would refuse is refused, and nothing is joined by place."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from softmargin import MarginClassifier, RuleBoostClassifier, chunks

RNG = np.random.default_rng(4)
X = RNG.normal(size=(90, 3))
Y = (X[:, 0] - X[:, 1] + RNG.normal(size=90) > 0).astype(int)
PARTS = [slice(0, 40), slice(40, 90)]


def given(*parts):
    return chunks.from_arrays(lambda: iter(parts))


def labelled(first, second):
    return given((X[PARTS[0]], first), (X[PARTS[1]], second))


@pytest.fixture(params=["pandas", "polars"])
def frames(request):
    """A function from columns in some order to the parts of one frame."""
    library = pytest.importorskip(request.param)
    columns = dict(zip("abc", X.T, strict=True))

    def make(order="abc"):
        return [library.DataFrame({name: columns[name][part] for name in order}) for part in PARTS]

    return make


def test_columns_of_frames_keep_their_names(frames):
    rows = list(zip(frames(), (Y[part] for part in PARTS), strict=True))
    model = MarginClassifier(tol=1e-9).fit(*given(*rows))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(model.coef_, MarginClassifier(tol=1e-9).fit(X, Y).coef_, atol=1e-4)
    labels = model.predict(given(*rows)[0])
    np.testing.assert_array_equal(labels, np.concatenate([model.predict(part) for part in frames()]))


@pytest.mark.parametrize("order", ["cab", "abd", "ab"])
def test_later_chunks_have_the_columns_of_the_first(frames, order):
    first, second = frames()[0], frames(order.replace("d", "c"))[1]
    if "d" in order:
        second = second.rename(columns={"c": "d"}) if hasattr(second, "iloc") else second.rename({"c": "d"})
    rows = given((first, Y[PARTS[0]]), (second, Y[PARTS[1]]))
    with pytest.raises(ValueError, match=r"feature names of X of the chunk from row 40 on .* first chunk saw a, b, c"):
        MarginClassifier().fit(*rows)
    model = MarginClassifier().fit(X, Y)
    with warnings.catch_warnings(action="ignore"), pytest.raises(ValueError, match="the chunk from row 40 on"):
        model.predict(rows[0])


def test_later_chunks_without_names_are_refused(frames):
    rows = given((frames()[0], Y[PARTS[0]]), (X[PARTS[1]], Y[PARTS[1]]))
    with pytest.raises(ValueError, match="first chunk has feature names"):
        MarginClassifier().fit(*rows)


def test_rows_to_predict_have_the_columns_of_the_fit(frames):
    model = MarginClassifier().fit(*given(*((part, Y[rows]) for part, rows in zip(frames(), PARTS, strict=True))))
    other = given(*((part, None) for part in frames("cab")))[0]
    with pytest.raises(ValueError, match="feature names of X should match those that fit saw, in the same order"):
        model.predict(other)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frames("cab")[0])
    with pytest.warns(UserWarning, match="fit has feature names, but X has none"):
        np.testing.assert_array_equal(model.predict(given((X, None))[0]), model.predict(given_as(frames)))
    with pytest.warns(UserWarning, match="X has feature names, but fit has none"):
        MarginClassifier().fit(X, Y).predict(given_as(frames))


def given_as(frames):
    return given(*((part, None) for part in frames()))[0]


def test_fitting_rows_without_names_forgets_those_of_others(frames):
    model = MarginClassifier().fit(*given(*((part, Y[rows]) for part, rows in zip(frames(), PARTS, strict=True))))
    model.fit(*given((X, Y)))
    assert not hasattr(model, "feature_names_in_")


def test_files_are_read_by_name_and_predicted_in_the_order_of_the_fit(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=Y)
    frame[:40].to_parquet(tmp_path / "0.parquet")
    frame[40:][["y", "c", "a", "b"]].to_parquet(tmp_path / "1.parquet")
    model = MarginClassifier(tol=1e-9).fit(*chunks.from_parquet(tmp_path, target="y"))
    np.testing.assert_allclose(model.coef_, MarginClassifier(tol=1e-9).fit(X, Y).coef_, atol=1e-4)
    other = chunks.from_parquet(tmp_path / "1.parquet", target="y")[0]
    with pytest.raises(ValueError, match="fit saw a, b, c"):
        model.predict(other)


def test_partitions_have_the_columns_of_their_collection():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=list("abc"))
    lazy = dd.from_pandas(frame, npartitions=2).map_partitions(
        lambda part: part[["c", "a", "b"]], meta=frame[:0], enforce_metadata=False
    )
    with pytest.raises(ValueError, match="feature names of X of partition"):
        MarginClassifier().fit(lazy, dd.from_pandas(pd.Series(Y), npartitions=2))
    numbered = dd.from_pandas(pd.DataFrame(X), npartitions=2)  # no names, as in memory
    model = MarginClassifier().fit(numbered, dd.from_pandas(pd.Series(Y), npartitions=2))
    assert not hasattr(model, "feature_names_in_")


TEXT = Y.astype(str)
TYPES = {
    "numbers and text": (Y, TEXT),
    "text and numbers": (TEXT, Y),
    "truth and text": (Y.astype(bool), Y.astype(bool).astype(str)),
    "text and bytes": (TEXT, TEXT.astype("S")),
    "numbers and dates": (Y, Y.astype("M8[D]")),
    "dates of two units": (Y.astype("M8[D]"), Y.astype("M8[s]")),
    "objects": (Y.astype(object), Y.astype(object)),
    "objects of two types": (np.where(Y > 0, Y.astype(object), "0"),) * 2,
    "missing text": (TEXT, np.where(Y > 0, "1", None)),
    "complex numbers": (Y.astype(complex), Y.astype(complex)),
    "whole numbers beyond those of floats": (2**53 + Y, 2.0**53 + Y),
}


@pytest.mark.parametrize("kind", TYPES)
def test_labels_of_several_types_are_no_classes(kind):
    first, second = (labels[part] for labels, part in zip(TYPES[kind], PARTS, strict=True))
    with pytest.raises(TypeError, match=r"y .*type"):
        MarginClassifier().fit(*labelled(first, second))


@pytest.mark.parametrize("missing", [np.where(Y > 0, 1.0, np.nan), np.where(Y > 0, "2020", "nat").astype("M8[D]")])
def test_missing_labels_are_refused(missing):
    with pytest.raises(ValueError, match="y of the chunk from row 0 on contains missing labels"):
        MarginClassifier().fit(*labelled(missing[PARTS[0]], missing[PARTS[1]]))


@pytest.mark.parametrize("other", [float, bool, np.int8, np.uint64])
def test_equal_numbers_are_one_label_whatever_their_type(other):
    model = MarginClassifier().fit(*labelled(Y[PARTS[0]], Y[PARTS[1]].astype(other)))
    whole = MarginClassifier().fit(X, Y)
    np.testing.assert_array_equal(model.classes_, whole.classes_)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-4)


def test_dates_are_labels_with_weights_of_their_own():
    dates = np.array(["2020-01-01", "2021-01-01"], dtype="M8[ns]")[Y]
    parts = MarginClassifier(class_weight="balanced", tol=1e-9).fit(*labelled(dates[:40], dates[40:]))
    whole = MarginClassifier(class_weight="balanced", tol=1e-9).fit(X, dates)
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-4)
    np.testing.assert_array_equal(parts.predict(given((X, None))[0]), whole.predict(X))


def test_files_of_truth_values_and_numbers_are_refused(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, columns=list("abc"))
    frame[:40].assign(y=Y[:40] > 0).to_parquet(tmp_path / "0.parquet")
    frame[40:].assign(y=Y[40:] + 1).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(ValueError, match="labels of several types"):
        chunks.from_parquet(tmp_path, target="y")


def test_many_classes_are_no_regression():
    codes = np.arange(90) % 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(MarginClassifier().fit(*labelled(codes[:40], codes[40:])).classes_) == 30


@pytest.mark.parametrize("labels", [Y[:80].reshape(40, 2), Y[:39], 1, np.zeros((40, 0))])
def test_labels_are_one_per_row(labels):
    with pytest.raises(ValueError, match=r"y of the chunk from row 0 on has .* values for 40 rows"):
        MarginClassifier().fit(*given((X[:40], labels)))


def test_weights_of_some_chunks_count_in_the_sample_too():
    weight = RNG.integers(0, 3, size=50).astype(float)
    parts = given((X[:40], Y[:40]), (X[40:], Y[40:], weight))
    model = RuleBoostClassifier(n_rules=3).fit(*parts)
    whole = RuleBoostClassifier(n_rules=3).fit(X, Y, np.r_[np.ones(40), weight])
    assert model.rule_list_ == whole.rule_list_


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (np.array([["a", "b", "c"]] * 40), "X of the chunk from row 0 on must hold numbers"),
        ([[10**400, 1, 2]] * 40, "beyond the range of double precision"),
        (X[:40].astype(complex), "must hold numbers"),
        (np.ma.masked_array(X[:40], X[:40] > 1), "masked values"),
        (X[0], "two dimensions"),
        (3, "two dimensions"),
        (X[:40, :, None], "two dimensions"),
    ],
)
def test_rows_are_numbers(rows, said):
    with pytest.raises(ValueError, match=said):
        MarginClassifier().fit(*given((rows, Y[:40])))


def test_rows_are_sparse_in_every_chunk_or_in_none():
    with pytest.raises(ValueError, match="sparse in some chunks and dense in others"):
        MarginClassifier().fit(*given((X[:40], Y[:40]), (sparse.csr_array(X[40:]), Y[40:])))


def test_lists_and_whole_numbers_are_rows():
    whole = np.round(3 * X).astype(int)
    fits = [
        MarginClassifier(tol=1e-9).fit(*given(*((form(whole[part]), Y[part].tolist()) for part in PARTS)))
        for form in (np.asarray, np.ndarray.tolist, sparse.csr_array)
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.coef_, fits[0].coef_, atol=1e-4)


def test_an_iterator_that_has_been_read_is_refused():
    once = iter([(X[:40], Y[:40]), (X[40:], Y[40:])])
    with pytest.raises(ValueError, match="same iterator twice"):
        MarginClassifier().fit(*chunks.from_arrays(lambda: once))


def test_partitions_of_labels_are_those_of_the_rows():
    da = pytest.importorskip("dask.array")
    rows = da.from_array(X, chunks=(45, 3))
    with pytest.raises(ValueError, match=r"y of partition \d has \d0 values for 45 rows"):
        MarginClassifier().fit(rows, da.from_array(Y, chunks=((30, 60),)))
    for odd in (rows[:, 0], rows[:, :, None]):
        with pytest.raises(ValueError, match="X must have two dimensions"):
            chunks.from_dask(odd)
    with pytest.raises(ValueError, match="no labels"):
        MarginClassifier().fit(*chunks.from_dask(rows))

"""Parquet files become the numbers a user expects, whatever the files look like."""

import os
import subprocess
import sys

import numpy as np
import pytest

from softmargin import MarginClassifier, chunks

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def table(n=3000):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n).round(1),
            "visits": rng.integers(0, 9, n),
            "town": rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2]),
            "member": rng.random(n) < 0.4,
        }
    )
    score = 0.1 * (frame.age - 40) + 0.2 * frame.visits - (frame.town == "north") + rng.logistic(size=n)
    frame["late"] = np.where(score > 0.5, "yes", "no")
    frame["times"] = 1 + rng.integers(0, 3, n)
    return frame


def numbers(frame):
    towns = [f"town={level}" for level in ("north", "south", "west")]
    columns = {"age": frame.age, "visits": frame.visits}
    columns |= {name: frame.town == name.partition("=")[2] for name in towns}
    return pd.DataFrame(columns | {"member": frame.member}).astype(float)


@pytest.mark.parametrize("rows_per_chunk", [None, 257])
def test_a_folder_of_files_is_one_table(tmp_path, rows_per_chunk):
    frame = table()
    frame[:1000].to_parquet(tmp_path / "1.parquet", row_group_size=300)
    moved = frame[1000:][["late", "times", "town", "member", "visits", "age"]]
    moved.astype({"visits": "float32", "town": "category"}).to_parquet(tmp_path / "2.parquet")
    X, y = chunks.from_parquet(tmp_path, target="late", weight="times", rows_per_chunk=rows_per_chunk)
    model = MarginClassifier(tol=1e-9).fit(X, y)
    whole = MarginClassifier(tol=1e-9).fit(numbers(frame), frame.late, frame.times)
    assert list(model.feature_names_in_) == list(whole.feature_names_in_)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(numbers(frame)), atol=1e-5)
    np.testing.assert_array_equal(np.asarray(y), frame.late)
    assert len(y) == len(frame)
    new, _ = chunks.from_parquet(str(tmp_path / "*.parquet"), target=None, features=list(numbers(frame))[:2])
    with pytest.raises(ValueError, match="fit saw age, visits, town=north"):
        model.predict(new)


def test_missing_numbers_are_medians_with_an_indicator(tmp_path):
    frame = table()
    frame.loc[::7, "age"] = np.nan
    frame.loc[::11, "town"] = None
    frame.drop(columns="times").to_parquet(tmp_path / "t.parquet")
    X, y = chunks.from_parquet(tmp_path / "t.parquet", target="late")
    model = MarginClassifier(tol=1e-9).fit(X, y)
    filled = frame.assign(age=frame.age.fillna(frame.age.median()))
    expected = numbers(filled)
    expected.insert(1, f"age is missing, read as {frame.age.median():.6g}", frame.age.isna().astype(float))
    expected.insert(3, "town=missing", frame.town.isna().astype(float))
    whole = MarginClassifier(tol=1e-9).fit(expected, frame.late)
    assert list(model.feature_names_in_) == list(expected)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-4)


def test_rows_to_predict_are_read_like_the_training_rows_or_refused(tmp_path):
    """Medians and levels are those of the fit, not of whatever rows are asked about."""
    frame = table().drop(columns="times")
    frame.loc[::7, "age"] = np.nan
    new = frame[:50].assign(age=frame.age[:50] + 30, town=frame.town[:50].where(frame.index[:50] % 2 == 0))
    frame.to_parquet(tmp_path / "old.parquet")
    new.to_parquet(tmp_path / "new.parquet")
    X, y = chunks.from_parquet(tmp_path / "old.parquet", target="late")
    model = MarginClassifier().fit(X, y)
    for missing in (new, new.dropna(subset="age"), frame[:50].assign(age=frame.age[:50] + 30)):
        missing.to_parquet(tmp_path / "new.parquet")
        with pytest.raises(ValueError, match=r"feature names|fit saw"):
            model.predict(chunks.from_parquet(tmp_path / "new.parquet", target=None, features=list(new)[:-1])[0])
        alone, _ = chunks.from_parquet(tmp_path / "new.parquet", target=None, like=X)
        pd.concat([missing, frame]).to_parquet(tmp_path / "both.parquet")
        both, _ = chunks.from_parquet(tmp_path / "both.parquet", target="late", like=X)
        beside = model.decision_function(both)[: len(missing)]
        np.testing.assert_allclose(model.decision_function(alone), beside, rtol=1e-12)


def test_what_rows_are_to_be_read_like_is_named():
    with pytest.raises(ValueError, match="like must be the X of an earlier from_parquet"):
        chunks.from_parquet("t.parquet", target=None, like=[1])


def test_a_chunk_may_miss_every_value_of_a_column(tmp_path):
    frame = table()
    frame.loc[:999, "age"] = np.nan
    frame.to_parquet(tmp_path / "t.parquet")
    X, y = chunks.from_parquet(tmp_path / "t.parquet", target="late", rows_per_chunk=500)
    assert MarginClassifier().fit(X, y).solution_.converged


def test_numeric_and_boolean_labels_keep_their_type(tmp_path):
    frame = table().drop(columns="times")
    for label in (frame.late == "yes", (frame.late == "yes").astype(int) * 5, (frame.late == "yes") + 0.0):
        frame.assign(late=label).to_parquet(tmp_path / "t.parquet")
        X, y = chunks.from_parquet(tmp_path / "t.parquet", target="late")
        model = MarginClassifier().fit(X, y)
        assert model.classes_.tolist() == sorted(set(label.tolist()))
        assert model.predict(X).dtype == np.asarray(label).dtype


def test_faults_of_files_name_the_file(tmp_path):
    frame = table()
    good, bad = tmp_path / "1.parquet", tmp_path / "2.parquet"
    frame.to_parquet(good)
    with pytest.raises(FileNotFoundError, match="No Parquet file"):
        chunks.from_parquet(tmp_path / "nothing*.parquet", target="late")
    with pytest.raises(ValueError, match=r"1.parquet has no column 'nope'; it has age, visits"):
        chunks.from_parquet(good, target="nope")
    bad.write_bytes(good.read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"2.parquet"):
        MarginClassifier().fit(*chunks.from_parquet(tmp_path, target="late"))
    frame.drop(columns="town").to_parquet(bad)
    with pytest.raises(ValueError, match=r"2.parquet.*'town'"):
        MarginClassifier().fit(*chunks.from_parquet(tmp_path, target="late"))
    frame.assign(age="old").to_parquet(bad)
    with pytest.raises(ValueError, match=r"2.parquet, rows from 3000 on"):
        MarginClassifier().fit(*chunks.from_parquet(tmp_path, target="late"))
    frame.assign(late=frame.late.where(frame.index > 5)).to_parquet(bad)
    with pytest.raises(ValueError, match=r"2.parquet.*'late' has a missing value"):
        MarginClassifier().fit(*chunks.from_parquet(tmp_path, target="late"))


def test_a_memory_limit_makes_chunks_small(tmp_path):
    frame = table()
    frame.to_parquet(tmp_path / "t.parquet")
    X, y = chunks.from_parquet(tmp_path / "t.parquet", target="late", memory_limit=1 << 16, n_jobs=1)
    MarginClassifier().fit(X, y)
    assert X.source.n_chunks > 10


_PEAK = """
import sys
from pathlib import Path
from softmargin import MarginClassifier, chunks

def fit(path, **limit):
    return MarginClassifier().fit(*chunks.from_parquet(path, target="y", cache_limit=0, n_jobs=1, **limit))

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

fit(sys.argv[2])
before = peak()
fit(sys.argv[1], memory_limit=int(sys.argv[3]))
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_a_fit_stays_within_its_memory_limit(tmp_path):
    limit, rng = 40 << 20, np.random.default_rng(0)
    X = rng.standard_normal((400_000, 40)).astype(np.float64)  # 128 MB
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(40)]).assign(y=(X[:, 0] > 0).astype(int))
    frame.to_parquet(tmp_path / "large.parquet", row_group_size=10_000)
    frame.head(1000).to_parquet(tmp_path / "small.parquet")
    command = [sys.executable, "-c", _PEAK, tmp_path / "large.parquet", tmp_path / "small.parquet", str(limit)]
    # of what pyarrow's threads gave back, its own allocator keeps the more the busier the machine is
    quiet = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=quiet)
    assert int(done.stdout) <= limit + (
        80 << 20
    )  # buffers of threads, BLAS and the Parquet reader are of constant size


def in_files(folder, *frames, **options):
    for number, frame in enumerate(frames):
        frame.to_parquet(folder / f"{number}.parquet", **options)
    return folder


@pytest.mark.parametrize("order", ["age", "late"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sorted_rows_are_fitted_like_any_others(tmp_path, order, weighted):
    """A fit starts from the first rows of some row groups; sorted by class, they show one class only."""
    frame = table().sort_values(order)
    in_files(tmp_path, frame[:1500], frame[1500:], row_group_size=400)
    weight = "times" if weighted else None
    features = ["age", "visits", "town", "member"]
    X, y = chunks.from_parquet(tmp_path, target="late", features=features, weight=weight, rows_per_chunk=300)
    model = MarginClassifier(tol=1e-9).fit(X, y)
    whole = MarginClassifier(tol=1e-9).fit(numbers(frame), frame.late, frame.times if weighted else None)
    assert model.solution_.converged
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-4)
    assert X.shape == (len(frame), 6)
    np.testing.assert_allclose(
        y.weights, (frame.times if weighted else frame.late).groupby(frame.late).agg("sum" if weighted else "count")
    )


def test_a_file_without_rows_and_a_file_of_one_class_are_parts_like_others(tmp_path):
    frame = table()
    no, yes = (frame[frame.late == label] for label in ("no", "yes"))
    in_files(tmp_path, no, frame[:0], yes)
    model = MarginClassifier(tol=1e-9).fit(*chunks.from_parquet(tmp_path, target="late", weight="times"))
    both = pd.concat([no, yes])
    whole = MarginClassifier(tol=1e-9).fit(numbers(both), both.late, both.times)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-4)
    with pytest.raises(ValueError, match="no rows"):
        MarginClassifier().fit(*chunks.from_parquet(tmp_path / "1.parquet", target="late"))


def test_numbers_are_single_precision_where_every_file_says_so(tmp_path):
    frame = table()[["age", "visits", "late"]]
    single = frame.astype({"age": "float32", "visits": "float32"})
    for rest, dtype in ((single, np.float32), (frame, np.float64), (frame.astype({"age": "float32"}), np.float64)):
        X, y = chunks.from_parquet(in_files(tmp_path, single, rest), target="late")
        assert X.dtype == dtype
        assert MarginClassifier().fit(X, y).coef_.dtype == dtype


def test_labels_of_other_types_are_the_same_labels(tmp_path):
    frame = table().drop(columns="times")
    late = (frame.late == "yes").astype(int)
    parts = [frame.assign(late=late.astype(kind))[at::3] for at, kind in enumerate(("int8", "int64", "uint16"))]
    parts.append(frame.assign(late=300)[:50])
    X, y = chunks.from_parquet(in_files(tmp_path, *parts), target="late")
    assert MarginClassifier().fit(X, y).classes_.tolist() == [0, 1, 300]
    in_files(tmp_path, *parts, frame[:50])
    with pytest.raises(ValueError, match="no order together"):
        chunks.from_parquet(tmp_path, target="late")


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("age", np.nan, "column 'age' holds a number that is NaN"),
        ("age", np.inf, "column 'age' holds a number that is NaN, infinite"),
        ("times", -1.0, "a weight is negative"),
        ("times", np.nan, "a weight is negative, missing"),
    ],
)
def test_numbers_that_cannot_be_used_name_their_file(tmp_path, column, value, words):
    import pyarrow as pa
    import pyarrow.parquet as pq

    frame = table().astype({"times": float})
    in_files(tmp_path, frame)
    frame.loc[1700, column] = value
    columns = {name: frame[name].to_numpy() for name in frame}  # numbers stay what they are, NaN is no null
    pq.write_table(pa.table(columns), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=rf"1\.parquet.*{words}"):
        MarginClassifier().fit(*chunks.from_parquet(tmp_path, target="late", weight="times", rows_per_chunk=500))


@pytest.mark.parametrize("compression", ["snappy", "zstd", None])
def test_when_chunks_are_kept_changes_nothing(tmp_path, compression):
    frame = table()[["age", "visits", "late"]]
    in_files(tmp_path, frame, compression=compression)
    fits = []
    for limit in (0, 20_000, None):
        X, y = chunks.from_parquet(tmp_path, target="late", rows_per_chunk=250, cache_limit=limit)
        fits += [MarginClassifier(C=C).fit(X, y) for C in (1.0, 0.01, 1.0)]
        MarginClassifier(loss="hinge", tol=1e-4).fit(X, y)
        assert X.source.decodes == (limit is not None)
        fits.append(MarginClassifier(l1_ratio=1.0).fit(X, y))
    for one, other in zip(fits[:4] * 2, fits[4:], strict=True):
        np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6)


def test_a_damaged_page_names_its_file(tmp_path):
    in_files(tmp_path, table(), table(), row_group_size=500)
    damaged = bytearray((tmp_path / "1.parquet").read_bytes())
    damaged[len(damaged) // 3 : len(damaged) // 3 + 4000] = bytes(4000)
    (tmp_path / "1.parquet").write_bytes(damaged)
    with pytest.raises(ValueError, match=r"1\.parquet"):
        MarginClassifier().fit(*chunks.from_parquet(tmp_path, target="late"))

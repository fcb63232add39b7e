"""Every kind of table and label: the answer of the plain array, a finite one, or an error that says what is wrong."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from estimators.catalogue import CLASSIFIERS, META, binary, make
from softmargin import MarginClassifier, audit_labels
from softmargin.estimators._base.training_set import encode_labels
from softmargin.paths import weight_path

NAMES = [name for name in CLASSIFIERS if name not in META | {"AutoClassifier"}]  # those pass tables on to these
KERNELISED = {name for name in NAMES if "kernel" in make(name).get_params(deep=False)}
VARIANTS = [(name, {}) for name in NAMES] + [(name, {"kernel": "rbf"}) for name in sorted(KERNELISED)]
every_variant = pytest.mark.parametrize(
    ("name", "params"), VARIANTS, ids=[name + ("-rbf" if params else "") for name, params in VARIANTS]
)


def whole(n=30):
    X, y, _ = binary(n)
    return np.round(3 * X), y


SAME = {
    "int8": lambda X: X.astype(np.int8),
    "object": lambda X: X.astype(object),
    "float16": lambda X: X.astype(np.float16),
    "column order": np.asfortranarray,
    "every other row of a larger array": lambda X: np.repeat(X, 2, axis=0)[::2],
    "nullable integers": lambda X: pd.DataFrame(X).astype("Int64").to_numpy(dtype=object),
}
LABELS = {
    "bool": lambda y: y.astype(bool),
    "object": lambda y: np.where(y == 1, "b", "a").astype(object),
    "categorical": lambda y: pd.Series(pd.Categorical(np.where(y == 1, "b", "a"))),
    "nullable": lambda y: pd.Series(y).astype("Int64"),
    "polars": lambda y: pl.Series(y),
}


def quiet_fit(model, *data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data, **options)


@every_variant
def test_numbers_of_any_type_are_the_numbers_they_are(name, params):
    X, y = whole()
    reference = quiet_fit(make(name, **params), X, y).decision_function(X)
    for kind, convert in SAME.items():
        found = quiet_fit(make(name, **params), convert(X), y).decision_function(convert(X))
        np.testing.assert_allclose(found, reference, atol=1e-8 * np.abs(reference).max(), err_msg=kind)


@every_variant
def test_labels_of_any_type_are_labels(name, params):
    X, y = whole()
    reference = quiet_fit(make(name, **params), X, y)
    for kind, convert in LABELS.items():
        found = quiet_fit(make(name, **params), X, convert(y))
        np.testing.assert_array_equal(
            found.predict(X) == found.classes_[1], reference.predict(X) == reference.classes_[1], err_msg=kind
        )


def awkward():
    X, y = whole()
    sparse_rows = sparse.csr_array(np.where(np.random.default_rng(0).random(X.shape) < 0.1, X, 0.0))
    wide = sparse_rows.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return {
        "one row": (X[:1], y[:1], None),
        "two rows": (X[:2], np.array([0, 1]), None),
        "three rows of three classes": (X[:3], np.array([0, 1, 2]), None),
        "booleans": (X > 0, y, None),
        "frame of nullable integers": (pd.DataFrame(X).astype("Int64"), y, None),
        "frame with missing values": (pd.DataFrame(X).astype("Int64").mask(pd.DataFrame(X) > 4), y, None),
        "frame of categories": (pd.DataFrame(X).astype("category"), y, None),
        "polars": (pl.DataFrame(X, schema=list("abcd")), y, None),
        "words": (np.where(X > 0, "a", "b").astype(object), y, None),
        "sparse with empty rows": (sparse_rows, y, None),
        "64-bit indices": (wide, y, None),
        "nothing stored": (sparse.csr_array(X.shape), y, None),
        "zeros, more columns than rows": (np.zeros((9, 30)), np.arange(9) % 3, None),
        "coordinates": (sparse.coo_array(X), y, None),
        "sparse integers": (sparse.csr_array(X.astype(np.int64)), y, None),
        "labels are measurements": (X, y + 0.5, None),
        "zero weights": (X, y, (np.arange(30) < 20).astype(float)),
        "huge weights": (X, y, np.full(30, 1e12)),
        "impossible weights": (X, y, np.full(30, 1e300)),
        "vanishing weights": (X, y, np.full(30, 1e-300)),
        "weights of many sizes": (X, y, np.where(np.arange(30) % 2, 1e12, 1e-6)),
    }


@every_variant
@pytest.mark.parametrize("kind", list(awkward()))
def test_awkward_data_give_a_finite_answer_or_a_clear_error(name, params, kind):
    X, y, weight = awkward()[kind]
    model = make(name, **params)
    try:
        quiet_fit(model, X, y, **({} if weight is None else {"sample_weight": weight}))
    except (ValueError, TypeError):
        return
    scores = np.asarray(model.decision_function(X), dtype=float)
    assert np.isfinite(scores).all()
    assert set(model.predict(X)) <= set(np.unique(y).tolist())
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-9)


@pytest.mark.parametrize("form", ["coo", "dia", "bsr", "lil", "dok", "csc"])
def test_sparse_forms_of_all_kinds_fit_like_rows_also_where_some_weigh_nothing(form):
    X, y = whole()
    rows = sparse.csr_array(X)
    weight = (np.arange(len(y)) % 5 > 0).astype(float)
    for name in sorted(KERNELISED):
        plain = quiet_fit(make(name), rows, y, sample_weight=weight)
        for other in (rows.asformat(form), sparse.csr_matrix(rows).asformat(form)):
            model = quiet_fit(make(name), other, y, sample_weight=weight)
            np.testing.assert_allclose(
                model.decision_function(other), plain.decision_function(rows), 1e-9, 1e-9, err_msg=name
            )
    audit = audit_labels(make("MarginClassifier"), rows.asformat(form), y, cv=2, random_state=0)
    assert len(audit) == len(y)


def test_sparse_matrices_with_64_bit_indices_fit_like_others():
    _, y = whole()
    X = awkward()["sparse with empty rows"][0]
    wide = awkward()["64-bit indices"][0]
    for name in sorted(KERNELISED):
        narrow = quiet_fit(make(name), X, y).decision_function(X)
        np.testing.assert_array_equal(quiet_fit(make(name), wide, y).decision_function(wide), narrow, err_msg=name)
        assert wide.indices.dtype == np.int64  # the user's matrix stays as it was


def test_a_constant_kernel_machine_has_no_support_and_still_predicts():
    X = sparse.random(40, 6, 0.3, format="csr", random_state=0)
    y = np.arange(40) % 2
    for rows in (X, X.toarray()):
        model = CLASSIFIERS["MarginClassifier"](kernel="rbf", l1_ratio=1.0, C=1e-4).fit(rows, y)
        assert len(model.support_) == 0
        assert np.ptp(model.decision_function(rows)) == 0


def _in_two_parts(X):
    """A CSR matrix that stores every entry in two halves, not in order."""
    half = sparse.csr_array(X / 2)
    counts = np.diff(half.indptr)
    data = np.concatenate([np.tile(half.data[a:b][::-1], 2) for a, b in pairwise(half.indptr)])
    indices = np.concatenate([np.tile(half.indices[a:b][::-1], 2) for a, b in pairwise(half.indptr)])
    return sparse.csr_array((data, indices, np.r_[0, np.cumsum(2 * counts)]), shape=X.shape)


@pytest.mark.parametrize("kernel", [None, "rbf", "poly"])
@pytest.mark.parametrize("name", ["MarginClassifier", "CompositeMarginClassifier", "MulticategorySVC"])
def test_entries_stored_in_parts_are_added_up_and_the_matrix_given_is_left_alone(name, kernel):
    X, y = whole()
    rows = _in_two_parts(X)
    stored = rows.data.copy(), rows.indices.copy()
    found = make(name).set_params(kernel=kernel).fit(rows, y).decision_function(rows)
    expected = make(name).set_params(kernel=kernel).fit(X, y).decision_function(X)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_array_equal(rows.data, stored[0])
    np.testing.assert_array_equal(rows.indices, stored[1])


def test_a_path_adds_up_entries_stored_in_parts():
    X, y = whole()
    rows = _in_two_parts(X)
    for kernel in (None, "rbf"):
        found, expected = weight_path(rows, y, kernel=kernel), weight_path(X, y, kernel=kernel)
        np.testing.assert_allclose(found.decision_function(rows, 0.3), expected.decision_function(X, 0.3), atol=1e-8)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.uint64, np.float64, "U3"])
@pytest.mark.parametrize("labels", [(0, 1), (-128, 127), (3, 4, 9), (-7, -6, -5), (250, 251, 255)])
def test_classes_and_codes_are_those_of_a_sort(dtype, labels):
    y = np.resize(np.array(labels), 40).astype(dtype)
    classes, codes = encode_labels(y)
    expected = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(classes, expected[0])
    np.testing.assert_array_equal(codes, expected[1])
    assert classes.dtype == y.dtype


@pytest.mark.parametrize("labels", [(2**64 - 2, 2**64 - 1), (2**64 - 3, 2**64 - 2, 2**64 - 1)])
def test_the_largest_numbers_are_labels_too(labels):
    y = np.resize(np.array(labels, dtype=np.uint64), 30)
    classes, codes = encode_labels(y)
    np.testing.assert_array_equal(classes[codes], y)


@pytest.mark.parametrize("y", [np.tile([0.5, 1.0], 20), np.linspace(0, 1, 40)], ids=["two", "many"])
def test_numbers_between_whole_ones_are_no_labels(y):
    with pytest.raises(ValueError, match="Unknown label type"):
        encode_labels(y)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_that_are_none_are_refused_by_name(wrong, dtype):
    X, y, _ = binary(30)
    X = X.astype(dtype)
    X[7, 1] = wrong
    with pytest.raises(ValueError, match="Input X contains"):
        MarginClassifier().fit(X, y)


def test_numbers_whose_sum_is_infinite_are_still_numbers():
    X, y, _ = binary(30)
    X = np.column_stack([X, np.where(np.arange(30) % 2 == 0, 1e308, 9e307)])
    with pytest.raises(ValueError, match="double precision"):
        MarginClassifier().fit(X, y)


@pytest.mark.parametrize("name", list(CLASSIFIERS))
@pytest.mark.parametrize(("missing", "word"), [(np.nan, "NaN"), (None, "one type"), (3, "one type")])
def test_labels_that_are_missing_or_of_another_type_are_refused(name, missing, word):
    X, y, _ = binary()
    labels = np.where(y == 1, "b", "a").astype(object)
    labels[5] = missing
    with pytest.raises((ValueError, TypeError), match=word):
        make(name).fit(X, labels)


@pytest.mark.parametrize("name", list(CLASSIFIERS))
@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e200, 1e308])
def test_weights_that_cannot_be_added_up_are_refused_quietly(name, size):
    X, y, _ = binary()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"sample_weight .*double precision"):
            make(name).fit(X, y, sample_weight=np.full(len(y), size))


@pytest.mark.parametrize("name", list(CLASSIFIERS))
def test_a_table_that_is_only_planned_is_refused_with_the_remedy(name):
    X, y, _ = binary()
    frame = pl.DataFrame(X, schema=["u", "v", "w", "x"])
    with pytest.raises(TypeError, match=r"LazyFrame.*collect\(\)"):
        make(name).fit(frame.lazy(), y)
    model = quiet_fit(make(name), frame, y)
    with pytest.raises(TypeError, match=r"LazyFrame.*collect\(\)"):
        model.predict(frame.lazy())


@pytest.mark.parametrize("weights", ["balanced", [10**400] * 40, [object()] * 40, [1j] * 40])
def test_weights_that_are_no_numbers_are_refused_by_name(weights):
    X, y = np.arange(80.0).reshape(40, 2), np.arange(40) % 2
    with pytest.raises(ValueError, match="sample_weight"):
        MarginClassifier().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("dtype", ["string", "category", "Int64"])
def test_missing_labels_are_refused_as_such(dtype):
    y = pd.Series([0, 1] * 20, dtype="Int64").astype(dtype)
    y[3] = pd.NA
    with pytest.raises(ValueError, match=r"missing labels|contains NaN"):
        MarginClassifier().fit(np.arange(80.0).reshape(40, 2), y)


@pytest.mark.parametrize("name", sorted(set(CLASSIFIERS) - META - {"AutoClassifier"}))
@pytest.mark.filterwarnings("ignore")
def test_a_fit_leaves_unsorted_sparse_rows_as_they_are(name):
    X, y, _ = binary()
    n, p = X.shape
    rows = sparse.csr_array(X + 10)  # full, so that turning every row round leaves it unsorted
    turned = [part.reshape(n, p)[:, ::-1].ravel().copy() for part in (rows.data, rows.indices)]
    given = sparse.csr_array((turned[0].copy(), turned[1].copy(), rows.indptr.copy()), shape=(n, p))
    try:
        make(name).fit(given, y)
    except TypeError:
        pytest.skip("takes dense rows only")
    np.testing.assert_array_equal(given.data, turned[0])
    np.testing.assert_array_equal(given.indices, turned[1])

"""The outer form of data: dtype, dense or sparse, frames, label names, weights; and forms that must be refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .data import Data, Rng

__all__ = ["dress", "dress_labels", "dress_rows", "dress_weight", "messy_csr"]


def _frame(rng: Rng, data: Data) -> Any:
    import pandas as pd

    index = rng.permutation(len(data.codes)) * 7 + 3
    return pd.DataFrame(data.dense, columns=[f"column {j}" for j in range(data.dense.shape[1])], index=index)


def _nullable(rng: Rng, data: Data) -> Any:
    return _frame(rng, data).astype("Float64")


def _polars(rng: Rng, data: Data) -> Any:
    import polars as pl

    return pl.DataFrame(data.dense, schema=[f"c{j}" for j in range(data.dense.shape[1])])


def _strided(rng: Rng, data: Data) -> Any:
    wide = np.zeros((2 * data.dense.shape[0], 3 * data.dense.shape[1]))
    wide[::2, ::3] = data.dense
    return wide[::2, ::3]


def _read_only(rng: Rng, data: Data) -> Any:
    X = data.dense.copy()
    X.flags.writeable = False
    return X


def messy_csr(rng: Rng, data: Data) -> Any:
    """Explicit zeros, unsorted indices and entries in two parts."""
    X = sparse.coo_array(data.dense)
    rows, columns = X.coords
    order = rng.permutation(len(rows))
    values = np.concatenate([X.data[order] / 2, X.data[order] / 2, [0.0]])
    rows, columns = (
        np.concatenate([rows[order], rows[order], [0]]),
        np.concatenate([columns[order], columns[order], [0]]),
    )
    counts = np.bincount(rows, minlength=data.dense.shape[0])
    by_row = np.argsort(rows, kind="stable")
    start = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array((values[by_row], columns[by_row], start), shape=data.dense.shape)


def _wide_index(rng: Rng, data: Data) -> Any:
    X = sparse.csr_array(data.dense)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


Dress = Callable[[Rng, Data], Any]
DENSE: dict[str, tuple[Dress, float]] = {
    "float64": (lambda rng, data: data.dense.copy(), 10),
    "Fortran order": (lambda rng, data: np.asfortranarray(data.dense), 1),
    "strided": (_strided, 1),
    "read-only": (_read_only, 1),
    "list": (lambda rng, data: data.dense.tolist(), 0.5),
    "object": (lambda rng, data: data.dense.astype(object), 0.5),
    "pandas": (_frame, 1),
    "pandas nullable": (_nullable, 0.5),
    "polars": (_polars, 0.5),
}
SPARSE: dict[str, tuple[Dress, float]] = {
    "csr": (lambda rng, data: sparse.csr_array(data.dense), 2),
    "csc": (lambda rng, data: sparse.csc_array(data.dense), 1),
    "csr_matrix": (lambda rng, data: sparse.csr_matrix(data.dense), 1),
    "coo": (lambda rng, data: sparse.coo_array(data.dense), 0.5),
    "messy csr": (messy_csr, 1),
    "csr of int64 indices": (_wide_index, 0.5),
}
CAST = {"float32": np.float32, "float16": np.float16, "int64": np.int64, "bool": np.bool_, "int8": np.int8}


def _pick(rng: Rng, table: dict[str, tuple[Dress, float]]) -> tuple[str, Dress]:
    names = list(table)
    share = np.array([table[name][1] for name in names])
    name = names[rng.choice(len(names), p=share / share.sum())]
    return name, table[name][0]


def dress_rows(rng: Rng, data: Data) -> None:
    """Give ``X`` a dtype and a container; ``dense`` stays the float64 truth."""
    draw = rng.random()
    if draw < 0.12 and np.isfinite(data.dense).all() and np.abs(data.dense).max(initial=0) < 100:
        name = str(rng.choice(list(CAST)))
        X: Any = np.round(data.dense).astype(CAST[name]) if name in ("int64", "int8") else data.dense.astype(CAST[name])
        if name == "bool":
            X = data.dense > 0
        data.dense, data.X = X.astype(np.float64), X
        data.note(name, "tame" if name in ("float32", "float16") else "awkward")
    elif draw < 0.3:
        empty = rng.random(data.dense.shape) < rng.uniform(0, 0.9)
        if rng.random() < 0.3:
            empty[: max(1, len(data.codes) // 4)] = True
        data.dense[empty & np.isfinite(data.dense)] = 0.0
        name, make = _pick(rng, SPARSE)
        data.X = make(rng, data)
        data.note(name, "awkward")
    else:
        name, make = _pick(rng, DENSE)
        data.X = make(rng, data)
        if name != "float64":
            data.note(name)


NAMES: list[Callable[[int], np.ndarray]] = [
    lambda k: np.arange(k),
    lambda k: np.arange(k) * 3 - 4,
    lambda k: np.arange(k, dtype=float),
    lambda k: np.array([f"class {j}" for j in range(k)]),
    lambda k: np.array(list("zyxwvutsrqponm")[:k], dtype=object)[::-1],
    lambda k: np.array([False, True]) if k == 2 else np.arange(k),
    lambda k: np.arange(k, dtype=np.uint8),
]


def dress_labels(rng: Rng, data: Data) -> None:
    """Name the classes (names sort as their codes do) and choose a container for the labels."""
    names = NAMES[rng.integers(len(NAMES))](data.k) if rng.random() < 0.5 else np.arange(data.k)
    names = np.sort(names) if names.dtype != object else np.array(sorted(names), dtype=object)
    data.names, data.y = names, names[data.codes]
    draw = rng.random()
    if draw < 0.06:
        data.y = list(data.y)
    elif draw < 0.12:
        import pandas as pd

        data.y = pd.Series(data.y, index=rng.permutation(len(data.codes)))
        if rng.random() < 0.3:
            data.y = data.y.astype("category")


def dress_weight(rng: Rng, data: Data) -> None:
    """No weights mostly; whole numbers, zeros, small, large and very unequal ones."""
    n = len(data.codes)
    draw = rng.random()
    if draw < 0.6:
        return
    if draw < 0.75:
        data.times = rng.integers(1, 4, size=n).astype(float)
        data.note("whole weights")
    elif draw < 0.85:
        times = rng.choice([0.0, 1.0, 0.3], size=n)
        times[np.unique(data.codes, return_index=True)[1]] = 1.0
        data.times = times
        data.note("zero weights", "awkward")
    elif draw < 0.92:
        data.times = np.full(n, 10.0 ** rng.choice([-3, 3]))
        data.note(f"weights {data.times[0]:g}", "awkward")
    elif draw < 0.97:
        data.times = 10.0 ** rng.uniform(-6, 6, size=n)
        data.note("weights 1e-6..1e6", "extreme")
    else:
        data.times = np.full(n, 10.0 ** rng.choice([-100, 100, -300, 300]))
        data.note(f"weights {data.times[0]:g}", "extreme")
    data.weight = data.times if rng.random() < 0.8 else data.times.tolist()


def _one_class(rng: Rng, data: Data) -> str:
    data.y = np.asarray(data.y)[:1].repeat(len(data.codes))
    return "one class"


def _real_labels(rng: Rng, data: Data) -> str:
    data.y = rng.normal(size=len(data.codes))
    return "real labels"


def _missing_label(rng: Rng, data: Data) -> str:
    data.y = data.codes.astype(float)
    data.y[0] = np.nan
    return "a NaN label"


def _short_labels(rng: Rng, data: Data) -> str:
    data.y = np.asarray(data.y)[:-1]
    return "y one shorter"


def _wide_labels(rng: Rng, data: Data) -> str:
    data.y = np.column_stack([np.asarray(data.y)] * 2)
    return "y of two columns"


def _flat_rows(rng: Rng, data: Data) -> str:
    data.X = data.dense[:, 0]
    return "X of one dimension"


def _cube(rng: Rng, data: Data) -> str:
    data.X = data.dense[:, :, None]
    return "X of three dimensions"


def _no_columns(rng: Rng, data: Data) -> str:
    data.X = data.dense[:, :0]
    return "X without columns"


def _no_rows(rng: Rng, data: Data) -> str:
    data.X, data.y, data.weight = data.dense[:0], np.asarray(data.y)[:0], None
    return "no rows"


def _words(rng: Rng, data: Data) -> str:
    data.X = np.full(data.dense.shape, "word", dtype=object)
    return "words in X"


def _complex(rng: Rng, data: Data) -> str:
    data.X = data.dense + 1j
    return "complex X"


def _bad_weight(rng: Rng, data: Data) -> str:
    n = len(data.codes)
    bad = [-np.ones(n), np.full(n, np.nan), np.ones(n + 1), np.zeros(n), np.ones((n, 2)), np.full(n, np.inf), "x"]
    i = int(rng.integers(len(bad)))
    data.weight = bad[i]
    return "bad weights " + ["negative", "NaN", "too long", "zero", "two columns", "inf", "text"][i]


INVALID = (
    _one_class, _real_labels, _missing_label, _short_labels, _wide_labels, _flat_rows, _cube, _no_columns, _no_rows,
    _words, _complex, _bad_weight,
)  # fmt: skip


def dress(rng: Rng, data: Data, invalid: float = 0.08) -> Data:
    """Rows, labels and weights as a user would pass them; sometimes as no user should."""
    dress_rows(rng, data)
    dress_labels(rng, data)
    dress_weight(rng, data)
    if rng.random() < invalid:
        data.note(INVALID[rng.integers(len(INVALID))](rng, data), "invalid")
    return data

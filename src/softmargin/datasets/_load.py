"""Real data sets by name: from a directory of files, from scikit-learn, or from OpenML.

A data directory holds ``NAME.parquet`` (class in ``target``, official split in ``split``, everything else a feature
except the extra columns listed here) and ``NAME.npz`` (CSR parts plus ``target``, ``split``, ``feature_names``). It is
``$SOFTMARGIN_DATA`` if set, else a ``shared/data`` beside or above the working directory or the source tree.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from softmargin._constraints import BOOLEAN, check_each
from softmargin.datasets._encode import encode_table, encode_text, standardized

__all__ = ["DataNotFound", "Dataset", "available", "data_directory", "load"]

_SWITCHES = dict.fromkeys(("encode", "standardize", "download"), BOOLEAN)
_EMBEDDED = ("breast_cancer", "digits", "iris", "wine")

_NAME = re.compile(r"\w[\w .+()-]*")

_EXTRA_COLUMNS = {
    "colon": ("sample", "target_suspect"),
    "esl_mixture_grid": ("prob", "marginal"),
    "leukemia_golub": ("target_binary", "sample"),
    "mammographic": ("birads", "target_noisy"),
    "movie_reviews": ("fold",),
    "rt_rated": ("target_noisy", "target_noisy_asym", "target_review", "rating_mean", "n_raters", "ratings"),
    "trec_qc": ("target_fine",),
}

# fmt: off
_OPENML_IDS = {
    "adult": 1590, "arcene": 1458, "australian": 40981, "balance": 11, "banana": 1460, "breast_w": 15, "car": 40975,
    "churn": 40701, "clean2": 1116, "cmc": 23, "connect_4": 40668, "credit_a": 29, "dermatology": 35, "ecoli": 39,
    "german": 31, "glass": 41, "haberman": 43, "heart_statlog": 53, "hepatitis": 55, "house_votes84": 56,
    "ionosphere": 59, "kr_vs_kp": 3, "krkopt": 184, "letter": 6, "leukemia_golub": 1104, "lymphography": 10,
    "madelon": 1485, "magic": 1120, "mfeat_factors": 12, "monks1": 333, "monks2": 334, "monks3": 335, "mushroom": 24,
    "nursery": 26, "optdigits": 28, "page_blocks": 30, "pendigits": 32, "phoneme": 1489, "pima_diabetes": 37,
    "ringnorm": 1496, "saheart": 1498, "segment": 36, "shuttle": 40685, "skin": 1502, "sonar": 40, "soybean": 42,
    "spambase": 44, "spect": 336, "spectf": 337, "splice": 46, "tae": 48, "texture": 40499, "tic_tac_toe": 50,
    "twonorm": 1507, "vehicle": 54, "waveform_40": 60, "wdbc": 1510, "yeast": 181, "zoo": 62,
}
# fmt: on


class DataNotFound(LookupError):
    """No source has the data set; the message says how to get it."""


@dataclass(frozen=True)
class Dataset:
    """A data set as read: features, classes, official split and what must not be used as a feature.

    ``X`` is a DataFrame (an array once encoded), a CSR array, or a 1-d array of strings for text; ``y`` is None for a
    file without classes; ``split`` holds "train" / "test" where an official split exists; ``extras`` holds second
    labels, sample names and ratings by column name.
    """

    name: str
    X: Any
    y: np.ndarray | None
    feature_names: list[str]
    split: np.ndarray | None = None
    extras: dict[str, np.ndarray] = field(default_factory=dict)
    source: str = ""

    def part(self, name: str) -> tuple[Any, np.ndarray]:
        """Rows and classes of one part ("train" or "test") of the official split."""
        if self.split is None or self.y is None:
            raise ValueError(f"{self.name!r} has no official split; use sklearn.model_selection.train_test_split.")
        parts = np.unique(self.split).tolist()
        if name not in parts:
            raise ValueError(f"the split of {self.name!r} has the parts {parts}; got {name!r}.")
        rows = np.flatnonzero(self.split == name)
        return (self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]), self.y[rows]


def load(
    name: str,
    *,
    encode: bool = False,
    standardize: bool = False,
    target: str | None = None,
    download: bool = True,
) -> Dataset:
    """Load a real data set.

    Parameters
    ----------
    name : str
        A file of the data directory without its ending, one of scikit-learn's embedded sets ("breast_cancer",
        "digits", "iris", "wine"), or a data set OpenML knows by that name.
    encode : bool, default=False
        Return a float64 matrix: indicators for names, medians for missing numbers, tf-idf for text.
    standardize : bool, default=False
        Scale the encoded columns to mean 0 and variance 1 (sparse ones to variance 1); implies ``encode``.
    target : str, optional
        Use this extra column as the class (for instance "target_binary" of leukemia_golub or "target_noisy" of
        mammographic); the usual class is then in ``extras["target"]``.
    download : bool, default=True
        Ask OpenML if no local source has the set.

    Returns
    -------
    Dataset
        With attributes ``X``, ``y``, ``split``, ``feature_names``, ``extras`` and ``source``.

    Examples
    --------
    >>> from softmargin.datasets import load
    >>> data = load("breast_cancer", encode=True)
    >>> data.X.shape, data.y[:3].tolist()
    ((569, 30), ['malignant', 'malignant', 'malignant'])
    """
    _require_name(name)
    check_each(_SWITCHES, encode=encode, standardize=standardize, download=download)
    data = _from_directory(name) or _from_sklearn(name)
    if data is None and not download:
        raise DataNotFound(_how_to_get(name, "downloads are off (download=False)"))
    data = data or _from_openml(name)
    if target is not None:
        data = _retarget(data, target)
    return _encoded(data, standardize) if encode or standardize else data


def data_directory() -> Path | None:
    """The directory ``load`` reads from, or None."""
    chosen = os.environ.get("SOFTMARGIN_DATA")
    if chosen:
        path = Path(chosen).expanduser()
        if not path.is_dir():
            raise DataNotFound(f"SOFTMARGIN_DATA is set to {chosen!r}, which is not a directory.")
        return path
    return next((path for path in _candidates() if path.is_dir()), None)


def available() -> list[str]:
    """Names that ``load`` finds without a download."""
    directory = data_directory()
    files = [] if directory is None else [path for path in directory.iterdir() if path.suffix in (".parquet", ".npz")]
    return sorted({path.stem for path in files} | set(_EMBEDDED))


def _require_name(name: Any) -> None:
    """A name, never a path: what a stranger asks for must not leave the data directory."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"name must be the name of a data set (letters, digits, spaces and _ - + . ( ), not a path); got {name!r}. "
            "Set SOFTMARGIN_DATA to the directory that holds the file."
        )


def _candidates() -> Iterator[Path]:
    for start in (Path.cwd(), Path(__file__).resolve().parent):
        for folder in (start, *start.parents):
            yield folder / "shared" / "data"


def _from_directory(name: str) -> Dataset | None:
    directory = data_directory()
    if directory is None:
        return None
    table, matrix = directory / f"{name}.parquet", directory / f"{name}.npz"
    if table.is_file():
        return _from_table(name, _read_parquet(table), str(table))
    if matrix.is_file():
        return _from_matrix(name, matrix)
    return None


def _read_parquet(path: Path) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("reading data sets needs pandas and pyarrow: pip install 'softmargin[data]'.") from error
    return pandas.read_parquet(path)


def _from_table(name: str, frame: Any, source: str) -> Dataset:
    extras = {column: frame[column].to_numpy() for column in _EXTRA_COLUMNS.get(name, ()) if column in frame}
    X = frame.drop(columns=[column for column in ("target", "split", *extras) if column in frame])
    names = [str(column) for column in X.columns]
    return Dataset(
        name,
        X["text"].to_numpy(dtype=object) if names == ["text"] else X,
        _labels(frame["target"]) if "target" in frame else None,
        names,
        _labels(frame["split"]) if "split" in frame else None,
        extras,
        source,
    )


def _from_matrix(name: str, path: Path) -> Dataset:
    with np.load(path, allow_pickle=False) as parts:
        X = sparse.csr_array(
            (parts["data"].astype(np.float64), parts["indices"], parts["indptr"].astype(np.int32)),
            shape=tuple(parts["shape"]),
        )
        y = parts["target"]
        split = parts["split"] if "split" in parts.files else None
        if "feature_names" in parts.files:
            names = parts["feature_names"].tolist()
        else:
            names = [f"x{column}" for column in range(X.shape[1])]
    return Dataset(name, X, y, names, split, {}, str(path))


def _from_sklearn(name: str) -> Dataset | None:
    if name not in _EMBEDDED:
        return None
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, f"load_{name}")()
    names = [str(column) for column in bunch.feature_names]
    try:
        import pandas
    except ImportError:
        X = bunch.data
    else:
        X = pandas.DataFrame(bunch.data, columns=names)
    return Dataset(name, X, np.asarray(bunch.target_names)[bunch.target], names, source="scikit-learn")


def _from_openml(name: str) -> Dataset:
    from sklearn.datasets import fetch_openml

    known = _OPENML_IDS.get(name)
    asked: dict[str, Any] = {"name": name, "version": "active"} if known is None else {"data_id": known}
    try:
        bunch = fetch_openml(**asked, as_frame=True, parser="auto", n_retries=1)
    except (OSError, ValueError) as error:  # no network, or a name OpenML does not know
        raise DataNotFound(_how_to_get(name, f"OpenML answered: {error}")) from error
    X = bunch.data.drop(columns=[column for column in ("target", "split") if column in bunch.data])
    names = [str(column) for column in X.columns]
    return Dataset(name, X, _labels(bunch.target), names, source=f"OpenML {bunch.details.get('id', name)}")


def _labels(column: Any) -> np.ndarray:
    values = column.to_numpy()
    return values if values.dtype.kind in "iufb" else values.astype(str)


def _retarget(data: Dataset, column: str) -> Dataset:
    if column not in data.extras:
        raise ValueError(f"target must be an extra column of {data.name!r}: {sorted(data.extras)}; got {column!r}.")
    extras = {key: value for key, value in data.extras.items() if key != column}
    if data.y is not None:
        extras["target"] = data.y
    values = data.extras[column]
    y = values if values.dtype.kind in "iufb" else values.astype(str)
    return Dataset(data.name, data.X, y, data.feature_names, data.split, extras, data.source)


def _encoded(data: Dataset, standardize: bool) -> Dataset:
    X, names = data.X, data.feature_names
    if hasattr(X, "iloc"):
        X, names = encode_table(X)
    elif not sparse.issparse(X) and X.ndim == 1:
        X, names = encode_text(X)
    else:
        X = X.astype(np.float64)
    if standardize:
        X = standardized(X)
    return Dataset(data.name, X, data.y, names, data.split, data.extras, data.source)


def _how_to_get(name: str, openml: str) -> str:
    directory = data_directory()
    where = "no data directory was found" if directory is None else f"{directory} has no {name}.parquet or {name}.npz"
    near = difflib.get_close_matches(name, {*available(), *_OPENML_IDS}, n=3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near and name not in near else ""
    return (
        f"data set {name!r} not found: {where}; {openml}.{hint} Put {name}.parquet (features, 'target' and "
        f"optionally 'split') in a directory and set SOFTMARGIN_DATA to it, or go online so that "
        "sklearn.datasets.fetch_openml can fetch it."
    )

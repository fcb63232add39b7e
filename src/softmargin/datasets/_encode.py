"""A numeric matrix from a table: indicators for names, medians for gaps, tf-idf for text.

Statistics are taken over all rows given. That is what benchmarks of solvers want; to judge a model on unseen rows put
scikit-learn's encoders in a Pipeline instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["encode_table", "encode_text", "standardized"]


def encode_table(frame: Any) -> tuple[np.ndarray, list[str]]:
    """A float64 matrix and its column names.

    Numeric columns keep their values with missing ones set to the median (0 if all are missing). A column of names
    becomes one indicator per level, in order of the level's text, or a single one (the second level) if it has two
    levels and no gaps; a gap in a column of names leaves all its indicators at zero.
    """
    if all(kind.kind in "iufb" for kind in frame.dtypes) and not frame.isna().to_numpy().any():
        return frame.to_numpy(dtype=np.float64), [str(name) for name in frame.columns]
    columns: list[np.ndarray] = []
    names: list[str] = []
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind in "iufb":
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
            gaps = np.isnan(values)
            if gaps.any():
                values = np.where(gaps, 0.0 if gaps.all() else np.nanmedian(values), values)
            columns.append(values)
            names.append(str(name))
            continue
        gaps = column.isna().to_numpy()
        text = column.astype(object).where(~gaps, "").astype(str).to_numpy()
        levels = sorted(set(text[~gaps]))
        shown = levels[1:] if len(levels) == 2 and not gaps.any() else levels
        columns += [((text == level) & ~gaps).astype(np.float64) for level in shown]
        names += [f"{name}={level}" for level in shown]
    matrix = np.column_stack(columns) if columns else np.empty((len(frame), 0))
    return matrix, names


def encode_text(texts: np.ndarray) -> tuple[sparse.csr_array, list[str]]:
    """Sublinear tf-idf of words seen in at least two texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(min_df=2, sublinear_tf=True)
    matrix = vectorizer.fit_transform(texts)
    return sparse.csr_array(matrix), vectorizer.get_feature_names_out().tolist()


def standardized(X: Any) -> Any:
    """Columns of mean 0 and variance 1; sparse columns are only scaled, constant ones become (or stay) zero."""
    if sparse.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(np.asarray(X.power(2).mean(axis=0)).ravel() - mean**2, 0))
        return sparse.csr_array(X @ sparse.diags_array(1 / np.where(spread > 0, spread, 1)))
    spread = X.std(axis=0)
    constant = X.max(axis=0) == X.min(axis=0)
    return np.where(constant, 0.0, (X - X.mean(axis=0)) / np.where(constant | (spread == 0), 1.0, spread))

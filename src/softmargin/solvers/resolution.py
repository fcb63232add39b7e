"""Whether a kernel tells its rows apart beside its own rounding: judged by the problem, before any solver has a say.

A score is ``sum_j beta_j k(x_j, x)``, and costs of slope one let ``|beta_j|`` be as large as the weight ``w_j`` of its
row. Similarities are rounded, so the score is known up to about

    nu = eps sum_j w_j k(x_j, x_j)

of them. Where that is beyond one, losses whose corners lie at scores of about one see rounding: directions in which the
rows do not differ but for it are as good as any other, and a fit uses them as it finds them, another one for every
order of the rows. Nothing found in such a way is an answer, however small its gap; it is refused.

The one exception are rows that all differ, for rounding too: ``nu`` may then be as large as it likes, because the
coefficients are bounded by the scores, not by the costs. That needs a matrix far from singular, and one label for rows
that are equal. All of this depends on the rows with their weights and labels alone: rows in another order, repeated in
place of their weights, or with their labels exchanged are refused together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from softmargin.expansions import Expansion, KernelColumns

__all__ = ["require_resolution"]

Array = NDArray[np.floating[Any]]

_EPS = float(np.finfo(np.float64).eps)
_DROWNED = 1.0  # rounding of scores, in the scores of corners
_APART = 1e-10  # the least eigenvalue of similarities scaled to 1 on the diagonal that leaves coefficients their digits


def require_resolution(expansion: Expansion, weights: Array, labels: NDArray[Any]) -> None:
    """Refuse a kernel whose rounding, at the costs ``weights`` of the rows, is as large as the scores."""
    if not isinstance(expansion, KernelColumns):
        return
    diagonal = expansion.diagonal()
    rounding = _EPS * float(weights @ diagonal)
    if rounding <= _DROWNED or _tells_rows_apart(expansion, np.flatnonzero(weights > 0), labels):
        return
    raise ValueError(
        f"The kernel reaches {float(diagonal.max()):.3g} and C times the sample weights sum up to "
        f"{float(weights.sum()):.3g}: scores of about one are lost in the rounding of their sums. "
        "Standardise the columns of X, or lower C, the sample weights, degree, gamma or coef0."
    )


def _tells_rows_apart(expansion: KernelColumns, used: NDArray[np.intp], labels: NDArray[Any]) -> bool:
    """Whether the similarities of distinct rows are far from singular, and equal rows have one label."""
    chosen = used
    if not expansion.kernel.precomputed and not sparse.issparse(expansion.points):
        _, first, group = np.unique(expansion.points[used], axis=0, return_index=True, return_inverse=True)
        chosen = used[first]
        if np.any(labels[used] != labels[chosen][group.ravel()]):
            return False
    diagonal = expansion.diagonal()[chosen]
    if not np.all(diagonal > 0):
        return False
    lengths = np.sqrt(diagonal)
    K = np.array(expansion.take(chosen).outer(), dtype=np.float64) / lengths / lengths[:, None]
    K[np.diag_indices_from(K)] -= _APART
    return bool(np.all(np.isfinite(K))) and linalg.lapack.dpotrf(K, lower=1)[1] == 0

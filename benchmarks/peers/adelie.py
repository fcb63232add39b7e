"""adelie: group elastic net in C++; a lasso is a group lasso of groups of one."""

from __future__ import annotations

from typing import Any

import adelie
import numpy as np

__all__ = ["logistic_path", "version"]


def version() -> str:
    return f"adelie {adelie.__version__}"


def logistic_path(X: Any, y: np.ndarray, Cs: np.ndarray, l1_ratio: float, **options: Any) -> Any:
    """The path at its default tolerances; its objective is the mean deviance, so lambda = 1 / (C n)."""
    X = np.asfortranarray(X)
    family = adelie.glm.binomial(y=(y > 0).astype(np.float64), dtype=np.float64)
    state = adelie.grpnet(
        X=adelie.matrix.dense(X, method="naive", n_threads=options.pop("n_threads", 1)),
        glm=family,
        alpha=l1_ratio,
        lmda_path=1.0 / (np.asarray(Cs) * len(y)),
        early_exit=False,
        adev_tol=1.0,
        ddev_tol=0.0,
        progress_bar=False,
        **options,
    )
    return state.betas.toarray(), np.asarray(state.intercepts)

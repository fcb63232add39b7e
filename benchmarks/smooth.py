"""Ridge fits: one Newton method for every smooth loss, in features and in kernels.

All of ours stop at a certified relative duality gap of 1e-6; peers stop by their default tolerances. The kernel fit is
measured against its floor, one Cholesky factorisation of an n x n matrix, and includes computing the kernel matrix. A
loss made from three NumPy functions of the user races the built-in loss of the same shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.special import expit

from benchmarks._harness import Contest, contest, peer
from softmargin import MarginClassifier, losses


def _logistic_data(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    coef = 2 * rng.standard_normal(p) / np.sqrt(p)
    return X, np.where(X @ coef + 0.5 + rng.logistic(size=n) > 0, 1.0, -1.0)


def _text_like(n: int, p: int, per_row: int = 60) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    columns = np.minimum((p * rng.random((n, per_row)) ** 2).astype(int), p - 1).ravel()
    values = np.abs(rng.standard_normal(n * per_row)) / np.sqrt(per_row)
    X = sparse.csr_matrix((values, (np.repeat(np.arange(n), per_row), columns)), shape=(n, p))
    coef = 3 * rng.standard_normal(p) * (rng.random(p) < 0.1)
    return X, np.where(X @ coef + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)


def _objective(X: Any, y: np.ndarray, result: Any) -> float:
    coef, intercept = result
    return float(np.logaddexp(0, -y * (X @ coef + intercept)).sum() + 0.5 * coef @ coef)


def _fit(X: Any, y: np.ndarray, **parameters: Any) -> tuple[np.ndarray, float]:
    model = MarginClassifier(**parameters).fit(X, y)
    return model.coef_[0], float(model.intercept_[0])


@contest
def tall_ridge(quick: bool) -> Contest:
    """Bound by passes over the data."""
    n, p = (50_000, 20) if quick else (500_000, 50)
    X, y = _logistic_data(n, p)
    return Contest(
        title=f"Ridge logistic, dense {n} x {p}",
        ours=lambda: _fit(X, y),
        peers={
            "scikit-learn lbfgs": peer("sklearn", "logistic", X, y, 1.0, 0.0, solver="lbfgs"),
            "scikit-learn newton-cholesky": peer("sklearn", "logistic", X, y, 1.0, 0.0, solver="newton-cholesky"),
            "glum": peer("glum", "logistic", X, y, 1.0, 0.0),
        },
        objective=lambda result: _objective(X, y, result),
        bar=0.6,
        dream=0.3,
    )


@contest
def sparse_ridge(quick: bool) -> Contest:
    """Bound by products with a sparse matrix."""
    n, p = (2000, 5000) if quick else (20_000, 50_000)
    X, y = _text_like(n, p)
    solvers = {"scikit-learn lbfgs": "lbfgs", "liblinear": "liblinear", "scikit-learn newton-cg": "newton-cg"}
    return Contest(
        title=f"Ridge logistic, sparse {n} x {p}, 60 entries a row",
        ours=lambda: _fit(X, y),
        peers={name: peer("sklearn", "logistic", X, y, 1.0, 0.0, solver=solver) for name, solver in solvers.items()},
        objective=lambda result: _objective(X, y, result),
        bar=1.0,
        dream=0.5,
    )


def _kernel(quick: bool, C: float) -> Contest:
    n = 500 if quick else 2000
    X, y = _logistic_data(n, 20)
    y = np.where(np.square(X[:, :3]).sum(axis=1) + 0.5 * y > 3, 1.0, -1.0)
    matrix = np.asfortranarray(X @ X.T + n * np.eye(n))
    return Contest(
        title=f"Kernel logistic (rbf), n = {n}, C = {C:g}",
        ours=lambda: MarginClassifier(kernel="rbf", C=C).fit(X, y),
        peers={"one Cholesky factorisation": lambda: linalg.lapack.dpotrf(matrix, lower=1, clean=0)},
        bar=6.0,
        dream=4.0,
    )


@contest
def kernel_ridge(quick: bool) -> Contest:
    """The default C."""
    return _kernel(quick, 1.0)


@contest
def kernel_ridge_weak(quick: bool) -> Contest:
    """A weak penalty: more steps, each with a larger condition number."""
    return _kernel(quick, 100.0)


@contest
def custom_loss(quick: bool) -> Contest:
    """A user's logistic loss, three lines of NumPy, against ours."""
    n, p = (20_000, 20) if quick else (200_000, 50)
    X, y = _logistic_data(n, p)
    own = losses.make_loss(
        lambda u: np.logaddexp(0, -u), lambda u: -expit(-u), lambda u: expit(u) * expit(-u), name="own", convex=True
    )
    return Contest(
        title=f"A loss from make_loss, dense {n} x {p}",
        ours=lambda: _fit(X, y, loss=own),
        peers={"built-in Logistic": lambda: _fit(X, y)},
        objective=lambda result: _objective(X, y, result),
        bar=1.3,
        dream=1.0,
    )

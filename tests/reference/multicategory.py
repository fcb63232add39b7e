"""Slow, obvious solutions of multicategory problems: dense KKT systems, refits, and generic convex solvers."""

import numpy as np
from scipy.optimize import minimize


def composite_targets(codes, k, mix, weight):
    """Targets and weights (n, k) on the h scale."""
    own = codes[:, None] == np.arange(k)
    return np.where(own, 1.0, -1 / (k - 1)), weight[:, None] * np.where(own, mix, 1 - mix)


def composite_least_squares(Z, codes, weight, k, mix, lam, intercept):
    """theta (k, m) of the h-scale problem, by one dense KKT system; with an intercept, column 0 is it."""
    if intercept != "none":
        Z = np.column_stack([np.ones(len(Z)), Z])
    m = Z.shape[1]
    G = np.eye(m)
    if intercept == "free":
        G[0, 0] = 0
    z, w = composite_targets(codes, k, mix, weight)
    A = np.zeros((k * m + m, k * m + m))
    rhs = np.zeros(k * m + m)
    for j in range(k):
        block = slice(j * m, (j + 1) * m)
        A[block, block] = Z.T @ (w[:, [j]] * Z) + lam * G
        A[block, k * m :] = A[k * m :, block] = np.eye(m)
        rhs[block] = Z.T @ (w[:, j] * z[:, j])
    return np.linalg.solve(A, rhs)[: k * m].reshape(k, m)


def simultaneous_minimum(loss, X, codes, weight, k, C, intercept, start=None):
    """The objective value of ``C sum loss(F, codes) + 1/2 |theta|^2`` with sum-to-zero scores, by a generic solver."""
    p = X.shape[1]

    def objective(v):
        theta, b = v[: p * k].reshape(p, k), v[p * k :]
        theta_c, b_c = theta - theta.mean(axis=1, keepdims=True), b - b.mean()
        F = X @ theta_c + (b_c if intercept != "none" else 0)
        penalty = 0.5 * np.sum(theta_c**2) + (0.5 * np.sum(b_c**2) if intercept == "penalized" else 0)
        return C * weight @ loss(F, codes) + penalty

    start = np.zeros(p * k + k) if start is None else start
    best = minimize(objective, start, method="Powell", options={"maxiter": 100000, "xtol": 1e-10, "ftol": 1e-14})
    return best.fun

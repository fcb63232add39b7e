"""The slow obvious way: cyclic coordinate descent with the loss's curvature bound, until nothing moves."""

import numpy as np


def objective(loss, X, y, weights, coef, intercept, l1_ratio, cost=None):
    cost = np.full(X.shape[1], l1_ratio) if cost is None else cost
    data = np.sum(weights * loss.value(y * (X @ coef + intercept)))
    return data + 0.5 * (1 - l1_ratio) * coef @ coef + cost @ np.abs(coef)


def coordinate_descent(loss, X, y, weights, l1_ratio, *, cost=None, positive=False, sweeps=20_000, tol=1e-11):
    """Minimise ``sum w phi(y f) + (1 - l1_ratio)/2 |b|^2 + sum cost |b|`` with an unpenalised intercept."""
    n, p = X.shape
    cost = np.full(p, l1_ratio) if cost is None else cost
    coef, intercept, f = np.zeros(p), 0.0, np.zeros(n)
    bounds = loss.curvature_bound * (weights @ X**2) + (1 - l1_ratio)
    for _ in range(sweeps):
        step = -np.sum(y * weights * loss.slope(y * f)) / (loss.curvature_bound * weights.sum())
        intercept, f, moved = intercept + step, f + step, abs(step)
        for j in np.flatnonzero(bounds > 0):
            gradient = X[:, j] @ (y * weights * loss.slope(y * f)) + (1 - l1_ratio) * coef[j]
            z = coef[j] - gradient / bounds[j]
            new = np.sign(z) * max(abs(z) - cost[j] / bounds[j], 0.0)
            new = max(new, 0.0) if positive else new
            f += (new - coef[j]) * X[:, j]
            moved = max(moved, abs(new - coef[j]))
            coef[j] = new
        if moved <= tol:
            break
    return coef, intercept


def violations(loss, X, y, weights, coef, intercept, l1_ratio, cost=None, positive=False):
    """How far each coefficient, and the intercept, is from its optimality condition."""
    cost = np.full(X.shape[1], l1_ratio) if cost is None else cost
    g = y * weights * loss.slope(y * (X @ coef + intercept))
    G = X.T @ g + (1 - l1_ratio) * coef
    at_zero = np.maximum((-G if positive else np.abs(G)) - cost, 0)
    return np.append(np.where(coef == 0, at_zero, np.abs(G + cost * np.sign(coef))), abs(g.sum()))

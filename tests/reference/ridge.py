"""The ridge problem the slow obvious way: every term written out, minimised by scipy from zero, and its dual."""

import numpy as np
from scipy.optimize import minimize

__all__ = ["dual_objective", "objective", "solve"]


def objective(loss, K, y, weights, b, intercept, tilt=0.0, offset=0.0, ridge=1.0):
    """The primal objective of ``f = K b + intercept`` with the penalty ``ridge/2 b'K b``."""
    u = y * (K @ b + intercept + offset)
    return float(np.sum(weights * loss.value(u) + tilt * u) + 0.5 * ridge * b @ K @ b)


def solve(loss, X, y, weights, tilt=0.0, offset=0.0, fit_intercept=True):
    """``(coef, intercept)`` of a feature problem by L-BFGS-B with exact gradients, to about 1e-8."""

    def value_and_gradient(theta):
        u = y * (X @ theta[:-1] + theta[-1] + offset)
        g = y * (weights * loss.slope(u) + tilt)
        value = np.sum(weights * loss.value(u) + tilt * u) + 0.5 * theta[:-1] @ theta[:-1]
        return value, np.append(X.T @ g + theta[:-1], g.sum() if fit_intercept else 0.0)

    settings = {"maxiter": 50000, "maxfun": 100000, "ftol": 0.0, "gtol": 1e-11, "maxcor": 50}
    found = minimize(value_and_gradient, np.zeros(X.shape[1] + 1), jac=True, method="L-BFGS-B", options=settings)
    return found.x[:-1], found.x[-1]


def dual_objective(loss, X, y, weights, dual, tilt=0.0, offset=0.0):
    """``-sum w phi*((-y dual - tilt)/w) + offset'dual-terms - |X'dual|^2 / 2`` for a signed dual point of sum zero."""
    slopes = -y * dual
    conjugate = weights * loss.conjugate((slopes - tilt) / weights)
    pull = X.T @ dual
    return float(-np.sum(conjugate) + np.sum(slopes * y * offset) - 0.5 * pull @ pull)

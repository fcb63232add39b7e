"""Makes components.json: sums of splines with costs that select components, as second-order cone problems.

Each spline kernel is made from Bernoulli polynomials and factorised, ``f_j = Z_j w_j`` with ``|f_j| = |w_j|``, and
cvxpy with Clarabel minimises over all ``w_j`` at once: no weights of components, no kernel fits.

python tests/golden/make_components.py > tests/golden/components.json
"""

import json
from itertools import combinations

import numpy as np

BERNOULLI = {1: [1, -1 / 2], 2: [1, -1, 1 / 6], 4: [1, -2, 1, 0, -1 / 30]}


def kernel(x):
    """Of one feature, scaled to a mean diagonal of one over [0, 1]."""
    t = (x - x.min()) / np.ptp(x)
    b1, b2 = np.polyval(BERNOULLI[1], t), np.polyval(BERNOULLI[2], t) / 2
    b4 = np.polyval(BERNOULLI[4], np.abs(t[:, None] - t)) / 24
    return (np.outer(b1, b1) + np.outer(b2, b2) - b4) / (1 / 12 + 1 / 720 + 1 / 720)


def factor(K):
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-6 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def made():
    """The problems with their solutions."""
    import cvxpy as cp

    rng = np.random.default_rng(3)
    n, p = 40, 4
    X = rng.random((n, p))
    y = np.where(np.sin(6 * X[:, 0]) + 2 * X[:, 3] + 0.4 * rng.standard_normal(n) > 1, 1.0, -1.0)
    weight = rng.choice([1.0, 1.0, 2.0], size=n)
    single = [kernel(column) for column in X.T]
    cases = []
    for loss, C, interactions in [("logistic", 1.0, False), ("logistic", 0.4, True), ("squared_hinge", 0.6, True)]:
        kernels = single + ([single[a] * single[b] for a, b in combinations(range(p), 2)] if interactions else [])
        Z = [factor(K) for K in kernels]
        w, b = [cp.Variable(one.shape[1]) for one in Z], cp.Variable()
        u = cp.multiply(y, sum(one @ coef for one, coef in zip(Z, w, strict=True)) + b)
        cost = cp.logistic(-u) if loss == "logistic" else cp.square(cp.pos(1 - u))
        objective = C * (weight @ cost) + sum(cp.norm(coef, 2) for coef in w)
        problem = cp.Problem(cp.Minimize(objective))
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        scores = sum(one @ coef.value for one, coef in zip(Z, w, strict=True)) + b.value
        settings = {"loss": loss, "C": C, "interactions": interactions}
        norms = [float(np.linalg.norm(coef.value)) for coef in w]
        cases.append(settings | {"objective": problem.value, "norms": norms, "scores": scores.tolist()})
    rows = {"X": X.tolist(), "y": y.tolist(), "weight": weight.tolist()}
    return {"made_by": "tests/golden/make_components.py", **rows, "cases": cases}


if __name__ == "__main__":
    print(json.dumps(made()))

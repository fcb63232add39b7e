"""Makes selection.json: composite least squares with costs that select, by an interior point (cvxpy with Clarabel).

python tests/golden/make_selection.py > tests/golden/selection.json
"""

import json

import numpy as np


def made():
    """The problems with their solutions."""
    import cvxpy as cp

    rng = np.random.default_rng(7)
    n, p, k = 40, 5, 3
    codes = np.arange(n) % k
    X = rng.standard_normal((n, p)) + 1.2 * np.eye(k, p)[codes]
    cases = []
    for mix, l1_ratio, group in [(0.7, 1.0, True), (0.7, 0.5, False), (0.2, 1.0, False), (0.5, 0.6, True)]:
        C = 0.05
        theta, b = cp.Variable((p, k)), cp.Variable((1, k))
        own = np.eye(k)[codes]
        target, weight = np.where(own == 1, k - 1.0, -1.0), np.where(own == 1, mix, 1 - mix)
        cost = cp.sum(cp.multiply(weight, cp.square(X @ theta + np.ones((n, 1)) @ b - target)))
        sparse = cp.sum(cp.norm(theta, 2, axis=1)) if group else cp.sum(cp.abs(theta))
        penalty = (1 - l1_ratio) / 2 * cp.sum_squares(theta) + l1_ratio * sparse
        problem = cp.Problem(cp.Minimize(C * cost + penalty), [cp.sum(theta, axis=1) == 0, cp.sum(b) == 0])
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        settings = {"mix": mix, "l1_ratio": l1_ratio, "group": group, "C": C}
        cases.append(settings | {"objective": problem.value, "coef": theta.value.T.tolist(), "b": b.value[0].tolist()})
    return {"made_by": "tests/golden/make_selection.py", "X": X.tolist(), "codes": codes.tolist(), "cases": cases}


if __name__ == "__main__":
    print(json.dumps(made()))

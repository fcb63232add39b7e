"""Elastic-net optima from an independent route: feature and kernel columns, several temperatures, two losses."""

import json
from pathlib import Path

import numpy as np
import pytest

from softmargin import losses
from softmargin.expansions import Kernel, expand
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "coherence.json").read_text())
CASES = [
    pytest.param(
        part, case, id=f"{part}-{case.get('loss', case['scale'])}-{case['rho']}-{case['gamma']}-{case['omega']}"
    )
    for part in ("feature", "feature_nasty", "kernel")
    if part in GOLDEN
    for case in GOLDEN[part]["solutions"]
    if case["omega"] > 0
]


@pytest.mark.parametrize(("part", "case"), CASES)
def test_golden_optimum_is_reached_and_certified(part, case):
    data = GOLDEN[part]["data"]
    X, y = np.array(data["X"], float), np.array(data["y"], float)
    n = len(y)
    if case.get("loss") == "hhsvm":
        loss = losses.HuberizedHinge(delta=case["rho"])
    else:
        loss = losses.Coherence(temperature=case["rho"], cost=case.get("u", 1.0), scale=case["scale"])
    kernel = Kernel("rbf", 1 / GOLDEN["kernel"]["sigma2"]) if part == "kernel" else None
    weights = np.full(n, 1 / (n * case["gamma"]))
    problem = Problem(loss, expand(X, kernel), y, weights, ElasticNet(case["omega"]))
    solution = solve(problem, tol=1e-12, max_iter=1000)
    assert solution.converged
    assert solution.gap <= 1e-12
    np.testing.assert_allclose(problem.margins(solution.coef, solution.intercept) * y, case["decision"], atol=2e-6)
    np.testing.assert_allclose(solution.coef, case["coef"], atol=1e-5)
    np.testing.assert_allclose(solution.objective * case["gamma"], case["objective"], rtol=1e-9)
    assert np.all(solution.coef[np.abs(case["coef"]) > 1e-4] != 0)
    assert np.count_nonzero(np.abs(solution.coef) > 1e-4) <= case["n_nonzero"]

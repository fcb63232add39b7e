"""Exact paths against values from an independent route (Clarabel and 40-digit active sets)."""

from __future__ import annotations

import json
import math
from pathlib import Path as File

import numpy as np
import pytest

from softmargin import paths

GOLDEN = File(__file__).parent.parent / "golden"
BRACKETING = json.loads((GOLDEN / "bracketing.json").read_text())
BALANCING = json.loads((GOLDEN / "balancing_svm.json").read_text())
WEIGHTED = {case["name"]: case for case in [*BRACKETING["weighted_svm"], BRACKETING["beta0_interval"]]}


def weighted_path(case):
    X, y = np.asarray(case["X"]), np.asarray(case["y"])
    kernel = {"kernel": "linear"} if case["kernel"] == "linear" else {"kernel": "rbf", "gamma": 1 / case["sigma"] ** 2}
    return paths.weight_path(X, y, C=1 / (2 * len(y) * case["lam"]), **kernel)


def balance_path(case, C):
    kernel = {"kernel": "linear"} if case["kernel"] == "linear" else {"kernel": "rbf", "gamma": case["gamma"]}
    return paths.balance_path(np.asarray(case["X"]), np.asarray(case["y"]), C=C, **kernel)


@pytest.mark.parametrize("name", list(WEIGHTED))
def test_weight_path_gives_the_golden_scores_at_every_weight(name):
    case = WEIGHTED[name]
    path = weighted_path(case)
    for want in case["solutions"]:
        got = path.decision_function(case["X_test"], want["pi"])
        np.testing.assert_allclose(got, want["f_test"], rtol=0, atol=1e-8, err_msg=f"pi={want['pi']}")
        assert path.at(want["pi"]).gap < 1e-10


@pytest.mark.parametrize("case", BRACKETING["breakpoints"], ids=lambda case: case["case"])
def test_weight_path_has_exactly_the_golden_breakpoints(case):
    low, high = case["range"]
    knots = weighted_path(WEIGHTED[case["case"]]).breakpoints
    knots = knots[(knots > low) & (knots < high)]
    np.testing.assert_allclose(knots, case["breakpoints"], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["vpath_rbf", "vpath_linear"])
def test_balance_path_has_exactly_the_golden_breakpoints_and_set_changes(name):
    case = BALANCING[name]
    path = balance_path(case, case["C"])
    np.testing.assert_allclose(path.breakpoints[1:], case["breakpoints"], rtol=0, atol=1e-9)
    moves = [(int(e["index"]), f"{e['before']}->{e['after']}") for e in path.events]
    assert sorted(moves) == sorted(map(tuple, case["changes_with_v_increasing"]))  # ties come in any order
    for want in case["at_midpoints"]:
        got = path.at(want["v"])
        np.testing.assert_allclose(got.dual * np.sign(case["y"]), want["alpha"], rtol=0, atol=1e-8)
        assert got.intercept == pytest.approx(want["b"], abs=1e-8)


@pytest.mark.parametrize("name", ["bsvm_linear", "bsvm_rbf", "b_jump", "empty_elbow", "collapse"])
def test_balance_path_gives_the_golden_scores_and_intercept_intervals(name):
    case = BALANCING[name]
    for want in case["solutions"]:
        balance = math.inf if want["v"] in (None, "inf") else want["v"]
        path = balance_path(case, want["C"])
        np.testing.assert_allclose(path.decision_function(case["X_test"], balance), want["f_test"], rtol=0, atol=1e-7)
        interval = path.at(balance).intercept_interval
        if want["b_hi"] - want["b_lo"] > 1e-6:
            assert interval == pytest.approx((want["b_lo"], want["b_hi"]), abs=1e-7)

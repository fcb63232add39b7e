"""Values computed elsewhere in high precision, for every loss that has them."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softmargin import losses
from softmargin.losses import NoLink

NAMES = {
    "welsch": losses.Welsch,
    "cauchy": losses.Cauchy,
    "gm": losses.GemanMcClure,
    "tanh": losses.TanhHinge,
    "barron": losses.GeneralRobust,
}


def redescending(row):
    shape = {"shape": row["p"]} if row["loss"] == "barron" else {}
    return NAMES[row["loss"]](sigma=row["sigma"], **shape)


def test_coherence_values_and_derivatives(golden):
    for rho, u, z, V, dV, d2V, C, dC, d2C, L in golden("coherence")["scalar"]["rows"]:
        wanted = {"V": (V, dV, d2V), "C": (C, dC, d2C)}
        for scale, reference in wanted.items():
            if scale == "C" and u == 0:
                continue
            loss = losses.Coherence(temperature=rho, cost=u, scale=scale)
            seen = [loss.value(z), loss.slope(z), loss.curvature(z)]
            assert_allclose(seen, reference, rtol=1e-11, atol=1e-300)
            assert_allclose([part[0] for part in loss.evaluate(np.array([z]))], reference, rtol=1e-11, atol=1e-290)
        assert_allclose(losses.Coherence(temperature=rho, cost=u, scale="L").value(z), L, rtol=1e-11, atol=1e-300)


def test_coherence_link_keeps_its_digits(golden):
    for rho, u, f, odds, eta, *_ in golden("coherence")["eta"]["rows"]:
        loss = losses.Coherence(temperature=rho, cost=u, scale="V")
        assert_allclose(loss.log_odds(f), odds, rtol=1e-11, atol=1e-300)
        assert_allclose(loss.probability(f), eta, rtol=1e-11, atol=1e-300)


def test_coherence_population_minimiser(golden):
    for rho, u, eta, score, _ in golden("coherence")["f_star"]["rows"]:
        assert_allclose(losses.Coherence(temperature=rho, cost=u, scale="V").score(eta), score, rtol=1e-10, atol=1e-300)


def test_coherence_conjugate(golden):
    table = golden("coherence")["conjugate"]
    for row in table["rows"]:
        case = dict(zip(table["columns"], row, strict=True))
        loss = losses.Coherence(temperature=case["rho"], cost=case["u"], scale="V")
        assert_allclose(loss.conjugate(-case["w"]), case["Vconj_at_minus_w"], rtol=1e-12, atol=1e-14)
        if case["u"] > 0:
            scaled = losses.Coherence(temperature=case["rho"], cost=case["u"], scale="C")
            seen = scaled.conjugate(-scaled.factor * case["w"])
            assert_allclose(seen, case["Cconj_at_minus_s_w"], rtol=1e-12, atol=1e-14)


def test_huberized_hinge(golden):
    for delta, margin, value, slope in golden("coherence")["hhsvm_loss"]["rows"]:
        loss = losses.HuberizedHinge(delta=delta)
        assert_allclose([loss.value(margin), loss.slope(margin)], [value, slope], rtol=1e-13, atol=1e-15)


def test_redescending_losses(golden):
    for row in golden("robust_svc")["losses"]["rows"]:
        loss, margin = redescending(row), np.array(row["margin"])
        assert_allclose(loss.value(margin), row["phi"], rtol=1e-12, atol=1e-300)
        assert_allclose(loss.slope(margin), row["dphi_dmargin"], rtol=1e-12, atol=1e-300)
        assert_allclose(loss.weight(margin), row["omega"], rtol=1e-12, atol=1e-300)
        assert_allclose(loss.curvature(margin) / 2, row["half_d2"], rtol=1e-12, atol=1e-14)
        assert_allclose(loss.evaluate(margin)[2] / 2, row["half_d2"], rtol=1e-12, atol=1e-14)


def test_redescending_links(golden):
    for row in golden("robust_svc")["link"]["rows"]:
        loss = redescending({"p": None, **row})
        assert_allclose(loss.score(np.array(row["eta"])), row["f_star"], rtol=0, atol=1e-10)
        if loss.sigma >= loss.link_threshold:
            assert_allclose(loss.probability(np.array(row["f"])), row["prob"], rtol=0, atol=1e-12)
        else:
            with pytest.raises(NoLink, match="sigma"):
                loss.probability(0.2)


def truncated_relatives(case):
    given = case["input"]
    return {
        "logistic": lambda: losses.Logistic(),
        "truncated_logistic": lambda: losses.TruncatedLogistic(level=given["t"]),
        "truncated_hinge": lambda: losses.TruncatedHinge(at=given["s"]),
        "pregibon": lambda: losses.Pregibon(threshold=given["H"]),
        "copas": lambda: losses.Copas(flip_rate=given["gamma"]),
        "croux": lambda: losses.CrouxHaesbroeck(d=given["d"]),
        "bianco": lambda: losses.BiancoYohai(c=given["c"]),
    }


def test_truncated_logistic_and_its_relatives(golden):
    cases = [case for case in golden("truncated_logistic")["cases"] if case["kind"] == "loss"]
    assert len(cases) >= 11
    for case in cases:
        makers, expected = truncated_relatives(case), case["expected"]
        key = next(key for key in sorted(makers, key=len, reverse=True) if case["name"].startswith(key))
        loss, u = makers[key](), np.array(case["input"]["u"])
        assert_allclose(loss.value(u), expected["value"], rtol=1e-10, atol=1e-12)
        assert_allclose(loss.slope(u), expected["d1"], rtol=1e-10, atol=1e-12)
        if "d2" in expected:
            assert_allclose(loss.curvature(u), expected["d2"], rtol=1e-10, atol=1e-12)
        if "s" in expected:
            assert_allclose(loss.at, expected["s"], rtol=1e-12, atol=1e-12)
        if "sup" in expected:
            assert_allclose(loss.value(-1e8), expected["sup"], rtol=1e-12)


def test_overflow_reaches_the_limits(golden):
    case = next(case for case in golden("truncated_logistic")["cases"] if case["name"] == "edge_overflow")
    u, expected = np.array(case["input"]["u"]), case["expected"]
    assert_allclose(losses.TruncatedLogistic(level=case["input"]["t"]).value(u), expected["truncated_logistic"])
    assert_allclose(losses.Logistic().value(u), expected["logistic"])
    assert_allclose(losses.Copas(flip_rate=0.02).value(u), expected["copas_0_02"], rtol=1e-12)
    for loss in (losses.CrouxHaesbroeck(), losses.BiancoYohai(), losses.Pregibon(), losses.TruncatedHinge()):
        assert np.all(np.isfinite(loss.value(u)))
        assert_allclose(loss.value(1e300), 0, atol=1e-15)


def test_truncated_logistic_population_minimisers(golden):
    case = next(case for case in golden("truncated_logistic")["cases"] if case["kind"] == "population")
    expected = case["expected"]
    found = expected if isinstance(expected, list) else next(v for v in expected.values() if isinstance(v, list))
    for (p, pi, t), wanted in zip(case["input"]["rows"], found, strict=True):
        score = losses.TruncatedLogistic(level=t).score(p, weight=pi)
        assert_allclose(score, float(wanted), rtol=1e-9, atol=1e-9)


def test_truncated_logistic_estimable_region(golden):
    case = next(case for case in golden("truncated_logistic")["cases"] if case["kind"] == "region")
    for t, c in zip(case["input"]["t"], case["expected"]["c"], strict=True):
        assert_allclose(losses.TruncatedLogistic(level=t).estimable, c, rtol=1e-10)
    assert losses.TruncatedLogistic(level=2 * math.log(2)).estimable == 0
    assert_allclose(losses.TruncatedLogistic(level=5000.0).estimable, 4999.0, rtol=1e-12)


def entropy_of(case):
    if case["phi"] == "custom_mix":
        return losses.CustomEntropy(mix, dmix, d2mix)
    return {
        "log": lambda: losses.LogEntropy(),
        "gini": lambda: losses.Gini(),
        "matsushita": lambda: losses.Matsushita(),
        "mu": lambda: losses.Matsushita(mu=case["param"]),
        "power": lambda: losses.PowerEntropy(power=case["param"]),
    }[case["phi"]]()


def mix(p):
    return 0.1 + np.sqrt(p * (1 - p)) / 3 - (p * np.log(p) + (1 - p) * np.log1p(-p)) / 2


def dmix(p):
    return (1 - 2 * p) / (6 * np.sqrt(p * (1 - p))) + (np.log1p(-p) - np.log(p)) / 2


def d2mix(p):
    g = p * (1 - p)
    return -1 / (12 * g * np.sqrt(g)) - 1 / (2 * g)


def test_balanced_convex_losses(golden):
    for case in golden("uls")["calculus"]:
        entropy = entropy_of(case)
        loss = losses.BalancedConvex(entropy)
        assert_allclose([entropy.offset, entropy.height], [case["a"], case["b"]], rtol=1e-12)
        tolerance = {"rtol": 1e-11, "atol": 1e-300} if case["phi"] != "custom_mix" else {"rtol": 1e-8, "atol": 1e-14}
        for row in case["values"]:
            x = row["x"]
            assert_allclose(loss.probability(x), row["p"], **tolerance)
            assert_allclose(loss.probability(-x), row["one_minus_p"], **tolerance)
            assert_allclose([loss.value(x), loss.slope(x)], [row["F"], row["dF"]], **tolerance)
            if row["d2F"] is not None:
                assert_allclose(loss.curvature(x), row["d2F"], **tolerance)
        for row in case["forward_link"]:
            # p itself is rounded, which 1 - p feels when p is near 1.
            assert_allclose(loss.score(row["p"]), row["link"], rtol=1e-10, atol=1e-12)


def test_balanced_hinge(golden):
    for balance, margin, value in golden("balancing_svm")["loss"]["bsvm"]:
        assert_allclose(losses.BalancedHinge(balance=balance).value(margin), value, rtol=1e-13)
    unbounded = losses.BalancedHinge(balance=math.inf)
    assert unbounded.value(1.0) == 0
    assert unbounded.value(1.5) == math.inf


def test_power_margin_minimisers(golden):
    rows = [row for row in golden("balancing_svm")["loss"]["family"] if row["a"] > 1]
    assert rows
    for row in rows:
        loss = losses.PowerMargin(power=row["a"])
        score = loss.score(row["p"])
        assert_allclose(score, row["f_star"], rtol=0, atol=1e-7)
        assert_allclose(loss.probability(score), row["p"], rtol=1e-12)
        risk = row["p"] * loss.value(score) + (1 - row["p"]) * loss.value(-score)
        assert_allclose(risk, row["risk"], rtol=1e-10)

"""Every loss of the library, at several parameters, as one fixture."""

import json
from pathlib import Path

import pytest

from softmargin import losses

GOLDEN = Path(__file__).resolve().parent.parent / "golden"

CONVEX = [
    losses.Logistic(),
    losses.Exponential(),
    losses.Exponential(rate=0.3),
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.LeastSquares(),
    losses.BalancedHinge(balance=0.0),
    losses.BalancedHinge(balance=0.4),
    losses.PowerMargin(power=1.5),
    losses.PowerMargin(power=2.0),
    losses.PowerMargin(power=3.7),
    losses.HuberizedHinge(),
    losses.HuberizedHinge(delta=0.4),
    losses.HuberizedHinge(delta=1.5),
    losses.ModifiedHuber(),
    losses.Coherence(),
    losses.Coherence(temperature=0.05, cost=1.0, scale="V"),
    losses.Coherence(temperature=2.0, cost=0.0, scale="L"),
    losses.BalancedConvex(losses.LogEntropy()),
    losses.BalancedConvex(losses.Gini()),
    losses.BalancedConvex(losses.Matsushita()),
    losses.BalancedConvex(losses.Matsushita(mu=0.6)),
    losses.BalancedConvex(losses.PowerEntropy(power=0.25)),
    losses.BalancedConvex(losses.PowerEntropy(power=0.8)),
    losses.GeneralRobust(shape=0.5, sigma=0.7),
    losses.GeneralRobust(shape=1.0, sigma=0.7),
    losses.Copas(flip_rate=0.0),
]
NONCONVEX = [
    losses.Welsch(sigma=0.6),
    losses.Welsch(sigma=1.5),
    losses.Cauchy(sigma=0.6),
    losses.Cauchy(sigma=1.2),
    losses.GemanMcClure(sigma=0.8),
    losses.GemanMcClure(sigma=2.0),
    losses.TanhHinge(sigma=0.9),
    losses.TanhHinge(sigma=1.39),
    losses.TanhHinge(sigma=1.404),
    losses.GeneralRobust(shape=-2.0, sigma=1.5),
    losses.GeneralRobust(shape=0.3, sigma=0.8),
    losses.GeneralRobust(shape=-float("inf"), sigma=1.5),
    losses.TruncatedHinge(),
    losses.TruncatedHinge(at=0.0),
    losses.TruncatedLogistic(),
    losses.TruncatedLogistic(level=3.0),
    losses.Truncated(losses.SquaredHinge(), at=-0.5),
    losses.Truncated(losses.LeastSquares(), at=-1.0),
    losses.Truncated(losses.Coherence(temperature=0.3), at=-1.0),
    losses.Psi(),
    losses.Pregibon(),
    losses.Pregibon(threshold=0.3),
    losses.BiancoYohai(),
    losses.BiancoYohai(c=2.5),
    losses.CrouxHaesbroeck(),
    losses.CrouxHaesbroeck(d=1.3),
    losses.Copas(),
    losses.Copas(flip_rate=0.3),
]


def _answers(method):
    """The losses that have the method, of all in the catalogue."""
    found = []
    for loss in CONVEX + NONCONVEX:
        try:
            getattr(loss, method)(0.3)
        except (losses.NoLink, NotImplementedError):
            continue
        found.append(loss)
    return found


@pytest.fixture(params=_answers("probability"), ids=repr, scope="session")
def linked(request):
    return request.param


@pytest.fixture(params=_answers("score"), ids=repr, scope="session")
def scored(request):
    return request.param


@pytest.fixture(params=_answers("conjugate"), ids=repr, scope="session")
def conjugated(request):
    return request.param


@pytest.fixture(params=CONVEX + NONCONVEX, ids=repr, scope="session")
def loss(request):
    return request.param


@pytest.fixture(params=NONCONVEX, ids=repr, scope="session")
def nonconvex(request):
    return request.param


@pytest.fixture(scope="session")
def golden():
    return lambda topic: json.loads((GOLDEN / f"{topic}.json").read_text())

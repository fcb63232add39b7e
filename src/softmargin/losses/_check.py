"""Does a loss keep its promises? A report for built-in losses and for the user's own.

Each check compares what the loss says of itself with brute force on a grid: slopes with differences of values,
curvatures with differences of slopes, the ``convex`` flag with the slopes' order, ``floor`` with the least value, the
majoriser with the loss, the population minimiser and the sign of the decision with a search over scores, and
``probability(score(p))`` with ``p``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from softmargin.losses._base import Array, Loss, NoLink
from softmargin.losses._corners import find_corners, find_jump
from softmargin.losses._excess_risk import excess_risk_bound
from softmargin.losses._soundness import below_floor, falls

__all__ = ["Check", "LossReport", "check_loss"]

_MARGINS = np.linspace(-12.013, 12.007, 4805)
_RATES = np.array([0.02, 0.1, 0.25, 0.4, 0.49, 0.51, 0.6, 0.75, 0.9, 0.98])


@dataclass(frozen=True)
class Check:
    """One promise: its name, whether it holds (None when it does not apply) and what was seen."""

    name: str
    passed: bool | None
    detail: str


@dataclass(frozen=True)
class LossReport:
    """The result of ``check_loss``: prints as a table, and is true when no check failed."""

    loss: Loss
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """True when no check failed."""
        return all(check.passed is not False for check in self.checks)

    def __bool__(self) -> bool:
        return self.ok

    def __getitem__(self, name: str) -> Check:
        return next(check for check in self.checks if check.name == name)

    def __str__(self) -> str:
        marks = {True: "ok  ", False: "FAIL", None: "-   "}
        lines = [f"  {marks[check.passed]} {check.name:<18} {check.detail}" for check in self.checks]
        return "\n".join([repr(self.loss), *lines])

    __repr__ = __str__


def check_loss(loss: Loss) -> LossReport:
    """Check a loss against brute force.

    Parameters
    ----------
    loss : Loss
        Any loss, built in or made by ``make_loss``.

    Returns
    -------
    LossReport
        Derivatives, convexity, jumps, corners, infimum, monotonicity, majoriser, Fisher consistency, link,
        excess-risk bound, safety.

    Examples
    --------
    >>> from softmargin import losses
    >>> report = losses.check_loss(losses.Hinge())
    >>> report.ok, report["link"].passed
    (True, None)
    """
    if not isinstance(loss, Loss):
        raise ValueError(f"loss must be a Loss; got {loss!r}. Make one from functions with make_loss.")
    steps: dict[str, Callable[[Loss], tuple[bool | None, str]]] = {
        "slope": _slope,
        "curvature": _curvature,
        "convexity": _convexity,
        "continuity": _continuity,
        "corners": _corners,
        "floor": _floor,
        "monotonicity": _monotonicity,
        "majoriser": _majoriser,
        "Fisher consistency": _fisher,
        "link": _link,
        "excess risk": _excess_risk,
        "safety": _safety,
    }
    return LossReport(loss, tuple(Check(name, *step(loss)) for name, step in steps.items()))


def _derivative_error(function: Callable[[Array], Array], claimed: Array) -> tuple[float, float]:
    """The largest error of ``claimed`` where ``function`` has one derivative, and where that was."""
    h = 1e-5
    here = function(_MARGINS)
    ahead, behind = (function(_MARGINS + h) - here) / h, (here - function(_MARGINS - h)) / h
    smooth = np.abs(ahead - behind) <= 1e-3 * (1 + np.abs(ahead))
    error = np.where(smooth, np.abs(claimed - (ahead + behind) / 2) / (1 + np.abs(claimed)), 0)
    error = np.where(np.isfinite(error), error, 0)
    worst = int(np.argmax(error))
    return float(error[worst]), float(_MARGINS[worst])


def _slope(loss: Loss) -> tuple[bool, str]:
    error, where = _derivative_error(loss.value, loss.slope(_MARGINS))
    return error < 1e-4, f"relative error {error:.1e} at u = {where:.4g}"


def _curvature(loss: Loss) -> tuple[bool, str]:
    error, where = _derivative_error(loss.slope, loss.curvature(_MARGINS))
    return error < 1e-4, f"relative error {error:.1e} at u = {where:.4g}"


def _convexity(loss: Loss) -> tuple[bool, str]:
    slopes = loss.slope(_MARGINS)
    seen = not len(falls(_MARGINS, loss.value(_MARGINS), slopes, 1e-7))
    return (
        seen == loss.convex,
        f"flagged {'convex' if loss.convex else 'nonconvex'}, seen {'' if seen else 'non'}convex",
    )


def _corners(loss: Loss) -> tuple[bool, str]:
    found = [corner.at for corner in find_corners(loss.value)]
    where = ", ".join(f"{at:.4g}" for at in found)
    if not found:
        return True, f"flagged {'smooth' if loss.smooth else 'not smooth'}, none seen on [-10, 10]"
    return not loss.smooth, f"flagged {'smooth' if loss.smooth else 'not smooth'}, seen at u = {where}"


def _continuity(loss: Loss) -> tuple[bool, str]:
    jump = find_jump(loss.value)
    if jump is None:
        return True, "no jump seen on [-10, 10]"
    return False, f"jumps by {jump[1]:.4g} at u = {jump[0]:.4g}"


def _floor(loss: Loss) -> tuple[bool, str]:
    problem = below_floor(loss)
    return problem is None, f"no value below {loss.floor:.6g}" if problem is None else problem.split(". ")[0]


def _monotonicity(loss: Loss) -> tuple[bool, str]:
    left = _MARGINS < 0
    slopes = loss.slope(_MARGINS)
    rises = bool(np.any(slopes[~left] > 0))
    return bool(np.all(slopes[left] <= 0)), "falls up to 0, " + ("rises later" if rises else "never rises")


def _majoriser(loss: Loss) -> tuple[bool | None, str]:
    if loss.convex:
        return None, "convex: its own majoriser"
    at = np.array([-8.0, -2.5, -1.0, -0.3, 0.0, 0.4, 1.0, 3.0])
    try:
        bound = loss.majorize(at)
    except NotImplementedError as reason:
        return False, str(reason)
    touch = float(np.max(np.abs(bound.value(at) - loss.value(at))))
    grid = _MARGINS[:, None]
    gap = float(np.min(bound.value(np.broadcast_to(grid, (grid.size, at.size))) - loss.value(grid)))
    return touch < 1e-9 and gap > -1e-9 and bound.loss.convex, f"touches to {touch:.1e}, least excess {gap:.1e}"


def _risk(loss: Loss, p: Array, f: Array) -> Array:
    seen = np.asarray(loss.observed(p))
    return seen * loss.value(f) + (1 - seen) * loss.value(-f)


def _fisher(loss: Loss) -> tuple[bool, str]:
    risk = _risk(loss, _RATES[:, None], _MARGINS[None, :])
    # A flat optimum contains every tie, so the wrong side must be strictly worse than the right one.
    right = np.where(_RATES[:, None] > 0.5, _MARGINS > 0, _MARGINS < 0)
    best = np.min(np.where(right, risk, np.inf), axis=1)
    other = np.min(np.where(right, np.inf, risk), axis=1)
    fails = _RATES[~(best < other)]
    return fails.size == 0, "sign f = sign(2p - 1)" if fails.size == 0 else f"wrong side as good at p = {fails[0]:g}"


def _link(loss: Loss) -> tuple[bool | None, str]:
    try:
        scores = loss.score(_RATES)
        back = loss.probability(scores)
    except NoLink as reason:
        return None, str(reason).split(". ")[0]
    error = float(np.max(np.abs(back - _RATES)))
    inside = np.abs(scores) < 12
    excess = _risk(loss, _RATES, scores) - np.min(_risk(loss, _RATES[:, None], _MARGINS[None, :]), axis=1)
    optimal = bool(np.all(excess[inside] <= 1e-6))
    return (
        error < 1e-8 and optimal,
        f"probability(score(p)) - p is {error:.1e}; score is{'' if optimal else ' not'} optimal",
    )


def _excess_risk(loss: Loss) -> tuple[bool | None, str]:
    bound = excess_risk_bound(loss)
    if not bound.calibrated:
        return None, "a small risk does not make a small error"
    large, small = bound(np.array([0.1, 0.01]))
    return True, f"error <= best + {large:.3g} at risk <= best + 0.1, + {small:.3g} at + 0.01"


def _safety(loss: Loss) -> tuple[bool, str]:
    return next(((False, problem) for problem in _hazards(loss)), (True, "silent, finite or infinite but never nan"))


def _hazards(loss: Loss) -> Iterator[str]:
    extreme = np.array([-1e8, -1e3, -1.0, 0.0, 1.0, 1e3, 1e8])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("value", "slope", "curvature"):
            function = getattr(loss, name)
            try:
                seen = np.asarray(function(extreme))
            except Warning as warning:
                yield f"{name} warns: {warning}"
                continue
            if np.any(np.isnan(seen)):
                yield f"{name} is nan at u = {extreme[np.isnan(seen)][0]:g}"
            if np.asarray(function(extreme.astype(np.float32))).dtype != np.float32:
                yield f"{name} loses float32"
            if np.ndim(function(0.5)) != 0:
                yield f"{name} turns a scalar into an array"

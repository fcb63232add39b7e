"""A user's own loss from plain NumPy callables.

Only the value is needed. Missing derivatives come from the complex step or central differences, and the repr says
which. The link of any differentiable loss follows from its slopes: ``p phi'(f) = (1 - p) phi'(-f)`` gives

    logit p(f) = log(-phi'(-f)) - log(-phi'(f)),

which is a probability whenever it increases in ``f``; a convex loss with ``phi'(0) < 0`` always qualifies.
"""

from __future__ import annotations

import math
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import logit

from softmargin._constraints import BOOLEAN, NONE, TEXT, Constraint, check_each, instance, number
from softmargin.losses._base import Array, Kink, Loss, Majorizer, NoLink, floating, require
from softmargin.losses._corners import find_corners
from softmargin.losses._differentiate import Function, differentiate, label
from softmargin.losses._infimum import infimum
from softmargin.losses._invert import solve_increasing
from softmargin.losses._piecewise import SquaredHinge
from softmargin.losses._soundness import falls, vectorised

__all__ = ["CustomLoss", "make_loss"]

_PROBES = np.linspace(-9.97, 10.03, 401)
_OF_MARGINS = Constraint("a function of the margins", callable)
_ALLOWED = {
    "value": _OF_MARGINS,
    **dict.fromkeys(("slope", "curvature", "weight", "majorize"), NONE | _OF_MARGINS),
    "log_odds": NONE | Constraint("a function of the scores", callable),
    "name": TEXT,
    "base": NONE | instance("a convex Loss", Loss),
    **dict.fromkeys(("convex", "smooth"), NONE | BOOLEAN),
    "curvature_bound": NONE | number("a nonnegative number", lambda value: value >= 0),
    "floor": NONE | number("a finite number", lambda value: abs(value) < math.inf),
}


@dataclass(frozen=True, repr=False)
class CustomLoss(Loss):
    """What ``make_loss`` returns; picklable when its callables are."""

    value_function: Function
    slope_function: Function
    curvature_function: Function
    label: str = "custom"
    convex: bool = True
    smooth: bool = True
    link_function: Function | None = None
    majorizer: Function | None = None
    bound: float = math.inf
    minimum: float = 0.0
    corners: tuple[Kink, ...] = ()
    weight_function: Function | None = None
    base: Loss | None = None
    _monotone: bool = field(default=True, compare=False)

    name = "custom"
    family = "custom"

    def __repr__(self) -> str:
        parts = {"slope": self.slope_function, "curvature": self.curvature_function}
        how = ", ".join(f"{key}={label(part)}" for key, part in parts.items())
        return f"make_loss({label(self.value_function)}, {how}, convex={self.convex}, name={self.label!r})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Plain pickle stores functions by name; those without one are refused with the remedy."""
        parts = [self.value_function, self.slope_function, self.curvature_function]
        parts += [part for part in (self.link_function, self.majorizer, self.weight_function) if part is not None]
        nameless = [name for name in (getattr(part, "__qualname__", "") for part in parts) if "<" in name]
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if nameless and "cloudpickle" not in caller and caller != "copy":
            raise pickle.PicklingError(
                f"{self!r} holds {nameless[0]!r}, which pickle cannot store: it stores functions by name. "
                "Define the functions of make_loss with def at the top level of a module (or use cloudpickle)."
            )
        return super().__reduce_ex__(protocol)

    @property
    def kink(self) -> Kink | None:
        straight = self.convex and not self.smooth and len(self.corners) == 1 and self.bound == 0
        return self.corners[0] if straight else None

    @property
    def kinks(self) -> tuple[Kink, ...]:
        return self.corners

    @property
    def curvature_bound(self) -> float:
        return self.bound

    @property
    def floor(self) -> float:
        return self.minimum

    def majorize(self, u: Any) -> Any:
        """The user's own bound, or the base loss with the user's weights; a convex loss is its own."""
        if self.majorizer is not None:
            return self.majorizer(u)
        if self.weight_function is not None and self.base is not None:
            u = floating(u)
            weights = np.asarray(self.weight_function(u), dtype=u.dtype)
            constant = np.asarray(self.value(u) - weights * self.base.value(u))
            return Majorizer(self.base, weights, np.zeros_like(u), constant)
        if not self.convex:
            raise NotImplementedError(
                f"{self!r} is not convex and was made without weight= or majorize=; give its half-quadratic weights, "
                "or a function of the margins that returns a Majorizer touching the loss there and lying above it."
            )
        return super().majorize(u)

    def _trust(self, u: Array) -> Array:
        if self.weight_function is None:
            return super()._trust(u)
        return np.clip(self.weight_function(u), 0, 1)

    def _value(self, u: Array) -> Array:
        return _of(self.value_function, u)

    def _slope(self, u: Array) -> Array:
        return _of(self.slope_function, u)

    def _curvature(self, u: Array) -> Array:
        return _of(self.curvature_function, u)

    def _log_odds(self, f: Array) -> Array:
        if self.link_function is not None:
            return np.asarray(self.link_function(f))
        if not self._monotone:
            raise NoLink(
                f"{self!r}: the ratio of slopes at f and -f does not increase with f, so scores do not determine "
                "probabilities. Calibrate them with ScoreCalibrator."
            )
        return _slope_ratio(self.slope_function, f)

    def _score(self, p: Array) -> Array:
        self._log_odds(np.zeros(1))
        target = np.abs(logit(p))
        size = solve_increasing(self._log_odds, target, 0.0, 1e4)
        return np.where(p == 0.5, 0, np.sign(p - 0.5) * size)


def make_loss(
    value: Callable[[Array], Array],
    slope: Callable[[Array], Array] | None = None,
    curvature: Callable[[Array], Array] | None = None,
    *,
    name: str = "custom",
    convex: bool | None = None,
    smooth: bool | None = None,
    log_odds: Callable[[Array], Array] | None = None,
    weight: Callable[[Array], Array] | None = None,
    base: Loss | None = None,
    majorize: Callable[[Array], Any] | None = None,
    curvature_bound: float | None = None,
    floor: float | None = None,
) -> CustomLoss:
    """Make a loss from vectorised functions of the margin.

    Parameters
    ----------
    value : callable
        ``phi(u)`` of a float array.
    slope, curvature : callable, optional
        ``phi'`` and ``phi''``; numerical when missing (complex step if ``value`` is analytic, else differences).
    name : str, default="custom"
        What to call it.
    convex : bool, optional
        Measured on a grid of margins in [-10, 10] when missing.
    smooth : bool, optional
        Whether the slope is continuous; corners on [-10, 10] are looked for when missing. Two straight lines with one
        corner are solved as the hinge is; a convex loss with other corners is refused when it is used.
    log_odds : callable, optional
        ``logit p(f)``; derived from the slopes when missing.
    weight : callable, optional
        For a nonconvex loss that is a concave function ``g`` of a convex one, ``phi = g(base(u))``: the weight
        ``g'(base(u))`` of a point at margin ``u``, nonnegative and rising in ``u``. It gives the slope
        ``weight * base'`` and the majoriser, so that the loss is fitted by reweighting ``base``.
    base : Loss, default=SquaredHinge()
        The convex loss that ``weight`` refers to.
    majorize : callable, optional
        For any other nonconvex loss, margins to ``Majorizer``.
    curvature_bound : float, optional
        An upper bound of the curvature if known.
    floor : float, optional
        The infimum of the loss; measured when missing.

    Returns
    -------
    CustomLoss

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.losses import make_loss
    >>> loss = make_loss(lambda u: np.log1p(np.exp(-u)), name="mine")
    >>> loss
    make_loss(<lambda>, slope=complex step, curvature=central differences, convex=True, name='mine')
    >>> round(float(loss.probability(1.0)), 6)
    0.731059
    >>> def far(u):
    ...     return np.exp(-np.square(np.maximum(1 - u, 0)))
    >>> welsch = make_loss(lambda u: 1 - far(u), weight=far)  # Welsch(sigma=1): value and weight, nothing to derive
    >>> welsch.convex, float(welsch.majorize(np.array([-1.0])).weights[0].round(4))
    (False, 0.0183)
    """
    check_each(_ALLOWED, **{argument: given for argument, given in locals().items() if argument in _ALLOWED})
    seen = vectorised(value, _PROBES, "value")
    require(bool(np.all(np.isfinite(seen))), "value", "nan or inf", "finite on margins in [-10, 10]")
    least = infimum(value)
    if floor is not None:
        allowed = f"no larger than any value of the loss, which goes down to {least:.6g}"
        require(floor <= least + 1e-6 * max(1.0, abs(least)), "floor", floor, allowed)
    if log_odds is not None:
        odds = vectorised(log_odds, _PROBES, "log_odds")
        require(not bool(np.any(np.isnan(odds))), "log_odds", "nan", "a number at every score in [-10, 10]")
    if majorize is not None:
        made = _attempted(majorize)
        require(isinstance(made, Majorizer), "majorize", made, "a function from margins to a Majorizer")
    corners = find_corners(value)
    smooth = not corners if smooth is None else smooth
    lines = _two_lines(seen, corners)
    if weight is not None:
        base = _checked_base(weight, base)
        slope = slope or WeightedSlope(weight, base)
    slope_function = slope or (_LineSlopes(lines) if lines else differentiate(value, _PROBES))
    slopes = vectorised(slope_function, _PROBES, "slope")
    curvature_function = curvature or (_Flat() if lines else differentiate(slope_function, _PROBES))
    if curvature_bound is None:
        curvature_bound = 0.0 if lines else math.inf
    vectorised(curvature_function, _PROBES, "curvature")
    if convex is None:
        convex = not len(falls(_PROBES, seen, slopes, 1e-7))
    with np.errstate(all="ignore"):
        ratio = _slope_ratio(slope_function, np.linspace(0.01, 9.9, 200))
        informative = bool(np.any(np.diff(ratio) > 0)) and not bool(np.any(np.diff(ratio) < -1e-9))
    return CustomLoss(
        value_function=value,
        slope_function=slope_function,
        curvature_function=curvature_function,
        label=name,
        convex=bool(convex),
        smooth=bool(smooth),
        link_function=log_odds,
        majorizer=majorize,
        bound=float(curvature_bound),
        minimum=least if floor is None else float(floor),
        corners=corners,
        weight_function=weight,
        base=base,
        _monotone=informative and smooth,
    )


@dataclass(frozen=True)
class WeightedSlope:
    """``w(u) base'(u)``."""

    weight: Function
    base: Loss

    def __call__(self, u: Array) -> Array:
        return np.asarray(self.weight(u)) * self.base.slope(u)

    def __repr__(self) -> str:
        return f"{label(self.weight)} times that of {self.base!r}"


def _of(function: Function, u: Array) -> Array:
    """``function`` of margins of any shape: a user's function may loop over them, so it is given one row of numbers."""
    return np.asarray(function(u.ravel())).reshape(u.shape)


def _attempted(majorize: Function) -> Any:
    """What ``majorize`` makes of margins, or an error that says what it is to make of them."""
    try:
        with np.errstate(all="ignore"):
            return majorize(_PROBES.copy())
    except Exception as error:
        raise ValueError(
            f"majorize must be a function from an array of margins to a Majorizer; it raises {type(error).__name__}: "
            f"{error}."
        ) from error


def _checked_base(weight: Function, base: Loss | None) -> Loss:
    """The base loss of a weight that makes a majoriser: nonnegative and rising with the margin where the base falls."""
    base = SquaredHinge() if base is None else base
    require(isinstance(base, Loss) and base.convex, "base", base, "a convex Loss")
    weights = vectorised(weight, _PROBES, "weight")
    require(bool(np.all(np.isfinite(weights) & (weights >= 0))), "weight", float(np.min(weights)), "nonnegative")
    falling = weights[base.slope(_PROBES) < 0]
    drop = np.flatnonzero(np.diff(falling) < -1e-9 * max(1.0, float(np.max(weights))))
    allowed = "rising with the margin (a concave function of the base loss), or the reweighted fit is no bound"
    where = f"a fall after margin {_PROBES[drop[0]]:.3g}" if len(drop) else ""
    require(len(drop) == 0, "weight", where, allowed)
    return base


@dataclass(frozen=True)
class _LineSlopes:
    """The slope of two straight lines that meet in a corner."""

    corner: Kink

    def __call__(self, u: Array) -> Array:
        return np.where(u < self.corner.at, self.corner.left_slope, self.corner.right_slope)

    def __repr__(self) -> str:
        return "two straight lines"


class _Flat:
    """The curvature of straight lines."""

    def __call__(self, u: Array) -> Array:
        return np.zeros_like(u)

    def __repr__(self) -> str:
        return "zero"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Flat)

    def __hash__(self) -> int:
        return hash(_Flat)


def _two_lines(seen: Array, corners: tuple[Kink, ...]) -> Kink | None:
    """The corner of a convex loss with no other bend."""
    if len(corners) != 1 or corners[0].jump <= 0:
        return None
    corner = corners[0]
    away = _PROBES - corner.at
    rest = seen - np.where(away < 0, corner.left_slope, corner.right_slope) * away
    return corner if float(np.ptp(rest)) <= 1e-7 * max(1.0, float(np.max(np.abs(seen)))) else None


def _slope_ratio(slope: Function, f: Array) -> Array:
    """``log(-phi'(-f)) - log(-phi'(f))``, infinite once the loss of the likelier class has stopped falling."""
    falling, rising = -np.asarray(slope(-f)), -np.asarray(slope(f))
    return np.log(np.maximum(falling, 0)) - np.log(np.maximum(rising, 0))

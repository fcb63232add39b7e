"""A user's own loss from plain NumPy callables.

Only the value is needed. Missing derivatives come from the complex step or central differences, and the repr says
which. The link of any differentiable loss follows from its slopes: ``p phi'(f) = (1 - p) phi'(-f)`` gives

    logit p(f) = log(-phi'(-f)) - log(-phi'(f)),

which is a probability whenever it increases in ``f``; a convex loss with ``phi'(0) < 0`` always qualifies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import logit

from softmargin.losses._base import Array, Loss, NoLink, require
from softmargin.losses._differentiate import Function, differentiate, label
from softmargin.losses._invert import solve_increasing

__all__ = ["CustomLoss", "make_loss"]

_PROBES = np.linspace(-9.97, 10.03, 401)


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
    _monotone: bool = field(default=True, compare=False)

    name = "custom"
    family = "custom"

    def __repr__(self) -> str:
        parts = {"slope": self.slope_function, "curvature": self.curvature_function}
        how = ", ".join(f"{key}={label(part)}" for key, part in parts.items())
        return f"make_loss({label(self.value_function)}, {how}, convex={self.convex}, name={self.label!r})"

    @property
    def curvature_bound(self) -> float:
        return self.bound

    @property
    def floor(self) -> float:
        return self.minimum

    def majorize(self, u: Any) -> Any:
        """The user's own bound; a convex loss is its own."""
        if self.majorizer is not None:
            return self.majorizer(u)
        if not self.convex:
            raise NotImplementedError(
                f"{self!r} is not convex and was made without majorize=; give a function of the margins that returns "
                "a Majorizer touching the loss there and lying above it everywhere."
            )
        return super().majorize(u)

    def _value(self, u: Array) -> Array:
        return np.asarray(self.value_function(u))

    def _slope(self, u: Array) -> Array:
        return np.asarray(self.slope_function(u))

    def _curvature(self, u: Array) -> Array:
        return np.asarray(self.curvature_function(u))

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
    smooth: bool = True,
    log_odds: Callable[[Array], Array] | None = None,
    majorize: Callable[[Array], Any] | None = None,
    curvature_bound: float = math.inf,
    floor: float = 0.0,
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
    smooth : bool, default=True
        Whether the slope is continuous.
    log_odds : callable, optional
        ``logit p(f)``; derived from the slopes when missing.
    majorize : callable, optional
        For a nonconvex loss, margins to ``Majorizer``.
    curvature_bound : float, default=inf
        An upper bound of the curvature if known.
    floor : float, default=0.0
        The infimum of the loss.

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
    """
    require(callable(value), "value", value, "a function of the margins")
    seen = np.asarray(value(_PROBES))
    require(seen.shape == _PROBES.shape, "value", seen.shape, f"vectorised: shape {_PROBES.shape} in, the same out")
    require(bool(np.all(np.isfinite(seen))), "value", "nan or inf", "finite on margins in [-10, 10]")
    slope_function = slope or differentiate(value, _PROBES)
    curvature_function = curvature or differentiate(slope_function, _PROBES)
    slopes = np.asarray(slope_function(_PROBES))
    steps = np.diff(slopes)
    if convex is None:
        convex = bool(np.all(steps >= -1e-7 * max(1.0, float(np.max(np.abs(slopes))))))
    with np.errstate(all="ignore"):
        odds = _slope_ratio(slope_function, np.linspace(0.01, 9.9, 200))
        informative = bool(np.any(np.diff(odds) > 0)) and not bool(np.any(np.diff(odds) < -1e-9))
    return CustomLoss(
        value_function=value,
        slope_function=slope_function,
        curvature_function=curvature_function,
        label=name,
        convex=convex,
        smooth=smooth,
        link_function=log_odds,
        majorizer=majorize,
        bound=curvature_bound,
        minimum=floor,
        _monotone=informative and smooth,
    )


def _slope_ratio(slope: Function, f: Array) -> Array:
    """``log(-phi'(-f)) - log(-phi'(f))``, infinite once the loss of the likelier class has stopped falling."""
    falling, rising = -np.asarray(slope(-f)), -np.asarray(slope(f))
    return np.log(np.maximum(falling, 0)) - np.log(np.maximum(rising, 0))

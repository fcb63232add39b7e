"""Losses that differ from row to row: one per class (labels of one class are wrong more often), or one cap per row.

A margin loss never sees a label. Where the cost of a margin depends on whose margin it is, the loss is bound to rows
first: ``of_classes(codes)`` and ``of_rows(rows)`` give the loss of some rows in their order, elementwise like any
other. All of them must be bounded by one convex loss, so that a bound of the whole is a weighted, tilted fit as ever.

*By class.* Noise that depends on the class (labels ``+1`` wrong with probability ``a``, ``-1`` with ``b``) moves the
boundary of every loss that treats both alike. A loss for each class, ``phi_y(y f)``, believes one of them less. With
known rates it is a likelihood, ``ByClass((Copas(g, h), Copas(h, g)))``: members of the second class carry the label of
the first with probability ``g``, those of the first the label of the second with ``h``; scores are then log odds of the
true classes.

*By row.* Pregibon (1982) tapers the deviance ``d`` of a row by ``h rho(d / h)`` with a factor ``h(x)`` that is small
where ``x`` has leverage. For the cap ``rho(v) = min(v, t)`` that is ``min(d, h t)``: a cap of its own for each row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softmargin._constraints import real_numbers, several
from softmargin.losses._base import Array, Kink, Loss, Majorizer, NoLink, floating, require
from softmargin.losses._convex import Logistic
from softmargin.losses._likelihood import Copas

__all__ = ["ByClass", "CappedByRow"]

Codes = NDArray[np.integer[Any]]

_LOSSES = several("a tuple of one loss per class", lambda one: isinstance(one, Loss))


def _class_codes(codes: Any, n_classes: int) -> Codes:
    found = np.asarray(codes)
    numbered = found.ndim == 1 and found.dtype.kind in "iu"
    if not numbered or (found.size and not 0 <= found.min() <= found.max() < n_classes):
        raise ValueError(f"codes must be a class number from 0 to {n_classes - 1} for each row; got {codes!r}.")
    return found


@dataclass(frozen=True, eq=False)
class ByClass(Loss):
    """``losses[c]`` for the rows of class code ``c``; scalars and arrays need rows bound by ``of_classes`` first.

    Parameters
    ----------
    losses : tuple of Loss
        One loss per class, in the order of the classes, of one family: all bounded by the same convex loss.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.losses import ByClass, Welsch
    >>> loss = ByClass((Welsch(sigma=1.0), Welsch(sigma=np.inf))).of_classes(np.array([0, 1]))
    >>> loss.value(np.array([-9.0, -9.0])).round(3)
    array([  1., 100.])
    """

    losses: tuple[Loss, ...]
    codes: Codes | None = None

    name = "by_class"
    family = "robust"

    def __post_init__(self) -> None:
        _LOSSES.check("losses", self.losses)
        object.__setattr__(self, "losses", tuple(self.losses))
        if self.codes is not None:
            object.__setattr__(self, "codes", _class_codes(self.codes, len(self.losses)))
        bounds = {type(loss.majorize(np.zeros(1)).loss) for loss in self.losses}
        require(len(bounds) == 1, "losses", self.losses, "of one family, bounded by one convex loss")

    @property
    def convex(self) -> bool:  # type: ignore[override]
        return all(loss.convex for loss in self.losses)

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        return all(loss.smooth for loss in self.losses)

    @property
    def parts(self) -> tuple[Loss, ...]:
        return self.losses

    @property
    def kinks(self) -> tuple[Kink, ...]:
        return tuple(dict.fromkeys(kink for loss in self.losses for kink in loss.kinks))

    @property
    def curvature_bound(self) -> float:
        return max(float(loss.curvature_bound) for loss in self.losses)

    def of_classes(self, codes: Codes) -> ByClass:
        return replace(self, codes=codes)

    def of_rows(self, rows: Any) -> ByClass:
        return self if self.codes is None else replace(self, codes=self.codes[rows])

    def value(self, u: ArrayLike) -> Any:
        return self._each("value", u)

    def slope(self, u: ArrayLike) -> Any:
        return self._each("slope", u)

    def curvature(self, u: ArrayLike) -> Any:
        return self._each("curvature", u)

    def trust(self, u: ArrayLike) -> Any:
        return self._each("trust", u)

    def evaluate(self, u: ArrayLike) -> tuple[Array, Array, Array]:
        return self.value(u), self.slope(u), self.curvature(u)

    def majorize(self, u: ArrayLike) -> Majorizer:
        u = floating(u)
        weights, tilt, constant = np.empty_like(u), np.empty_like(u), np.empty_like(u)
        for rows, loss in self._rows(u):
            made = loss.majorize(u[rows])
            weights[rows], tilt[rows], constant[rows] = made.weights, made.tilt, made.constant
        return Majorizer(self.losses[0].majorize(u[:1]).loss, weights, tilt, constant)

    def _each(self, what: str, u: ArrayLike) -> Array:
        u = floating(u)
        out = np.empty_like(u)
        for rows, loss in self._rows(u):
            out[rows] = getattr(loss, what)(u[rows])
        return out

    @property
    def _is_likelihood(self) -> bool:
        """Whether it is that of wrong labels of both classes: its score is the log odds of the true ones."""
        if len(self.losses) != 2:
            return False
        one, other = self.losses
        if not (isinstance(one, Copas) and isinstance(other, Copas)):
            return False
        return (one.flip_rate, one.lost) == (other.lost, other.flip_rate)

    def _rows(self, u: Array) -> list[tuple[NDArray[np.bool_], Loss]]:
        if self.codes is None or u.shape[:1] != self.codes.shape:
            bound = "no rows" if self.codes is None else f"{len(self.codes)} rows"
            raise ValueError(f"{self!r} is bound to {bound}, got margins of shape {u.shape}; call of_classes(codes).")
        return [(self.codes == code, loss) for code, loss in enumerate(self.losses)]

    def __repr__(self) -> str:
        return f"ByClass({', '.join(map(repr, self.losses))})"

    def _log_odds(self, f: Array) -> Array:
        if self._is_likelihood:
            return f
        raise NoLink(
            f"{self!r} costs the two classes differently, so its minimiser at p = 1/2 is not zero and its score no "
            "function of the probability alone. Use ScoreCalibrator on the scores."
        )


@dataclass(frozen=True, eq=False)
class CappedByRow(Loss):
    """``min(log(1 + exp(-u_i)), caps_i)``: the truncated logistic loss with a cap for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.losses import CappedByRow
    >>> CappedByRow(np.array([1.0, 2.0])).value(np.array([-9.0, -9.0]))
    array([1., 2.])
    """

    caps: Array

    name = "truncated_logistic"
    family = "truncated"
    convex = False
    smooth = False
    base = Logistic()

    def __post_init__(self) -> None:
        caps = real_numbers("caps", self.caps)
        require(caps.ndim == 1, "caps", caps, "one number for each row")
        object.__setattr__(self, "caps", caps)
        least = float(np.min(self.caps, initial=math.inf))
        require(least >= math.log(2) * (1 - 1e-12), "caps", least, "at least log(2) = 0.693147")

    @property
    def at(self) -> Array:
        """The margin of each row below which it is given up."""
        return -self.caps - np.log(-np.expm1(-self.caps))

    @property
    def kinks(self) -> tuple[Kink, ...]:
        return (Kink(float(np.median(self.at)), 0.0, float(self.base.slope(np.median(self.at)))),)

    @property
    def parts(self) -> tuple[Loss, ...]:
        return (Logistic(),)

    def of_rows(self, rows: Any) -> CappedByRow:
        return CappedByRow(self.caps[rows])

    def retained(self, u: ArrayLike) -> NDArray[np.bool_]:
        """True where the row still counts."""
        return self._margins(u) >= self.at

    def value(self, u: ArrayLike) -> Any:
        return np.minimum(self.base.value(self._margins(u)), self.caps)

    def slope(self, u: ArrayLike) -> Any:
        return self.base.slope(u) * self.retained(u)

    def curvature(self, u: ArrayLike) -> Any:
        return self.base.curvature(u) * self.retained(u)

    def trust(self, u: ArrayLike) -> Any:
        return self.base.trust(u)

    def evaluate(self, u: ArrayLike) -> tuple[Array, Array, Array]:
        return self.value(u), self.slope(u), self.curvature(u)

    def _margins(self, u: ArrayLike) -> Array:
        u = floating(u)
        if u.shape not in ((), self.caps.shape):
            raise ValueError(f"u must hold a margin for each of the {len(self.caps)} caps; got shape {u.shape}.")
        return u

    def majorize(self, u: ArrayLike) -> Majorizer:
        u = self._margins(u)
        kept = self.retained(u)
        constant = np.where(kept, 0.0, self.caps)
        return Majorizer(self.base, kept.astype(u.dtype), np.zeros_like(u), constant)

    def __repr__(self) -> str:
        return f"CappedByRow({float(np.min(self.caps)):.4g} to {float(np.max(self.caps)):.4g})"

"""Own losses are looked at once, when first used: a wrong loss would make a wrong fit with a true certificate.

Built-in losses are tested; a user's loss is compared with itself on a few hundred margins, which takes about a
millisecond and is remembered. It is refused, with the remedy, if its value is not a number, if it does not fall through
the boundary (then it prefers wrong labels), if it jumps, if it goes below its floor or has none, if its slope is not
the derivative of its value or its curvature that of its slope, if it is called convex and is not, or if it is called
smooth and has a corner: Newton's method would stop anywhere. What is small is small beside the slopes there or near the
boundary, whatever the unit of the loss and however large it is far out: an exponential hides nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import instance
from softmargin.losses._base import Array, Loss
from softmargin.losses._corners import find_corners, find_jump
from softmargin.losses._infimum import infimum

__all__ = ["below_floor", "ensure_sound", "falls", "vectorised"]

_MARGINS = np.concatenate([np.linspace(-9.97, 10.03, 201), [-100.0, -30.0, 30.0, 100.0]])
_INSIDE = np.abs(_MARGINS) < 11
_STEP = 1e-5
_WIDE = 1e-3  # step of the differences that curvatures are compared with: slopes may be differences themselves
_OWN = __name__.rpartition(".")[0]


def vectorised(function: Any, margins: Array, what: str) -> Array:
    """``function(margins)`` as an array of the same shape, or an error that says how to write it."""
    remedy = "Write it with NumPy functions (np.where in place of if), or wrap it with np.vectorize."
    given = margins.copy()
    try:
        with np.errstate(all="ignore"):
            seen = np.asarray(function(given))
    except Exception as error:
        raise ValueError(
            f"{what} must be vectorised: of an array of margins it raises {type(error).__name__}. {remedy}"
        ) from error
    if seen.shape != margins.shape:
        raise ValueError(
            f"{what} must be vectorised: of an array of shape {margins.shape} it returns shape {seen.shape}. {remedy}"
        )
    if not np.array_equal(given, margins):
        raise ValueError(
            f"{what} must leave the array it is given as it is; it writes into it, and with it into the margins of the "
            "fit. Begin with u = np.array(u), or do without out= and operators like u *= 2."
        )
    return seen


def falls(margins: Array, value: Array, slope: Array, tolerance: float) -> NDArray[np.intp]:
    """After which of rising ``margins`` the slope falls: a convex loss has none."""
    size = _size(margins, slope)
    allowed = tolerance * np.maximum(size[1:], size[:-1]) + 1e-11 * np.abs(value[1:])  # what differences of values keep
    return np.flatnonzero(np.diff(slope) < -allowed)


def _size(margins: Array, seen: Array) -> Array:
    """What a derivative of the loss is measured by: itself, or where it is small its size near the boundary."""
    return np.maximum(np.abs(seen), float(np.max(np.abs(seen[np.abs(margins) <= 1]))))


def ensure_sound(loss: Loss) -> None:
    """Refuse a user's loss that would be fitted wrongly; built-in losses cost nothing here."""
    instance("a Loss", Loss).check("loss", loss)
    kind = type(loss)
    if kind.__module__.startswith(_OWN) and kind.__name__ != "CustomLoss":
        return
    try:
        problem = _first_problem(loss)
    except TypeError:  # not hashable: looked at every time
        problem = _first_problem.__wrapped__(loss)
    if problem is not None:
        raise ValueError(f"{loss!r} cannot be fitted: {problem} See losses.check_loss for a full report.")


@lru_cache(maxsize=256)
def _first_problem(loss: Loss) -> str | None:
    value = vectorised(loss.value, _MARGINS, "value")
    slope = vectorised(loss.slope, _MARGINS, "slope")
    curvature = vectorised(loss.curvature, _MARGINS, "curvature")
    for name, seen in (("value", value), ("slope", slope), ("curvature", curvature)):
        bad = np.isnan(seen) | (_INSIDE & ~np.isfinite(seen))
        if bad.any():
            return (
                f"its {name} is {seen[bad][0]} at margin {_MARGINS[bad][0]:g}. Write it safely for large margins, "
                "for example np.logaddexp(0, -u) for log(1 + exp(-u))."
            )
    jump = find_jump(loss.value)
    if jump is not None:
        return (
            f"its value jumps by {jump[1]:.4g} at margin {jump[0]:.4g}, so it is neither convex nor smooth. Join its "
            "parts where they meet."
        )
    corners = find_corners(loss.value)
    return (
        _direction(loss)
        or below_floor(loss)
        or _derivative(loss, slope, [corner.at for corner in corners])
        or _bending(loss)
        or _shape(loss, value, slope)
        or _smoothness(loss, [corner.at for corner in corners])
    )


def _direction(loss: Loss) -> str | None:
    # a convex loss prefers right labels if it falls at 0 (Bartlett, Jordan and McAuliffe 2006, theorem 2)
    sizes = np.array([0.001] if loss.convex else [0.001, 0.1, 1.0])
    near, far = (np.asarray(loss.value(side * sizes)) for side in (-1, 1))
    rounding = 1e-12 * np.maximum(np.abs(near), np.abs(far))
    if np.all(near >= far - rounding) and np.any(near > far + rounding):
        return None
    k = int(np.argmin(near - far))
    return (
        f"it costs {near[k]:.6g} at margin {-sizes[k]:g} and {far[k]:.6g} at {sizes[k]:g}, so it does not prefer right "
        "labels. A loss is a function of the margin u = y f(x) that falls through 0; for a function of -u pass "
        "lambda u: value(-u)."
    )


def below_floor(loss: Loss) -> str | None:
    """What is wrong with the infimum a loss claims; bounds from below that lie above a value certify nothing."""
    least = infimum(loss.value)
    if least == -np.inf:
        return (
            "it falls for ever, so that its sum over the rows may have no minimum. Bend it towards a constant for "
            "large margins, as Logistic and Hinge do, or let it rise, as LeastSquares does."
        )
    scale = max(1.0, abs(least), abs(float(loss.value(0.0))))
    if loss.floor <= least + 1e-6 * scale:
        return None
    return (
        f"its floor is {loss.floor:.6g}, but it goes down to {least:.6g}. Leave floor= away, so that make_loss "
        "measures it, or return the infimum (property floor of a class of your own)."
    )


def _derivative(loss: Loss, slope: Array, corners: list[float]) -> str | None:
    u = _MARGINS[_INSIDE]
    away = np.all(np.abs(u[:, None] - np.asarray([*corners, np.inf])) > 10 * _STEP, axis=1)
    u, claimed = u[away], slope[_INSIDE][away]
    seen = (np.asarray(loss.value(u + _STEP)) - np.asarray(loss.value(u - _STEP))) / (2 * _STEP)
    rounding = 1e-9 * np.abs(np.asarray(loss.value(u)))
    wrong = np.abs(claimed - seen) > 1e-3 * np.maximum(np.abs(seen), 1e-2 * _size(u, seen)) + rounding
    if not wrong.any():
        return None
    where = int(np.argmax(wrong))
    return (
        f"its slope at margin {u[where]:.4g} is {claimed[where]:.6g}, but its values rise by {seen[where]:.6g} there."
    )


def _bending(loss: Loss) -> str | None:
    """Where the curvature of a loss is not the change of its slope; a bend of the slope there excuses it."""
    u = _MARGINS[_INSIDE]
    behind, here, ahead = (np.asarray(loss.slope(u + side * _WIDE)) for side in (-1, 0, 1))
    claimed, seen = np.asarray(loss.curvature(u)), (ahead - behind) / (2 * _WIDE)
    bend = np.abs(ahead - 2 * here + behind) / _WIDE
    rounding = 1e-9 / _WIDE * np.abs(here)
    allowed = 1e-2 * np.maximum(np.abs(seen), 1e-2 * _size(u, seen)) + bend + rounding
    wrong = np.abs(claimed - seen) > allowed
    if not wrong.any():
        return None
    at = int(np.argmax(wrong))
    return (
        f"its curvature at margin {u[at]:.4g} is {claimed[at]:.6g}, but its slope rises by {seen[at]:.6g} there. Leave "
        "curvature= away, so that make_loss derives it, or mend it."
    )


def _shape(loss: Loss, value: Array, slope: Array) -> str | None:
    if not loss.convex:
        return None
    u = _MARGINS[_INSIDE]
    after = falls(u, value[_INSIDE], slope[_INSIDE], 1e-6)
    if not len(after):
        return None
    return (
        f"it is called convex, but its slope falls after margin {u[after[0]]:.4g}. Set convex=False and give weight= "
        "or majorize= (make_loss), so that it is solved as a sequence of convex bounds."
    )


def _smoothness(loss: Loss, corners: list[float]) -> str | None:
    if loss.convex and not loss.smooth and loss.kink is None:
        where = ", ".join(f"{at:.4g}" for at in corners) or "somewhere"
        return (
            f"it is convex with a corner at margin {where} and is not made of two straight lines, as a corner needs "
            "to be fitted. Round the corner off, as HuberizedHinge and Coherence do for the hinge."
        )
    if loss.smooth and corners:
        return (
            f"it is called smooth and has a corner at margin {corners[0]:.4g}. Round the corner off, as HuberizedHinge "
            "and Coherence do for the hinge; two straight lines are found by make_loss, or declared by kink."
        )
    return None

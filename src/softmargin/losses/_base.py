"""What every margin loss is: three elementwise functions of the margin and facts about itself.

A loss never sees ``X``, ``y`` or ``C``. With ``u = y f(x)`` the margin, ``value`` is ``phi(u)``, ``slope`` is
``phi'(u)`` (at a kink the documented subgradient) and ``curvature`` is ``phi''(u)`` where it exists. Losses with a
population minimiser that determines the class probability also map scores to probabilities and back, for the class
weights ``1 - weight`` on the positive and ``weight`` on the negative class: the minimiser of

    (1 - weight) p phi(f) + weight (1 - p) phi(-f)

depends on ``p`` through ``logit p - logit weight`` alone, so one unweighted link serves every weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from softmargin._constraints import LEVEL, check_unmasked, real_numbers, settle_numbers

__all__ = ["TIE", "Kink", "Loss", "Majorizer", "NoLink", "elementwise", "floating", "require"]

Array = NDArray[np.floating[Any]]

_BLOCK = 16384
TIE = 1e-13  # beside one: margins, or costs, that rounding alone tells apart


class NoLink(ValueError):
    """The loss does not determine class probabilities; the message says why and what to use instead."""


class Kink(NamedTuple):
    """Where a loss has a corner, and its one-sided slopes there."""

    at: float
    left_slope: float
    right_slope: float

    @property
    def jump(self) -> float:
        """The mass of the second derivative at the corner."""
        return self.right_slope - self.left_slope


@dataclass(frozen=True)
class Majorizer:
    """A convex upper bound ``weights * loss(v) + tilt * v + constant`` of a loss, tight where it was made."""

    loss: Loss
    weights: Array
    tilt: Array
    constant: Array

    def value(self, v: ArrayLike) -> Array:
        """The bound at the margins ``v``."""
        v = np.asarray(v)
        return self.weights * self.loss.value(v) + self.tilt * v + self.constant


def floating(u: ArrayLike, name: str = "u") -> Array:
    """``u`` as a floating array: float dtype kept, others made float64; ``name`` is that of the argument."""
    if isinstance(u, np.ndarray) and u.dtype.kind == "f":
        check_unmasked(name, u)
        return np.asarray(u)
    return np.asarray(u) if isinstance(u, np.floating) else real_numbers(name, u)


def elementwise(function: Callable[[Array], Array], u: ArrayLike, name: str = "u") -> Any:
    """Apply ``function`` to ``u`` as a floating array, silently; dtype in is dtype out, scalar in is scalar out."""
    array = floating(u, name)
    with np.errstate(all="ignore"):
        if array.ndim == 1 and array.size > 2 * _BLOCK:
            result = np.empty_like(array)
            for block in _blocks(array.size):
                result[block] = function(array[block])
            return result
        result = np.asarray(function(array), dtype=array.dtype)
    return result[()] if result.ndim == 0 else result


def _blocks(n: int) -> Iterator[slice]:
    """Slices short enough for every temporary to stay in cache: half the time of whole-array steps on long vectors."""
    return (slice(start, start + _BLOCK) for start in range(0, n, _BLOCK))


def require(condition: bool, name: str, value: object, allowed: str) -> None:
    """Raise a ValueError naming the parameter, the value seen and what is allowed."""
    if not condition:
        raise ValueError(f"{name} must be {allowed}; got {value!r}.")


class Loss:
    """A margin loss. Subclasses are frozen dataclasses whose fields are their hyperparameters.

    Subclasses write ``_value``, ``_slope`` and ``_curvature`` on floating arrays, and ``_log_odds`` / ``_score``
    where a link exists; users call the public names, which accept scalars and any array.
    """

    name: ClassVar[str] = ""
    family: ClassVar[str] = ""
    convex: bool = True
    smooth: bool = True

    @property
    def kink(self) -> Kink | None:
        """The single corner of a piecewise-linear loss, or None."""
        return None

    @property
    def kinks(self) -> tuple[Kink, ...]:
        """Every corner of the loss; a truncated loss has a concave one where it is cut."""
        return () if self.kink is None else (self.kink,)

    @property
    def curvature_bound(self) -> float:
        """The least upper bound of the curvature, inf when there is none."""
        return math.inf

    @property
    def probability_modulus(self) -> float | None:
        """The largest known ``m`` with ``excess risk >= m (eta - eta(f))^2`` for every score ``f``; None if unknown.

        It is half the least curvature of the population risk ``-min_f eta phi(f) + (1 - eta) phi(-f)``.
        """
        return None

    @property
    def floor(self) -> float:
        """The infimum of the loss, which is minus its conjugate at zero."""
        return 0.0

    def value(self, u: ArrayLike) -> Any:
        """``phi(u)``, elementwise."""
        return elementwise(self._value, u)

    def slope(self, u: ArrayLike) -> Any:
        """``phi'(u)``, elementwise; boosting weights are minus this."""
        return elementwise(self._slope, u)

    def curvature(self, u: ArrayLike) -> Any:
        """``phi''(u)`` where it exists, elementwise."""
        return elementwise(self._curvature, u)

    def evaluate(self, u: ArrayLike) -> tuple[Array, Array, Array]:
        """``(phi, phi', phi'')`` of an array at once; losses that can share work override ``_evaluate``."""
        array = floating(u)
        with np.errstate(all="ignore"):
            if array.ndim != 1 or array.size <= 2 * _BLOCK:
                return self._evaluate(array)
            parts = np.empty_like(array), np.empty_like(array), np.empty_like(array)
            for block in _blocks(array.size):
                for whole, part in zip(parts, self._evaluate(array[block]), strict=True):
                    whole[block] = part
        return parts

    def probability(self, f: ArrayLike, weight: float = 0.5) -> Any:
        """P(y = +1) at score ``f`` when the classes were weighted ``(1 - weight, weight)``."""
        LEVEL.check("weight", weight)
        shift = float(logit(weight))
        return elementwise(lambda a: expit(self._log_odds(a) + shift), f, "f")

    def log_odds(self, f: ArrayLike) -> Any:
        """``logit P(y = +1)`` at score ``f``, where ``probability`` would round to 0 or 1."""
        return elementwise(self._log_odds, f, "f")

    def score(self, p: ArrayLike, weight: float = 0.5) -> Any:
        """The population minimiser at P(y = +1) = ``p``; may be infinite."""
        LEVEL.check("weight", weight)
        array = real_numbers("p", p)
        require(bool(np.all((array >= 0) & (array <= 1))), "p", p, "between 0 and 1")
        if weight == 0.5:
            return elementwise(self._score, p)
        shift = float(logit(weight))
        return elementwise(lambda a: self._score(expit(logit(a) - shift)), p)

    def observed(self, p: ArrayLike) -> Any:
        """P(observed label = +1) at ``probability`` equal to ``p``; they differ under a model of label noise."""
        return elementwise(lambda a: a, p, "p")

    @property
    def has_conjugate(self) -> bool:
        """Whether a closed form of ``conjugate`` is known."""
        return type(self)._conjugate is not Loss._conjugate

    def conjugate(self, v: ArrayLike) -> Any:
        """``sup_u v u - phi(u)``, inf outside its domain, where a closed form is known."""
        return elementwise(self._conjugate, v, "v")

    def trust(self, u: ArrayLike) -> Any:
        """How far a label at margin ``u`` is believed, in [0, 1], nondecreasing in the margin.

        Losses with weights of their own answer with them, logistic relatives with ``expit(u)``, the probability the
        score gives that label; others with ``1 / (1 + excess)``, the excess cost in units of that of the boundary.
        """
        return elementwise(self._trust, u)

    def majorize(self, u: ArrayLike) -> Majorizer:
        """A convex bound that touches this loss at the margins ``u``; nonconvex losses override it."""
        u = real_numbers("u", u)
        return Majorizer(self, np.ones_like(u), np.zeros_like(u), np.zeros_like(u))

    @property
    def parts(self) -> tuple[Loss, ...]:
        """The losses it is made of: itself, unless it differs from row to row."""
        return (self,)

    def of_classes(self, codes: NDArray[np.integer[Any]]) -> Loss:
        """The loss of rows of these classes, in their order; losses that differ by class override it."""
        return self

    def of_rows(self, rows: Any) -> Loss:
        """The loss of some of the rows it is bound to; losses that differ from row to row override it."""
        return self

    def relaxations(self) -> Iterable[Loss]:
        """Smoother losses to solve first, ending near this one; nearly kinked losses override it."""
        return ()

    def smoothings(self) -> Iterable[Loss]:
        """Losses with curvature everywhere that end at this one, for descents that crawl along its flat pieces."""
        return ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Whatever a loss demands of its hyperparameters, numbers must be numbers first."""
        super().__init_subclass__(**options)
        own = cls.__dict__.get("__post_init__")
        if own is not None:

            def checked(self: Loss) -> None:
                settle_numbers(self)
                own(self)

            cls.__post_init__ = checked  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        settle_numbers(self)

    def _evaluate(self, u: Array) -> tuple[Array, Array, Array]:
        return self._value(u), self._slope(u), self._curvature(u)

    def _trust(self, u: Array) -> Array:
        if not self.convex:
            return np.asarray(self.majorize(u).loss._trust(u))
        falling = self._slope(u) <= 0
        boundary = float(self.value(0.0)) - self.floor
        excess = np.where(falling, np.maximum(self._value(u) - self.floor, 0), 0) / (boundary if boundary > 0 else 1)
        return 1 / (1 + excess)

    def _value(self, u: Array) -> Array:
        raise NotImplementedError(f"{type(self).__name__} defines no value")

    def _slope(self, u: Array) -> Array:
        raise NotImplementedError(f"{type(self).__name__} defines no slope")

    def _curvature(self, u: Array) -> Array:
        raise NotImplementedError(f"{type(self).__name__} defines no curvature")

    def _log_odds(self, f: Array) -> Array:
        raise NoLink(
            f"{type(self).__name__} determines the sign of the score only, not a probability. Use ScoreCalibrator on "
            "its scores, or a loss with a link such as Logistic or Coherence."
        )

    def _score(self, p: Array) -> Array:
        raise NoLink(f"No population minimiser is known for {type(self).__name__}.")

    def _conjugate(self, v: Array) -> Array:
        raise NotImplementedError(f"no closed-form conjugate is known for {type(self).__name__}")

"""An entropy from a user's own permissible function, its inverse link found numerically.

``phi``, ``phi'`` and ``phi''`` are evaluated only on the rare side ``q`` in (0, 1/2], where doubles have resolution.
For a score of size ``x`` the rare side solves ``asinh(phi'(q)) = asinh(x)`` in ``eta = logit q``; the asinh makes
Newton fast at any ``x``. A table of ``asinh(phi')`` on a grid of ``eta`` brackets the root between two neighbours and
starts it there, so a few steps reach rounding. Where ``phi'`` is bounded, larger scores have a rare side of 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from softmargin._constraints import NONE, Constraint
from softmargin.losses._base import Array
from softmargin.losses._differentiate import Function, differentiate, label
from softmargin.losses._entropy import Entropy, Tail

__all__ = ["CustomEntropy"]

_GRID = np.concatenate([np.linspace(-700, -40, 660, endpoint=False), np.linspace(-40, 0, 2001)])
_PROBES = expit(np.linspace(-12, 0, 200))
_FUNCTION = Constraint("a function of arrays", callable)


@dataclass(frozen=True)
class CustomEntropy(Entropy):
    """A permissible function given by NumPy callables on (0, 1).

    Parameters
    ----------
    phi : callable
        Strictly concave, symmetric about 1/2, at least 0.
    dphi, d2phi : callable, optional
        Its derivatives; missing ones are found by the complex step or central differences.
    inverse_link : callable, optional
        ``p(x)``, the probability at score ``x``; found by Newton's method when missing.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.losses import BalancedConvex, CustomEntropy
    >>> loss = BalancedConvex(CustomEntropy(lambda p: np.sqrt(p * (1 - p))))
    >>> round(float(loss.probability(0.75)), 12)
    0.8
    """

    phi: Function
    dphi: Function | None = None
    d2phi: Function | None = None
    inverse_link: Function | None = None
    _slope: Function = field(init=False, repr=False, compare=False)
    _bend: Function = field(init=False, repr=False, compare=False)
    _offset: float = field(init=False, repr=False, compare=False)
    _height: float = field(init=False, repr=False, compare=False)
    _sizes: Array = field(init=False, repr=False, compare=False)

    name = "custom"

    def __post_init__(self) -> None:
        _FUNCTION.check("phi", self.phi)
        for name in ("dphi", "d2phi", "inverse_link"):
            (NONE | _FUNCTION).check(name, getattr(self, name))
        self._require_numbers()
        inner = _PROBES[_PROBES < 0.45]
        slope = self.dphi or differentiate(self.phi, inner, relative=True)
        bend = self.d2phi or differentiate(slope, inner, relative=True)
        with np.errstate(all="ignore"):
            ends = np.asarray(self.phi(np.array([0.0, 1.0])), dtype=float)
            if not np.all(np.isfinite(ends)):
                ends = np.repeat(np.asarray(self.phi(np.array([1e-300])), dtype=float), 2)
            half = float(np.asarray(self.phi(np.array([0.5])), dtype=float)[0])
            self._store(_slope=slope, _bend=bend, _offset=float(ends[0]), _height=half - float(ends[0]))
            self._validate(ends)
            self._store(_sizes=np.arcsinh(np.asarray(slope(expit(_GRID)), dtype=float)))

    def __repr__(self) -> str:
        parts = {
            "phi": self.phi,
            "dphi": self._slope,
            "d2phi": self._bend,
            "inverse_link": self.inverse_link or "Newton",
        }
        return f"CustomEntropy({', '.join(f'{key}={label(value)}' for key, value in parts.items())})"

    def _store(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def offset(self) -> float:
        return self._offset

    @property
    def height(self) -> float:
        return self._height

    def value(self, p: Array) -> Array:
        q = np.minimum(p, 1 - p)
        return np.where(q > 0, self.phi(np.where(q > 0, q, 0.5)), self.offset)

    def link(self, q: Array) -> Array:
        return self._slope(np.maximum(q, expit(_GRID[0])))

    def tail(self, x: Array) -> Tail:
        wide = np.asarray(x, dtype=np.float64)
        rare = self._rare(wide)
        seen = rare > 0
        safe = np.where(seen, rare, 0.5)
        rest = np.where(seen, self.phi(safe) - self.offset - safe * wide, 0)
        return rare, np.maximum(rest, 0), np.where(seen, -1 / self._bend(safe), 0)

    def _rare(self, x: Array) -> Array:
        if self.inverse_link is not None:
            return np.clip(np.asarray(self.inverse_link(-x), dtype=np.float64), 0, 0.5)
        goal = np.arcsinh(x)
        # sizes fall as eta rises: search the reversed table
        place = np.clip(np.searchsorted(self._sizes[::-1], goal), 1, _GRID.size - 1)
        right = _GRID.size - place
        low, high = _GRID[right - 1], _GRID[right]
        top, bottom = self._sizes[right - 1], self._sizes[right]
        eta = low + (high - low) * np.clip((top - goal) / np.where(top > bottom, top - bottom, 1), 0, 1)
        for _ in range(60):
            q = expit(eta)
            slope = self._slope(q)
            excess = np.arcsinh(slope) - goal
            low, high = np.where(excess > 0, eta, low), np.where(excess > 0, high, eta)
            newton = eta - excess * np.hypot(1, slope) / (self._bend(q) * q * expit(-eta))
            moved = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
            done = np.abs(moved - eta) <= 1e-15 * np.maximum(1, np.abs(eta))
            eta = moved
            if np.all(done):
                break
        return np.where(goal >= self._sizes[0], 0, expit(eta))

    def _require_numbers(self) -> None:
        """Refuse functions that are none of arrays of probabilities, or scores: one real number each."""
        with np.errstate(all="ignore"):
            for name, at in (("phi", _PROBES), ("dphi", _PROBES), ("d2phi", _PROBES), ("inverse_link", _GRID)):
                function = getattr(self, name)
                if function is None:
                    continue
                try:
                    found = np.asarray(function(at.copy()))
                except Exception as error:
                    raise ValueError(f"{name} must be a function of arrays; it raised {error!r}.") from error
                if found.shape != at.shape or found.dtype.kind not in "iuf":
                    seen = f"{found.dtype} of shape {found.shape}"
                    raise ValueError(f"{name} must return a real number for each it is given; got {seen}.")

    def _validate(self, ends: Array) -> None:
        q = _PROBES
        value, mirror = np.asarray(self.phi(q)), np.asarray(self.phi(1 - q))
        slope, bend = np.asarray(self._slope(q)), np.asarray(self._bend(q))
        self._reject(~(np.abs(value - mirror) <= 1e-10 * np.maximum(1, np.abs(value))), "not symmetric about 1/2")
        if not (abs(ends[0] - ends[1]) <= 1e-10 and ends[0] >= 0):
            raise ValueError(f"phi must have phi(0) = phi(1) >= 0; got phi(0) = {ends[0]!r}, phi(1) = {ends[1]!r}.")
        if not self.height > 0:
            raise ValueError(f"phi must be larger at 1/2 than at 0; the difference is {self.height!r}.")
        self._reject(np.r_[~(np.diff(slope) < 0), False], "not strictly concave (phi' does not decrease)")
        self._reject(~(bend < 0), "not strictly concave (phi'' is not negative)")
        inner = slice(1, -1)
        for given, base, what in ((self.dphi, self.phi, "dphi"), (self.d2phi, self._slope, "d2phi")):
            if given is None:
                continue
            h = 1e-5 * q
            rough = (np.asarray(base(q + h)) - np.asarray(base(q - h))) / (2 * h)
            error = np.abs(np.asarray(given(q)) - rough) > 1e-5 * np.maximum(1, np.abs(rough))
            self._reject(np.r_[False, error[inner], False], f"inconsistent: {what} is not the derivative")

    def _reject(self, bad: NDArray[np.bool_], why: str) -> None:
        if np.any(bad):
            point = float(_PROBES[np.flatnonzero(bad)[0]])
            raise ValueError(f"phi is {why}, first at p = {point:.6g}.")

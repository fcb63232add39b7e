"""Data with pathologies: a base cloud, troubles of columns and rows, a container, label names and weights.

``level`` says what may be asked of a fit: "tame" data must be fitted to convergence; "awkward" data (ties, constant
columns, three rows) must be fitted with a true certificate; "extreme" data (1e150, weights of 1e100) may be refused,
clearly; "invalid" data must be refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["LEVELS", "Data", "draw_data"]

LEVELS = ("tame", "awkward", "extreme", "invalid")

Rng = np.random.Generator


@dataclass
class Data:
    """What a fit is given (``X``, ``y``, ``weight``) and the plain arrays behind it."""

    dense: np.ndarray
    codes: np.ndarray
    X: Any = None
    y: Any = None
    weight: Any = None
    times: np.ndarray | None = None
    level: str = "tame"
    notes: list[str] = field(default_factory=list)
    missing: bool = False
    names: np.ndarray | None = None

    def note(self, text: str, level: str = "tame") -> None:
        """Remember what was done to the data and how hard it makes the problem."""
        self.notes.append(text)
        self.level = max(self.level, level, key=LEVELS.index)

    @property
    def k(self) -> int:
        """How many classes there are."""
        return int(self.codes.max()) + 1

    def __str__(self) -> str:
        n, p = self.dense.shape
        return f"data(n={n}, p={p}, k={self.k}, {self.level}: {', '.join(self.notes) or 'plain'})"


# -- base clouds ---------------------------------------------------------------------------------------------------


def _gaussian(rng: Rng, codes: np.ndarray, p: int) -> np.ndarray:
    X = rng.normal(size=(len(codes), p))
    X[:, 0] += rng.uniform(0, 2) * codes
    return X


def _separable(rng: Rng, codes: np.ndarray, p: int) -> np.ndarray:
    X = rng.uniform(-1, 1, size=(len(codes), p))
    X[:, 0] = 4.0 * codes + rng.uniform(-1, 1, size=len(codes))
    return X


def _lattice(rng: Rng, codes: np.ndarray, p: int) -> np.ndarray:
    return rng.integers(-2, 3, size=(len(codes), p)).astype(float)


def _binary(rng: Rng, codes: np.ndarray, p: int) -> np.ndarray:
    return (rng.random((len(codes), p)) < rng.uniform(0.05, 0.6)).astype(float)


def _heavy(rng: Rng, codes: np.ndarray, p: int) -> np.ndarray:
    return rng.standard_t(2, size=(len(codes), p)) + 0.5 * codes[:, None]


def _xor(rng: Rng, codes: np.ndarray, p: int) -> np.ndarray:
    X = rng.normal(size=(len(codes), p))
    if p > 1:
        X[:, 1] = np.abs(X[:, 1]) * np.where((X[:, 0] > 0) ^ (codes > 0), 1, -1)
    return X


def _zeros(rng: Rng, codes: np.ndarray, p: int) -> np.ndarray:
    return np.zeros((len(codes), p))


CLOUDS: dict[str, tuple[Callable[[Rng, np.ndarray, int], np.ndarray], float, str]] = {
    "gaussian": (_gaussian, 8, "tame"),
    "separable": (_separable, 2, "awkward"),
    "lattice": (_lattice, 2, "awkward"),
    "binary": (_binary, 2, "awkward"),
    "heavy": (_heavy, 2, "awkward"),
    "xor": (_xor, 2, "tame"),
    "zeros": (_zeros, 0.4, "awkward"),
}


# -- troubles of columns and rows ----------------------------------------------------------------------------------


def _column(rng: Rng, p: int) -> int:
    return int(rng.choice([0, p // 2, p - 1]))


def _constant(rng: Rng, data: Data) -> None:
    j = _column(rng, data.dense.shape[1])
    data.dense[:, j] = rng.choice([0.0, 1.0, -3.5, 1e3])
    data.note(f"constant column {j}", "awkward")


def _duplicate(rng: Rng, data: Data) -> None:
    p = data.dense.shape[1]
    j, source = _column(rng, p), int(rng.integers(p))
    data.dense[:, j] = data.dense[:, source] * rng.choice([1.0, -1.0, 2.0])
    data.note(f"column {j} repeats {source}", "awkward")


def _collinear(rng: Rng, data: Data) -> None:
    j = _column(rng, data.dense.shape[1])
    data.dense[:, j] = data.dense @ rng.normal(size=data.dense.shape[1])
    data.note(f"collinear column {j}", "awkward")


def _column_scale(rng: Rng, data: Data) -> None:
    j, power = _column(rng, data.dense.shape[1]), float(rng.choice([-6, -3, 3, 5]))
    data.dense[:, j] *= 10**power
    data.note(f"column {j} times 1e{power:g}", "awkward" if abs(power) < 4 else "extreme")


def _offset(rng: Rng, data: Data) -> None:
    by = float(rng.choice([10.0, 1e3, 1e5, 1e7, 1e9]))
    data.dense += by
    data.note(f"offset {by:g}", "awkward" if by < 1e4 else "extreme")


def _scale(rng: Rng, data: Data) -> None:
    power = float(rng.choice([-150, -30, -8, -3, 3, 8, 30, 150]))
    data.dense *= 10**power
    data.note(f"all times 1e{power:g}", "awkward" if abs(power) < 4 else "extreme")


def _repeat_rows(rng: Rng, data: Data) -> None:
    rows = rng.integers(len(data.codes), size=len(data.codes))
    keep = np.array([np.flatnonzero(data.codes == code)[0] for code in range(data.k)])
    rows[keep] = keep
    data.dense, data.codes = data.dense[rows], data.codes[rows]
    data.note("repeated rows", "awkward")


def _contradictions(rng: Rng, data: Data) -> None:
    order = rng.permutation(len(data.codes))
    data.dense, data.codes = np.vstack([data.dense, data.dense]), np.concatenate([data.codes, data.codes[order]])
    data.note("every row twice with shuffled labels", "awkward")


def _unbalanced(rng: Rng, data: Data) -> None:
    codes = np.zeros_like(data.codes)
    codes[: data.k] = np.arange(data.k)
    data.codes = rng.permutation(codes)
    data.note("one row of every other class", "awkward")


def _outlier(rng: Rng, data: Data) -> None:
    data.dense[rng.integers(len(data.codes))] *= float(rng.choice([1e2, 1e4, 1e8]))
    data.note("an outlier", "extreme")


def _nearly_equal(rng: Rng, data: Data) -> None:
    data.dense[:, 0] = 1 + 1e-12 * data.dense[:, 0]
    data.note("column 0 constant to 1e-12", "extreme")


def _not_finite(rng: Rng, data: Data) -> None:
    bad = rng.choice([np.nan, np.inf, -np.inf])
    data.dense[rng.integers(len(data.codes)), rng.integers(data.dense.shape[1])] = bad
    data.missing = bool(np.isnan(bad))
    data.note(f"{bad} in X", "invalid")


TROUBLES: list[tuple[Callable[[Rng, Data], None], float]] = [
    (_constant, 3), (_duplicate, 3), (_collinear, 3), (_column_scale, 2), (_offset, 2), (_scale, 2), (_repeat_rows, 2),
    (_contradictions, 1), (_unbalanced, 2), (_outlier, 1), (_nearly_equal, 1), (_not_finite, 0.7),
]  # fmt: skip


def _size(rng: Rng, large: bool, rows: tuple[int, int] | None) -> tuple[int, int, int]:
    k = int(rng.choice([2, 2, 2, 2, 2, 2, 3, 3, 4, 6]))
    draw = rng.random()
    if draw < 0.08:
        n = int(rng.integers(k, k + 3))
    elif draw < 0.3:
        n = int(rng.integers(k + 2, k + 12))
    elif draw < 0.97 or not large:
        n = int(rng.integers(k + 15, 80))
    else:
        n = int(rng.integers(100, 1300))
    if rows is not None:
        n = int(rng.integers(rows[0], rows[1] + 1))
    draw = rng.random()
    if draw < 0.15:
        p = 1
    elif draw < 0.8:
        p = int(rng.integers(2, 8))
    elif draw < 0.97 or n > 100:
        p = int(rng.integers(8, 40))
    else:
        p = int(rng.integers(100, 400))
    return n, p, k


def _made(rng: Rng, n: int, p: int, k: int) -> Data:
    """Rows of one of the clouds."""
    codes = rng.permutation(np.concatenate([np.arange(k), rng.integers(k, size=n - k)]))
    names = list(CLOUDS)
    share = np.array([CLOUDS[name][1] for name in names])
    name = names[rng.choice(len(names), p=share / share.sum())]
    make, _, level = CLOUDS[name]
    data = Data(make(rng, codes, p), codes)
    data.note(name, level)
    return data


def draw_data(
    rng: Rng,
    *,
    trouble: float = 0.55,
    large: bool = True,
    k: int | None = None,
    rows: tuple[int, int] | None = None,
    base: Callable[[Rng, int, int, int], Data] = _made,
) -> Data:
    """Plain arrays with troubles, ``rows`` many from and to; ``tests.fuzz.containers`` gives them their outer form.

    ``base`` makes rows without troubles from the numbers of rows, columns and classes.
    """
    n, p, classes = _size(rng, large, rows)
    classes = k or classes
    n = max(n, classes)
    data = base(rng, n, p, classes)
    if n < 4 * classes:
        data.note("few rows", "awkward")
    if p >= n:
        data.note("p >= n", "awkward")
    if rng.random() < trouble:
        share = np.array([weight for _, weight in TROUBLES])
        chosen = rng.choice(len(TROUBLES), size=rng.choice([1, 1, 2]), replace=False, p=share / share.sum())
        for i in sorted(chosen):  # what is not finite comes last, so that nothing writes over it
            TROUBLES[i][0](rng, data)
    return data

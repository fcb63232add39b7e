"""The work of a fit, counted in multiplications: what bounds it is then the same on every machine."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Work"]

# Rounds over 2500 rows of three classes whose weights span twelve decades take 6e10 (``tests/fuzz``), some ten seconds.
# A matrix that does not fit in the cache is read in the time of some more columns, and factorised at several times the
# speed of products.
_LEAST, _READING, _FACTOR = 7e10, 3, 0.15
_STEPS, _PRODUCTS = 30, 30  # Newton steps that fits of any number of rows may take, with products and a factor each


@dataclass
class Work:
    """What fits with similarities of rows have taken so far, and the most they may take together."""

    most: float = _LEAST
    done: float = 0.0

    @classmethod
    def of(cls, n: int, k: int) -> Work:
        """For fits of ``k`` scores to ``n`` rows."""
        step = cls()
        step.add_factor(n)
        for _ in range(_PRODUCTS):
            step.add_product(n, k)
        return cls(max(_LEAST, _STEPS * step.done))

    @property
    def is_spent(self) -> bool:
        return self.done >= self.most

    def add_product(self, n: int, k: int) -> None:
        """A square matrix, or a triangle of it twice, times ``k`` columns."""
        self.done += float(n) ** 2 * (k + _READING)

    def add_factor(self, n: int) -> None:
        """A Cholesky factor."""
        self.done += _FACTOR * float(n) ** 3 / 3

"""Binned columns: at most 256 codes per feature, one byte per cell, and the literals those codes can express.

Numeric features are cut between observed values: at the midpoint of every two neighbours when there are at most
``max_bins`` distinct values, otherwise at weighted quantiles. Both depend on the order of the values only, so the rows
a literal covers do not change under an increasing transform of a feature, and a weight of two is a row given twice.
Categories are listed by frequency when there are too many for a byte; the unlisted ones share a code that every
``!=`` accepts and no ``==`` does, which is also how a category never seen in training is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from softmargin._compiled.coverage import cover
from softmargin._compiled.rules import bin_column
from softmargin._threads import in_threads
from softmargin.expansions.rules.literals import EQUAL, MISSING, UNEQUAL, Literal
from softmargin.expansions.rules.table import Column, Table

__all__ = ["BinnedTable"]

_CODES = 256


@dataclass
class BinnedTable:
    """Codes (features, rows) and what each code means.

    ``cuts[j]`` are the thresholds of a numeric feature or the categories of a categorical one. ``layout`` has a row
    (listed values, 1 if unlisted ones exist, 1 if categorical, code of missing or -1) per feature; the histogram of
    feature ``j`` occupies ``offsets[j]:offsets[j + 1]``, which is empty for features without a literal.
    """

    codes: np.ndarray
    cuts: list[np.ndarray]
    layout: np.ndarray
    offsets: np.ndarray

    @classmethod
    def from_table(cls, table: Table, weight: np.ndarray, max_bins: int, n_threads: int = 1) -> BinnedTable:
        """Cut every column of ``table``."""
        n, d = table.shape
        codes = np.empty((d, n), dtype=np.uint8)
        plain = bool(np.all(weight == weight[0])) if n else True

        def cut(j: int) -> tuple[np.ndarray, tuple[int, int, int, int]]:
            column = table.column(j)
            read = _cut_categories if column.categorical else _cut_numbers
            return read(column, None if plain else weight, max_bins, codes[j])

        parts = in_threads(cut, range(d), n_threads if n * d > 100_000 else 1)
        layout = np.array([part[1] for part in parts], dtype=np.int32).reshape(d, 4)
        widths = layout[:, 0] + layout[:, 1] + (layout[:, 3] >= 0)
        widths[(widths < 2) | (layout[:, 0] == 0)] = 0  # constant or all missing: no literal
        offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.int32)
        return cls(codes, [part[0] for part in parts], layout, offsets)

    @cached_property
    def asked(self) -> np.ndarray:
        """The features that have a literal."""
        return np.flatnonzero(np.diff(self.offsets)).astype(np.int32)

    @property
    def n_rows(self) -> int:
        return int(self.codes.shape[1])

    def all_rows(self) -> np.ndarray:
        """The bitset of every row: the coverage of the empty monomial."""
        words = np.full((self.n_rows + 63) // 64, np.uint64(0xFFFFFFFFFFFFFFFF))
        if self.n_rows % 64:
            words[-1] = np.uint64((1 << (self.n_rows % 64)) - 1)
        return words

    def accepted(self, feature: int, op: int, code: int) -> np.ndarray:
        """The codes a literal accepts, as 256 flags."""
        n_values, n_other, _, missing = self.layout[feature]
        flags = np.zeros(_CODES, dtype=np.uint8)
        if op == MISSING:
            flags[missing] = 1
        elif op == EQUAL:
            flags[code] = 1
        elif op == UNEQUAL:
            flags[: n_values + n_other] = 1
            flags[code] = 0
        else:
            flags[: code + 1] = 1
            if op == 1:
                flags[:n_values] ^= 1
        return flags

    def refine(self, bits: np.ndarray, literal: tuple[int, int, int]) -> np.ndarray:
        """The rows of ``bits`` on which the literal (feature, op, code) holds too."""
        refined = bits.copy()
        cover(self.codes[literal[0]], self.accepted(*literal), refined)
        return refined

    def covered(self, terms: Sequence[tuple[int, int, int]]) -> np.ndarray:
        """The rows on which every literal holds."""
        bits = self.all_rows()
        for feature, op, code in terms:
            cover(self.codes[feature], self.accepted(feature, op, code), bits)
        return bits

    def literal(self, feature: int, op: int, code: int) -> Literal:
        """The literal in the units of the data."""
        value = None if op == MISSING else self.cuts[feature][code]
        return Literal(feature, op, value.item() if isinstance(value, np.generic) else value)


def _cut_numbers(
    column: Column, weight: np.ndarray | None, max_bins: int, codes: np.ndarray
) -> tuple[np.ndarray, tuple[int, int, int, int]]:
    absent = column.missing
    any_missing = bool(absent.any())
    values = column.values[~absent] if any_missing else column.values
    if weight is not None and any_missing:
        weight = weight[~absent]
    edges = _edges(values, weight, min(max_bins, _CODES - any_missing))
    n_values = len(edges) + 1 if len(values) else 0
    missing = n_values if any_missing else -1
    bin_column(column.values, edges, missing, codes)
    return edges, (n_values, 0, 0, missing)


def _edges(values: np.ndarray, weight: np.ndarray | None, max_bins: int) -> np.ndarray:
    """Thresholds between observed values, at most ``max_bins - 1`` of them."""
    if len(values) == 0:
        return np.empty(0)
    if weight is None:
        ordered = np.sort(values)
    else:
        order = np.argsort(values, kind="stable")
        ordered = values[order]
    steps = np.flatnonzero(ordered[1:] != ordered[:-1])
    if len(steps) >= max_bins:
        share = np.arange(1, max_bins) / max_bins
        if weight is None:
            last = np.ceil(share * len(ordered)).astype(np.intp) - 1
        else:
            mass = np.cumsum(weight[order])
            last = np.searchsorted(mass, share * mass[-1] * (1 - 1e-12))
        below = np.unique(np.searchsorted(steps, last))  # the step at or after each quantile
        steps = steps[below[below < len(steps)]]
    low, high = ordered[steps], ordered[steps + 1]
    middle = low + (high - low) / 2
    return np.where((middle >= high) | ~np.isfinite(middle), low, middle)


def _cut_categories(
    column: Column, weight: np.ndarray | None, max_bins: int, codes: np.ndarray
) -> tuple[np.ndarray, tuple[int, int, int, int]]:
    absent = column.missing
    any_missing = bool(absent.any())
    present = column.values[~absent]
    index: dict[Any, int] = {}
    raw = np.fromiter((index.setdefault(value, len(index)) for value in present), np.intp, len(present))
    names = np.empty(len(index), dtype=object)
    names[:] = list(index)
    room = _CODES - any_missing
    mass = np.bincount(raw, None if weight is None else weight[~absent], len(index))
    crowded = len(index) > room
    order = sorted(range(len(index)), key=lambda c: (-mass[c] if crowded else 0, str(names[c])))
    listed = sorted(order[: room - crowded], key=lambda c: str(names[c]))
    n_values, n_other = len(listed), int(len(index) > len(listed))
    code_of = np.full(len(index), n_values)
    code_of[listed] = np.arange(n_values)
    missing = n_values + n_other if any_missing else -1
    codes[~absent] = code_of[raw]
    if any_missing:
        codes[absent] = missing
    return names[listed], (n_values, n_other, 1, missing)

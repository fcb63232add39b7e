"""The best monomial by trying them all: slow, obvious, NumPy only."""

from itertools import combinations

import numpy as np

__all__ = ["best_edge", "literal_matrix"]


def literal_matrix(columns):
    """Coverage of every literal of the grammar: ``columns`` are float arrays (NaN missing) or object arrays."""
    out = []
    for column in columns:
        if column.dtype == object:
            missing = np.array([v is None for v in column])
            values = sorted({v for v in column if v is not None})
            out += [(column == v) & ~missing for v in values] if len(values) > 1 or missing.any() else []
            out += [(column != v) & ~missing for v in values] if len(values) > 2 else []
        else:
            missing = np.isnan(column)
            values = np.unique(column[~missing])
            cuts = (values[1:] + values[:-1]) / 2
            out += [column <= t for t in cuts] + [column > t for t in cuts]
        if missing.any() and not missing.all():
            out.append(missing)
    return np.array(out, dtype=bool).reshape(len(out), len(columns[0]))


def best_edge(literals, g, length):
    """Largest ``sum_k |2 G_k(C) - G_k|`` over conjunctions of at most ``length`` literals that cover something."""
    total, best = g.sum(axis=0), -np.inf
    for size in range(1, length + 1):
        for chosen in combinations(range(len(literals)), size):
            covered = literals[list(chosen)].all(axis=0)
            if 0 < covered.sum() < len(g):
                best = max(best, float(np.abs(2 * g[covered].sum(axis=0) - total).sum()))
    return best

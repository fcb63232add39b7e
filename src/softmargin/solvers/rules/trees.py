"""Boosting over trees: the leaves of a histogram tree are the block of hypotheses leveraged in a round.

Hypothesis ``h_l`` of the block is 1 on the rows of leaf ``l`` and 0 elsewhere, a conjunction of as many literals as the
leaf is deep. Leaves are disjoint, so [LC] (see ``leveraging``) falls apart into one equation per leaf,

    sum_{i in leaf l} c_i y_i psi'(z_i + y_i d_l) + smoothing (psi'(d_l) - psi'(-d_l)) = 0,

each solved by safeguarded Newton, all leaves in one pass over the rows. The tree itself is grown on the second-order
expansion of the same objective, whose pseudo-examples make the ridge ``2 smoothing psi''(0)``. Steps are multiplied by
``learning_rate``; rows and columns may be drawn anew for each tree. Any loss of the boosting kind serves.

The certificate is the largest relative residual of these equations over all rounds, before steps are shortened: what
boosting by steps solves, as in ``leveraging``. The optimum over all leaves held is not claimed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._compiled.trees import apply_codes, grow
from softmargin._progress import is_heard, report
from softmargin.expansions import BinnedTable, TreeScore, in_threads
from softmargin.losses import Loss
from softmargin.solvers.rules.leveraging import Evaluation, WeightedRisk, leverage
from softmargin.solvers.rules.state import FALLBACK_SMOOTHING

__all__ = ["BoostedTrees", "TreePlan", "boost_trees", "score_of"]

Array = NDArray[np.floating[Any]]

_CATEGORY_SMOOTHING = 10.0  # rows of a category, in pseudo-examples, below which its mean is not trusted for sorting
_DEAD = 1e-9  # mean weight, relative to the start, below which nothing is left to learn


@dataclass(frozen=True)
class TreePlan:
    """How to grow and shrink trees; fractions are drawn anew for every tree.

    ``leaf_passes`` are the Newton passes over the rows per round at most; logistic leaves need four or five to ten
    digits, and two to the three that are left when the step is then shortened.
    """

    n_rounds: int
    learning_rate: float = 0.1
    smoothing: float = 1.0
    max_leaves: int = 31
    max_depth: int = 64
    min_weight: float = 20.0
    row_fraction: float = 1.0
    column_fraction: float = 1.0
    fit_intercept: bool = True
    tol: float = 1e-10
    leaf_passes: int = 60
    seed: int = 0
    n_threads: int = 1


@dataclass
class Tree:
    """One tree of one channel: nodes as ``_compiled.trees`` writes them, and the value of every node that is a leaf."""

    channel: int
    nodes: NDArray[np.int32]
    masks: NDArray[np.uint64]
    values: Array


@dataclass
class BoostedTrees:
    """The trees of all rounds, in order, and what was measured on the way; ``margins`` (channels, rows) are the last.

    Rows of weight zero have no say in the trees, but their margins are told like the others': rows left out are scored
    at no cost while the trees are grown.
    """

    loss: Loss
    intercept: Array
    margins: Array
    trees: list[Tree] = field(default_factory=list)
    edges: list[float] = field(default_factory=list)
    risks: list[float] = field(default_factory=list)
    gap: float = 0.0
    certificate: str = "largest residual of a leveraging step"
    stopped: str = "n_rules"


def boost_trees(
    binned: BinnedTable, loss: Loss, y: Array, weights: Array, plan: TreePlan, watch: Callable[[BoostedTrees], bool]
) -> BoostedTrees:
    """Boost trees for labels ``y`` (channels, rows) in {-1, +1}; ``watch`` sees each round and may end the run."""
    risks = [WeightedRisk(loss, signs, weights) for signs in y]
    intercept = np.array([_constant(risk) for risk in risks]) if plan.fit_intercept else np.zeros(len(y))
    points = [risk.at(risk.y * start) for risk, start in zip(risks, intercept, strict=True)]
    model = BoostedTrees(loss, intercept, _margins(points), risks=[_total(risks, points)])
    rng, first_size = np.random.default_rng(plan.seed), _size(risks, points)
    grower = _Grower(binned, plan, np.flatnonzero(weights > 0).astype(np.int32))
    for _ in range(plan.n_rounds):
        if _size(risks, points) <= _DEAD * first_size:
            model.stopped = "all weights vanished"
            break
        rows, columns = grower.draw(rng)

        def one_channel(k: int) -> _Step:
            return grower.step(risks[k], points[k], k, rows, columns)  # noqa: B023

        steps = in_threads(one_channel, range(len(y)), plan.n_threads if len(y) > 1 else 1)
        if all(step.tree.nodes.shape[0] == 1 for step in steps):
            model.stopped = "no rule has an edge"
            break
        points = [step.point for step in steps]
        model.margins = _margins(points)
        model.trees += [step.tree for step in steps]
        model.edges.append(max(step.edge for step in steps))
        model.risks.append(_total(risks, points))
        model.gap = max(model.gap, *(step.residual for step in steps))
        if is_heard():
            report("round", f"{len(model.risks) - 1}, risk {model.risks[-1]:.6g}")
        if watch(model):
            model.stopped = "early_stopping"
            break
    return model


@dataclass(frozen=True)
class _Step:
    tree: Tree
    point: Evaluation
    edge: float
    residual: float


class _Grower:
    """Grows one tree at a time over the same codes, from the rows that have weight."""

    def __init__(self, binned: BinnedTable, plan: TreePlan, rows: NDArray[np.int32]) -> None:
        self.binned, self.plan, self.rows = binned, plan, rows

    def draw(self, rng: np.random.Generator) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The rows and columns of the next tree."""
        rows: NDArray[np.int32] = self.rows
        columns: NDArray[np.int32] = self.binned.asked
        if self.plan.row_fraction < 1:
            rows = rows[rng.random(len(rows)) < self.plan.row_fraction]
            rows = rows if len(rows) else self.rows
        if self.plan.column_fraction < 1 and len(columns) > 1:
            count = max(1, math.ceil(self.plan.column_fraction * len(columns) - 1e-9))
            columns = np.sort(rng.choice(columns, size=count, replace=False)).astype(np.int32)
        return rows, columns

    def step(
        self, risk: WeightedRisk, point: Evaluation, k: int, rows: NDArray[np.int32], columns: NDArray[np.int32]
    ) -> _Step:
        """Grow a tree for channel ``k``, leverage its leaves, shorten the step."""
        plan, binned = self.plan, self.binned
        values = np.zeros((len(risk.weights), 4))
        values[:, 0] = -risk.weights * risk.y * point.slope
        values[:, 1] = risk.weights * point.curvature
        values[:, 2] = risk.weights
        nodes = np.empty((2 * plan.max_leaves - 1, 5), dtype=np.int32)
        masks = np.zeros((2 * plan.max_leaves - 1, 4), dtype=np.uint64)
        curvature = float(risk.loss.curvature(0.0))
        tiny = 1e-12 * float(np.abs(values[:, 1]).sum()) + np.finfo(float).tiny
        ridge = 2 * plan.smoothing * curvature + tiny
        limits = (
            plan.max_leaves,
            plan.max_depth,
            ridge,
            ridge + 2 * _CATEGORY_SMOOTHING * curvature,
            plan.min_weight,
            0.0,
        )
        order = rows.copy()
        count = grow(binned.codes, order, values, binned.offsets, binned.layout, columns, limits, nodes, masks)
        nodes, masks = nodes[:count].copy(), masks[:count].copy()
        leaf = np.empty(len(risk.weights), dtype=np.int32)
        apply_codes(binned.codes, nodes, masks, leaf)
        pulls = np.bincount(leaf, values[:, 0], count)
        edge = float(np.abs(pulls).sum()) / max(float(np.abs(values[:, 0]).sum()), np.finfo(float).tiny)
        steps, residual = leverage_leaves(risk, point, leaf, plan)
        steps *= plan.learning_rate
        there = risk.at(point.margins + risk.y * steps[leaf])
        values_of_nodes = np.zeros(count)
        values_of_nodes[: len(steps)] = steps
        return _Step(Tree(k, nodes, masks, values_of_nodes), there, edge, residual)


def leverage_leaves(
    risk: WeightedRisk, point: Evaluation, leaf: NDArray[np.int32], plan: TreePlan
) -> tuple[Array, float]:
    """Solve the equation of every leaf: the step of each node (zero if it is no leaf) and the largest residual left."""
    count, loss = int(leaf.max()) + 1, risk.loss
    smoothing = np.full(count, plan.smoothing)
    if plan.smoothing == 0:  # a leaf of one class has no finite step of its own
        pull = -risk.weights * risk.y * point.slope
        pure = np.abs(np.bincount(leaf, pull, count)) >= (1 - 1e-9) * np.bincount(leaf, np.abs(pull), count)
        smoothing[pure] = FALLBACK_SMOOTHING
    low, high, delta = np.full(count, -np.inf), np.full(count, np.inf), np.zeros(count)
    margins, residual = point.margins, 0.0
    for _ in range(plan.leaf_passes):
        pull = -risk.weights * risk.y * point.slope
        right, wrong = smoothing * loss.slope(delta), smoothing * loss.slope(-delta)
        force = np.bincount(leaf, pull, count) - (right - wrong)
        size = np.bincount(leaf, np.abs(pull), count) + np.abs(right) + np.abs(wrong)
        residual = float(np.divide(np.abs(force), size, out=np.zeros(count), where=size > 0).max())
        if residual <= plan.tol:
            break
        bend = np.bincount(leaf, risk.weights * point.curvature, count)
        bend += smoothing * (loss.curvature(delta) + loss.curvature(-delta))
        low, high = np.where(force > 0, delta, low), np.where(force > 0, high, delta)
        step = np.divide(force, bend, out=np.sign(force), where=bend > 0)
        limit = 4 * np.abs(delta) + 1
        there = delta + np.clip(step, -limit, limit)
        inside = (low < there) & (there < high) & (force != 0)
        with np.errstate(invalid="ignore"):
            there = np.where(inside, there, np.where(force == 0, delta, (low + high) / 2))
        delta = np.where(np.isfinite(there), there, delta)
        point = risk.at(margins + risk.y * delta[leaf])
    return delta, residual


def _constant(risk: WeightedRisk) -> float:
    """The best constant score."""
    seen = risk.weights > 0
    part = WeightedRisk(risk.loss, risk.y[seen], risk.weights[seen])
    return leverage(part, part.at(np.zeros(len(part.y))), np.ones(len(part.y))).delta


def _margins(points: list[Evaluation]) -> Array:
    return np.stack([point.margins for point in points])


def _total(risks: list[WeightedRisk], points: list[Evaluation]) -> float:
    return sum(risk.value(point) for risk, point in zip(risks, points, strict=True))


def _size(risks: list[WeightedRisk], points: list[Evaluation]) -> float:
    return sum(float(risk.weights @ np.abs(point.slope)) for risk, point in zip(risks, points, strict=True))


def score_of(model: BoostedTrees, binned: BinnedTable, trees: list[Tree] | None = None) -> TreeScore:
    """What scores new rows: thresholds in the units of the data, categories by name."""
    chosen = model.trees if trees is None else trees
    shift, nodes, thresholds, roots = 0, [], [], []
    for tree in chosen:
        moved = tree.nodes.copy()
        inner = moved[:, 0] >= 0
        thresholds.append(np.array([_threshold(binned, *node[:2]) for node in tree.nodes.tolist()]))
        moved[inner, 3:] += shift
        roots.append((shift, tree.channel))
        nodes.append(moved)
        shift += len(moved)
    empty = not chosen
    return TreeScore(
        intercept=model.intercept,
        nodes=np.empty((0, 5), dtype=np.int32) if empty else np.concatenate(nodes),
        thresholds=np.empty(0) if empty else np.concatenate(thresholds),
        masks=np.empty((0, 4), dtype=np.uint64) if empty else np.concatenate([tree.masks for tree in chosen]),
        values=np.empty(0) if empty else np.concatenate([tree.values for tree in chosen]),
        roots=np.array(roots, dtype=np.int32).reshape(-1, 2),
        categories={
            j: (tuple(binned.cuts[j].tolist()), bool(binned.layout[j, 1]))
            for j in range(len(binned.layout))
            if binned.layout[j, 2]
        },
    )


def _threshold(binned: BinnedTable, feature: int, code: int) -> float:
    """The number a split compares with; NaN for categories and leaves, infinity where only missing values go right."""
    if feature < 0 or binned.layout[feature, 2]:
        return float("nan")
    cuts = binned.cuts[feature]
    return float(cuts[code]) if code < len(cuts) else float("inf")

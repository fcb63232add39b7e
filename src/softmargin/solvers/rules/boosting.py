"""Boosting over rules that are found on the way (ULS): weigh the rows, find the rule of largest edge, leverage, repeat.

The model is ``f_k = b_k + sum_t a_kt h_t`` with rules ``h_t = +-1`` shared by all channels: one channel for two
classes, one per class otherwise (each against the rest, with its own coefficients; a rule's score is the sum of its
edges). The intercept is the coefficient of the empty rule. Updates of a round:

* ``single``: the new rule alone (with the empty rule, if there is one): classical boosting, every rule visited once;
* ``cyclic``: the same, and every ``recur`` rounds one cycle over all rules held, so that every rule recurs for ever
  and the risk converges to its infimum over them; a corrective polish at the end;
* ``corrective``: all rules held, by Newton. Rounds are solved until the largest edge on the rules held is small
  beside the edge of the new rule, and the last one to ``tol``.

The step of a round is multiplied by ``learning_rate``. A rule found again adds to the coefficient it has.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import RuleColumns
from softmargin.losses import Loss
from softmargin.solvers.rules.leveraging import (
    Block,
    Derivatives,
    Point,
    Separable,
    SeparableWarning,
    correct,
    leverage,
)
from softmargin.solvers.rules.search import Found, RuleSearch, Term

__all__ = ["UPDATES", "BoostedRules", "Plan", "Watch", "boost"]

Array = NDArray[np.floating[Any]]

UPDATES = ("corrective", "single", "cyclic")
_FALLBACK = 0.5  # pseudo-examples per rule when the optimum is at infinity
_ROUND_TOL = 5e-2  # edges on rules held, beside the edge of the new rule, that end a corrective round
_NONE = np.empty((0, 0))
_DEAD = 1e-9  # mean weight, relative to the start, below which nothing is left to learn


@dataclass(frozen=True)
class Plan:
    """How to boost; see the module's docstring."""

    n_rules: int
    update: str = "corrective"
    fit_intercept: bool = True
    learning_rate: float = 1.0
    smoothing: float = 0.5
    min_edge: float = 1e-6
    recur: int = 10
    rescore: int = 1
    tol: float = 1e-10


@dataclass
class BoostedRules:
    """Rules as monomials of codes, their columns, and coefficients (channels, rules); row 0 may be the empty rule."""

    terms: list[tuple[Term, ...]]
    columns: RuleColumns
    coef: Array
    intercept: Array
    stages: list[tuple[Array, Array]]
    edges: list[float]
    risks: list[float]
    losses: list[Loss]
    gap: float
    stopped: str


class Watch(Protocol):
    """An onlooker that may end a run; the model returns to its ``best_stage``."""

    best_stage: int

    def ends(self, model: BoostedRules) -> bool: ...


@dataclass
class _State:
    """The growing model: column 0 is the empty rule when there is an intercept."""

    loss: Loss
    plan: Plan
    y: Array
    weights: Array
    columns: RuleColumns
    points: list[Point]
    coef: Array
    smoothing: float
    n_threads: int = 1
    hessians: dict[int, Array] = field(default_factory=dict)
    terms: list[tuple[Term, ...]] = field(default_factory=list)
    known: dict[bytes, int] = field(default_factory=dict)

    @property
    def n_fixed(self) -> int:
        return int(self.plan.fit_intercept)

    @property
    def size(self) -> float:
        return float(sum(self.weights @ np.abs(point.slope) for point in self.points))

    def risk(self) -> float:
        """The smoothed risk: what every step lowers."""
        total = sum(point.risk(self.weights) for point in self.points)
        pseudo = self.pseudo(range(self.coef.shape[1]))
        if np.any(pseudo):
            both = self.loss.value(self.coef) + self.loss.value(-self.coef) - 2 * self.loss.value(0.0)
            total += float((both @ pseudo).sum())
        return total

    def largest_edge(self) -> float:
        """The largest entry of the gradient of the smoothed risk, relative to the weights of the examples."""
        count = self.columns.shape[1]
        edges = [0.0]
        for k, point in enumerate(self.points if count else ()):
            risk = Derivatives(self.loss, self.columns, self.y[k], self.weights, self.pseudo(range(count)), 1)
            edges.append(risk.gradient(point, self.coef[k])[1])
        return max(edges)

    def signed_weights(self) -> Array:
        g = [-self.weights * self.y[k] * point.slope for k, point in enumerate(self.points)]
        return np.ascontiguousarray(np.stack(g, axis=1))

    def hold(self, found: Found) -> int:
        """The number of the column with this coverage, added if it is new."""
        key = found.bits.tobytes()
        if key not in self.known:
            self.known[key] = self.columns.shape[1]
            self.columns.append(found.bits)
            self.terms.append(found.terms)
            self.coef = np.column_stack([self.coef, np.zeros(len(self.coef))])
        return self.known[key]

    def pseudo(self, members: Sequence[int]) -> Array:
        """Smoothing of each member; the intercept needs none, both classes are present."""
        return np.where(np.asarray(members) < self.n_fixed, 0.0, self.smoothing)

    def minimise(self, members: Sequence[int], tol: float, rate: float = 1.0) -> float:
        """A leveraging step on the block ``members`` for every channel; the largest edge left."""
        edge = 0.0
        for k in range(len(self.points)):
            block = self._block(k, members, tol)
            step = rate * (block.coef - self.coef[k, members])
            self.coef[k, members] += step
            if rate == 1:
                self.points[k] = block.point
            else:
                move = self.columns.take_rules(members).apply(step)
                self.points[k] = Point.at(self.loss, self.points[k].margins + self.y[k] * move)
            edge = max(edge, block.edge)
        return edge

    def _block(self, k: int, members: Sequence[int], tol: float) -> Block:
        point, coef = self.points[k], self.coef[k, members]
        try:
            if len(members) == 1 and self.smoothing == 0:
                step = leverage(self.loss, point, self.y[k] * self.columns.column(members[0]), self.weights, tol=tol)
                return Block(coef + step.delta, step.residual, step.n_passes, step.residual <= tol, step.point, _NONE)
            whole = len(members) == self.columns.shape[1]
            block = correct(
                self.loss,
                self.columns if whole else self.columns.take_rules(members),
                self.y[k],
                self.weights,
                point,
                coef,
                smoothing=self.pseudo(members),
                tol=tol,
                hessian=self.hessians.get(k) if whole else None,
                n_threads=self.n_threads,
            )
            if whole:
                self.hessians[k] = block.hessian
            return block
        except Separable:
            self._smooth()
            return self._block(k, members, tol)

    def _smooth(self) -> None:
        if self.smoothing > 0:
            raise AssertionError("a smoothed block always has a finite optimum")
        warnings.warn(
            "The rules separate the classes, so their coefficients have no finite optimum; from here on each rule is "
            f"smoothed by two pseudo-examples of weight {_FALLBACK}. Set smoothing > 0 to do so from the start, or "
            "fewer rules.",
            SeparableWarning,
            stacklevel=2,
        )
        self.smoothing = _FALLBACK


def boost(
    search: RuleSearch,
    losses: Sequence[Loss],
    y: Array,
    weights: Array,
    plan: Plan,
    *,
    prefer: str | None = None,
    watch: Watch | None = None,
) -> BoostedRules:
    """Boost rules for labels ``y`` (channels, rows) in {-1, +1}.

    With several ``losses`` each round takes the one ``prefer``s: the smallest training ``"error"`` after the step or
    the largest normalised ``"edge"`` before it. ``watch`` sees the model after every round and may end the run, which
    then returns to its best round.
    """
    state = _start(search, losses[0], y, weights, plan)
    model = BoostedRules([], state.columns, state.coef, state.coef, [], [], [], [], 0.0, "n_rules")
    first_size = state.size
    _record(model, state)
    for _ in range(plan.n_rules):
        if state.size <= _DEAD * first_size:
            model.stopped = "all weights vanished"
            break
        chosen = _choose(search, state, losses, prefer)
        if chosen is None or chosen[1] < plan.min_edge:
            model.stopped = "no rule has an edge" if chosen is None else "min_edge"
            break
        found, edge = chosen
        _update(state, state.hold(found), edge, len(model.edges) + 1)
        model.edges.append(edge)
        model.losses.append(state.loss)
        _record(model, state)
        if watch is not None and watch.ends(model):
            model.stopped = "early_stopping"
            break
    if watch is not None:
        _return_to(model, state, watch.best_stage)
    if plan.learning_rate == 1 and plan.update != "single" and state.columns.shape[1]:
        state.minimise(range(state.columns.shape[1]), plan.tol)
        model.stages.pop()
        model.risks.pop()
        _record(model, state)
    model.gap = state.largest_edge()
    model.losses = model.losses or [losses[0]]
    return model


def _return_to(model: BoostedRules, state: _State, stage: int) -> None:
    """Forget the rounds after ``stage``."""
    intercept, coef = model.stages[stage]
    n_rules = coef.shape[1]
    state.columns.keep(state.n_fixed + n_rules)
    state.hessians.clear()
    state.terms = state.terms[:n_rules]
    state.coef = np.column_stack([intercept, coef]) if state.n_fixed else coef.copy()
    state.loss = model.losses[max(stage, 1) - 1] if model.losses else state.loss
    margins = [state.y[k] * state.columns.apply(a) for k, a in enumerate(state.coef)]
    state.points = [Point.at(state.loss, z) for z in margins]
    del model.stages[stage + 1 :], model.risks[stage + 1 :]
    del model.edges[stage:], model.losses[stage:]
    model.terms, model.intercept, model.coef = state.terms, intercept, coef


def _start(search: RuleSearch, loss: Loss, y: Array, weights: Array, plan: Plan) -> _State:
    channels, n = y.shape
    columns = RuleColumns(n, room=min(plan.n_rules + 1, 128), n_threads=search.n_threads)
    points = [Point.at(loss, np.zeros(n)) for _ in range(channels)]
    state = _State(loss, plan, y, weights, columns, points, np.zeros((channels, 0)), plan.smoothing, search.n_threads)
    if plan.fit_intercept:
        columns.append(search.binned.all_rows())
        state.coef = np.zeros((channels, 1))
        state.minimise([0], plan.tol)
    return state


def _choose(
    search: RuleSearch, state: _State, losses: Sequence[Loss], prefer: str | None
) -> tuple[Found, float] | None:
    """The rule of this round with its normalised edge; switches ``state.loss`` to the loss it was found for."""
    if len(losses) == 1:
        return _propose(search, state)
    best: tuple[float, Found, float, Loss] | None = None
    for loss in losses:
        state.points = [Point.at(loss, point.margins) for point in state.points]
        state.loss = loss
        proposal = _propose(search, state)
        if proposal is None:
            continue
        merit = proposal[1] if prefer == "edge" else -_error_after(state, proposal[0])
        if best is None or merit > best[0] * (1 + 1e-12 * np.sign(best[0])):
            best = (merit, *proposal, loss)
    if best is None:
        return None
    state.loss = best[3]
    state.points = [Point.at(state.loss, point.margins) for point in state.points]
    return best[1], best[2]


def _propose(search: RuleSearch, state: _State) -> tuple[Found, float] | None:
    g = state.signed_weights()
    candidates = search.candidates(g, state.plan.rescore)
    if not candidates:
        return None
    found = candidates[0]
    if len(candidates) > 1:
        found = min(candidates, key=lambda one: _risk_after(state, one))
    return found, found.edge


def _trial(state: _State, found: Found) -> list[Point]:
    covered = RuleColumns(state.columns.n_rows, 1)
    covered.append(found.bits)
    column = covered.column(0)
    smoothing = state.smoothing or _FALLBACK if _pure(column, state) else state.smoothing
    return [
        leverage(state.loss, point, state.y[k] * column, state.weights, smoothing=smoothing).point
        for k, point in enumerate(state.points)
    ]


def _pure(column: Array, state: _State) -> bool:
    return any(abs(float((column * y).sum())) == len(column) for y in state.y)


def _risk_after(state: _State, found: Found) -> float:
    return sum(point.risk(state.weights) for point in _trial(state, found))


def _error_after(state: _State, found: Found) -> float:
    points = _trial(state, found)
    return sum(float(state.weights @ (point.margins <= 0)) for point in points)


def _update(state: _State, new: int, edge: float, n_round: int) -> None:
    plan, count = state.plan, state.columns.shape[1]
    fixed = list(range(state.n_fixed))
    if plan.update == "corrective":
        state.minimise(range(count), max(plan.tol, _ROUND_TOL * edge), plan.learning_rate)
        return
    state.minimise([*fixed, new], plan.tol, plan.learning_rate)
    if plan.update == "cyclic" and n_round % plan.recur == 0:
        for member in range(state.n_fixed, count):
            state.minimise([*fixed, member], plan.tol, plan.learning_rate)


def _record(model: BoostedRules, state: _State) -> None:
    model.terms, model.coef = state.terms, state.coef[:, state.n_fixed :]
    model.intercept = state.coef[:, 0] if state.n_fixed else np.zeros(len(state.coef))
    model.stages.append((model.intercept.copy(), model.coef.copy()))
    model.risks.append(state.risk())

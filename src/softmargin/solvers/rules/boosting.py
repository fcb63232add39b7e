"""Boosting over hypotheses that are found on the way (ULS): weigh the rows, take the block of largest edge, leverage.

The model is ``f_k = b_k + sum_t a_kt h_t`` with hypotheses ``h_t`` shared by all channels: one channel for two classes,
one per class otherwise (each against the rest, with its own coefficients; a rule's score is the sum of its edges). The
intercept is the coefficient of the empty rule. Updates of a round:

* ``single``: the new block alone (with the empty rule, if there is one): classical boosting, every rule visited once;
* ``cyclic``: the same, and every ``recur`` rounds one cycle over all rules held, so that every rule recurs for ever
  and the risk converges to its infimum over them; a corrective refit at the end;
* ``corrective``: all rules held, by Newton. Rounds are solved until the largest edge on the rules held is small
  beside the edge of the new rule, and the last one to ``tol``.

The step of a round is multiplied by ``learning_rate``. A rule found again adds to the coefficient it has.

Rate (Theorem 2 of the paper, constant corrected): with ``psi'' <= L`` the exact step along one column ``h`` lowers the
objective by at least ``g^2 / (2 L (sum_i c_i h_i^2 + 2 smoothing))``, ``g`` its gradient there; a larger block or a
corrective round lowers it by no less, a step shortened by ``learning_rate`` by that share at least. For the exponential
loss ``L`` is infinite, and with ``M = max(1, max |h|)`` the sum ``S`` of all exponentials, those of the pseudo-examples
included, falls to at most ``sqrt(1 - (g / (M S))^2)`` of itself. ``bounds`` adds these decreases up.

``renormalise`` keeps scores where the squared loss falls, [-1, 1], as the paper does: after a round the coefficients
are divided by the sum of their sizes where that exceeds one. The rows then have an edge on the new rule again and the
risk may rise, so the bound starts anew from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softmargin._progress import is_heard, report
from softmargin.losses import Exponential, Loss
from softmargin.solvers.rules.learners import Hypothesis, Learner, Proposal
from softmargin.solvers.rules.resident import ResidentState
from softmargin.solvers.rules.state import ModelState

__all__ = ["UPDATES", "BoostedModel", "Plan", "Round", "Watch", "boost", "boost_state"]

Array = NDArray[np.floating[Any]]

UPDATES = ("corrective", "single", "cyclic")
# Edges on rules held, beside the edge of the new rule, that end a corrective round. It sets the work of a round, not
# the accuracy of the fit: the last round is solved to `tol`.
_ROUND_TOL = 5e-2
_DEAD = 1e-9  # mean weight, relative to the start, below which nothing is left to learn


@dataclass(frozen=True)
class Plan:
    """How to boost; see the module's docstring. ``prefer`` chooses between several losses round by round."""

    n_rounds: int
    update: str = "corrective"
    fit_intercept: bool = True
    learning_rate: float = 1.0
    smoothing: float = 0.5
    min_edge: float = 1e-6
    recur: int = 10
    n_candidates: int = 1
    tol: float = 1e-10
    prefer: str | None = None
    renormalise: bool = False


@dataclass(frozen=True)
class Round:
    """What a round did: the columns it leveraged, their steps (channels, columns), and the scores losses had."""

    members: tuple[int, ...]
    edge: float
    steps: Array
    loss: Loss
    scores: tuple[float, ...] = ()


@dataclass
class BoostedModel:
    """Hypotheses and, after every round, an intercept per channel and coefficients (channels, hypotheses)."""

    loss: Loss
    hypotheses: list[Hypothesis] = field(default_factory=list)
    stages: list[tuple[Array, Array]] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    risks: list[float] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    gap: float = 0.0
    certificate: str = "largest edge on the rules held"
    stopped: str = "n_rules"


class Watch(Protocol):
    """An onlooker that may end a run; the model then returns to its ``best_stage``."""

    best_stage: int

    def ends(self, model: BoostedModel) -> bool: ...


def boost(
    learner: Learner, losses: Sequence[Loss], y: Array, weights: Array, plan: Plan, watch: Watch | None = None
) -> BoostedModel:
    """Boost the hypotheses of a learner for labels ``y`` (channels, rows) in {-1, +1}.

    With several ``losses`` each round takes the one ``plan.prefer``s: the smallest training ``"error"`` after the step
    or the largest normalised ``"edge"`` before it. ``watch`` sees the model after every round.
    """
    columns, n_fixed = learner.hold(min(plan.n_rounds + 1, 128)), int(plan.fit_intercept)
    state = ResidentState(
        loss=losses[0],
        smoothing=plan.smoothing,
        n_fixed=n_fixed,
        coef=np.zeros((len(y), n_fixed)),
        y=y,
        weights=weights,
        learner=learner,
        columns=columns,
    )
    return boost_state(state, losses, plan, watch)


def boost_state(state: ModelState, losses: Sequence[Loss], plan: Plan, watch: Watch | None = None) -> BoostedModel:
    """Boost from an empty model, wherever its rows are."""
    if state.n_fixed:
        state.minimise([0], plan.tol)
    model = BoostedModel(losses[0])
    model.residuals.append(state.largest_edge())
    first_size = state.size
    _record(model, state, state.objective())
    model.bounds.append(model.risks[0])
    for n_round in range(1, plan.n_rounds + 1):
        if state.size <= _DEAD * first_size:
            model.stopped = "all weights vanished"
            break
        proposal, scores = _choose(state, losses, n_round, plan)
        if proposal is None or proposal.edge < plan.min_edge:
            model.stopped = "no rule has an edge" if proposal is None else "min_edge"
            break
        _round(model, state, proposal, scores, plan)
        if is_heard():
            report("round", f"{len(model.risks) - 1}, risk {model.risks[-1]:.6g}")
        if watch is not None and watch.ends(model):
            model.stopped = "early_stopping"
            break
    if watch is not None:
        _return_to(model, state, watch.best_stage)
    if plan.learning_rate == 1 and plan.update != "single" and state.n_columns:
        state.minimise(range(state.n_columns), plan.tol)
        model.stages.pop()
        model.risks.pop()
        _record(model, state, state.objective())
        model.gap = state.largest_edge()
    else:  # boosting by steps solves each step, and never claims the optimum over all rules held
        model.gap, model.certificate = max(model.residuals), "largest residual of a leveraging step"
    model.loss = state.loss
    return model


def _choose(
    state: ModelState, losses: Sequence[Loss], n_round: int, plan: Plan
) -> tuple[Proposal | None, tuple[float, ...]]:
    """The block of this round and the score of every loss; switches the state to the loss it was found for."""
    if len(losses) == 1:
        return _propose(state, n_round, plan), ()
    best: tuple[float, Proposal, Loss] | None = None
    scores = []
    for loss in losses:
        state.switch(loss)
        proposal = _propose(state, n_round, plan)
        scores.append(np.nan if proposal is None else _merit(state, proposal, plan.prefer))
        if proposal is None:
            continue
        merit = scores[-1] if plan.prefer == "edge" else -scores[-1]
        if best is None or merit > best[0] * (1 + 1e-12 * np.sign(best[0])):
            best = (merit, proposal, loss)
    if best is None:
        return None, tuple(scores)
    state.switch(best[2])
    return best[1], tuple(scores)


def _merit(state: ModelState, proposal: Proposal, prefer: str | None) -> float:
    """The edge before the step, or the share of the weight on the wrong side after it."""
    if prefer == "edge":
        return proposal.edge
    return state.after(proposal)[1]


def _propose(state: ModelState, n_round: int, plan: Plan) -> Proposal | None:
    candidates = state.propose(n_round, plan.n_candidates)
    if len(candidates) > 1:
        return min(candidates, key=lambda one: state.after(one)[0])
    return candidates[0] if candidates else None


def _round(model: BoostedModel, state: ModelState, proposal: Proposal, scores: tuple[float, ...], plan: Plan) -> None:
    """Leverage the proposal and write down what happened."""
    changed = state.loss != model.loss
    members = state.hold(proposal.block)
    smoothing = state.smoothing
    before = state.objective() if changed else model.risks[-1]  # coefficients of zero cost nothing
    decrease, old = _guaranteed_decrease(state, members, before), state.coef[:, members]
    model.residuals.append(_update(state, members, proposal.edge, len(model.rounds) + 1, plan))
    after = state.objective()
    if plan.update == "corrective" and plan.learning_rate == 1 and after > before - decrease:
        state.minimise(range(state.n_columns), plan.tol)  # a rough round fell short of the promised rate
        after = state.objective()
    moved = plan.renormalise and state.renormalise()
    changed |= state.smoothing != smoothing
    model.loss = state.loss
    steps = state.coef[:, members] - old
    numbers = tuple(t - state.n_fixed for t in members)
    model.rounds.append(Round(numbers, proposal.edge, steps, state.loss, scores))
    _record(model, state, state.objective() if moved else after)
    # another loss or smoothing is another objective: the bound starts again from it
    start = before if changed else model.bounds[-1]
    anew = moved or state.smoothing != smoothing
    model.bounds.append(model.risks[-1] if anew else start - plan.learning_rate * decrease)


def _guaranteed_decrease(state: ModelState, members: Sequence[int], objective: float) -> float:
    """The least decrease of the objective by an exact step on a block; see the module's docstring."""
    gradients = np.square(state.gradients(members))
    pseudo = state.pseudo(members)
    if not isinstance(state.loss, Exponential):
        bend = float(state.loss.curvature_bound) * (state.squared_norms(members) + 2 * pseudo)
        ratios = np.divide(gradients, 2 * bend, out=np.zeros_like(gradients), where=(bend > 0) & np.isfinite(bend))
        return float(ratios.max(axis=1).sum())
    coef, all_pseudo = state.coef, state.pseudo(range(state.coef.shape[1]))
    total = objective + float((2 * all_pseudo).sum()) * len(coef)
    share = (
        (gradients / np.square(state.loss.rate * state.reach(members) * total)).max(axis=1).sum() if total > 0 else 0.0
    )
    return total * (1 - np.sqrt(max(0.0, 1 - share)))


def _update(state: ModelState, new: Sequence[int], edge: float, n_round: int, plan: Plan) -> float:
    """The steps of a round; the largest residual they left."""
    count, fixed = state.n_columns, list(range(state.n_fixed))
    if plan.update == "corrective":
        rough = _ROUND_TOL * edge if plan.learning_rate == 1 else 0.0  # a shortened step cannot be made up for
        return state.minimise(range(count), max(plan.tol, rough), plan.learning_rate)
    residual = state.minimise([*fixed, *new], plan.tol, plan.learning_rate)
    if plan.update == "cyclic" and n_round % plan.recur == 0:
        for member in range(state.n_fixed, count):
            residual = max(residual, state.minimise([*fixed, member], plan.tol, plan.learning_rate))
    return residual


def _record(model: BoostedModel, state: ModelState, objective: float) -> None:
    model.hypotheses = state.hypotheses
    intercept = state.coef[:, 0].copy() if state.n_fixed else np.zeros(len(state.coef))
    model.stages.append((intercept, state.coef[:, state.n_fixed :].copy()))
    model.risks.append(objective)


def _return_to(model: BoostedModel, state: ModelState, stage: int) -> None:
    """Forget the rounds after ``stage``."""
    intercept, coef = model.stages[stage]
    loss = model.rounds[max(stage, 1) - 1].loss if model.rounds else model.loss
    state.return_to(loss, np.column_stack([intercept, coef]) if state.n_fixed else coef, state.smoothing)
    del model.stages[stage + 1 :], model.risks[stage + 1 :], model.bounds[stage + 1 :]
    del model.rounds[stage:], model.residuals[stage + 1 :]
    model.hypotheses = state.hypotheses

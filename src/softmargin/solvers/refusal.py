"""Why no solver takes a problem, in the terms of who posed it: the pair that does not go together, and what would.

What would is not known but tried: each change of one parameter makes another problem, and those that a solver accepts
are the remedies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from softmargin.losses import HuberizedHinge, Welsch
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem

__all__ = ["refusal"]


def refusal(problem: Problem, accepted: Callable[[Problem], bool], in_memory: bool = False) -> str:
    """The message; ``accepted`` says whether a changed problem, on rows that are where they are, would be solved.

    ``in_memory`` says that the problem itself would be, if its rows were there.
    """
    remedies = [words for words, changed in _changes(problem) if accepted(changed)]
    if in_memory:
        remedies.append("give the rows in memory")
    advice = f" {_capital(', or '.join(remedies))}." if remedies else ""
    where = "" if problem.expansion.is_resident else " on rows outside memory"
    return f"loss={problem.loss!r} cannot be fitted with {_described(problem)}{where}.{advice}"


def _described(problem: Problem) -> str:
    penalty = problem.penalty
    words = f"l1_ratio={penalty.l1_ratio:g}" if penalty.convex else f"penalty={penalty!r}"
    return f"{words} and positive=True" if penalty.convex and penalty.positive else words


def _changes(problem: Problem) -> Iterator[tuple[str, Problem]]:
    """Problems that differ in one parameter, the smallest change first."""
    penalty, loss = problem.penalty, problem.loss
    without = "" if penalty.convex else "penalty=None"
    if not penalty.convex:
        yield (
            f"use {without} (an elastic net)",
            replace(problem, penalty=ElasticNet(penalty.l1_ratio, penalty.factors, penalty.positive)),
        )
    if penalty.positive:
        yield "use positive=False", replace(problem, penalty=replace(penalty, positive=False))
    if penalty.l1_ratio > 0:
        ridge = ElasticNet(0.0, None, penalty.positive)
        words = " and ".join(filter(None, [without, "l1_ratio=0"]))
        yield f"use {words} (a ridge)", replace(problem, penalty=ridge)
    smooth = HuberizedHinge() if loss.convex else Welsch(1.0)
    if not loss.smooth:
        yield f"use a smooth loss, such as loss={smooth.name!r}", problem.with_loss(smooth)
    if not loss.convex:
        yield "use a convex loss, such as loss='huberized_hinge'", problem.with_loss(HuberizedHinge())


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

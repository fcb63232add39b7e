"""The one driver of nonconvex fits: bound the objective by one that is easier and touches here, minimise it, repeat.

Whatever the bounds are, they touch at the present point and lie above, so

    J(f_{k+1}) <= bound_k(f_{k+1}) <= bound_k(f_k) = J(f_k):

the objective never rises (``history``), which the driver checks at every round: a round that raises it beyond rounding
is undone and ends the search. Four kinds of problems go through it, each saying how a round is made and when to stop:
nonconvex margin losses (:mod:`.margin_losses`), psi-learning on families of box QPs (:mod:`.psi`), capped losses of k
scores (:mod:`.drop_and_refit`) and concave penalties (:mod:`softmargin.solvers.elastic_net.local_linear`).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

__all__ = ["ROUNDING", "Descent", "Majorization", "majorize_minimise"]

ROUNDING = 1e-12  # relative rise of an objective that rounding explains


class Majorization(Protocol):
    """A nonconvex objective, seen from the point where its minimisation stands."""

    def objective(self) -> float:
        """The nonconvex objective at the present point; inf where no round has been made yet."""
        ...

    def next_round(self) -> bool | None:
        """Go to the minimiser of the bound that touches here, or to a better point.

        True where that was the last round worth making, None where the descent ends without a verdict: the bound has
        no minimiser, or the objective is no longer the same.
        """
        ...

    def undo(self) -> None:
        """Go back to where the last round began."""
        ...


class Descent(NamedTuple):
    """The rounds made so far, and whether the last one settled the matter."""

    n_rounds: int
    settled: bool


def majorize_minimise(target: Majorization, history: list[float], max_rounds: int) -> Descent:
    """Rounds until one says it is the last, at most ``max_rounds``; their objectives are appended to ``history``."""
    value = target.objective()
    for number in range(1, max_rounds + 1):
        settled = target.next_round()
        if settled is None:
            return Descent(number, False)
        last, value = value, target.objective()
        if value > last + ROUNDING * (1 + abs(last)):
            target.undo()
            return Descent(number, False)
        history.append(value)
        if settled:
            return Descent(number, True)
    return Descent(max_rounds, False)

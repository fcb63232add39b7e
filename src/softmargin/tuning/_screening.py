"""Many candidates of a kernel for the price of a few fits: screen them through landmarks, judge the best exactly.

A fit of ``n`` rows and its influences cost ``n^3``; seen through ``r`` landmarks (Nystroem's features, in single
precision) they cost ``n r^2``, whatever the loss. Landmarks are nested, so that a kernel can be looked at through few
of them, twice and four times as many (*levels*), each fit starting from the one before. Three things are true of
scores that are judged so, and are used:

* Along ``C`` they are smooth: at the first level a few costs are fitted and those between are interpolated (in log C,
  without overshooting).
* Few landmarks let a large ``C`` look harmless, because a row cannot be learned by heart: from one level to the next
  the best ``C`` moves down, if it moves.
* Across kernels they are biased: a narrow kernel loses more to the landmarks than a wide one. With ``s_r`` the score at
  a level, ``s_2r - (s_r - s_2r) / 2`` is what kernels are compared by.

The best candidate is then fitted and judged with all rows, and so is the runner-up where the landmarks leave a doubt.
Only a candidate that was judged exactly can win.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from sklearn.base import clone

from softmargin.expansions import DenseFeatures, nested_landmarks
from softmargin.solvers import Solution
from softmargin.tuning._judges import DEFAULT_COSTS, PathJudge
from softmargin.tuning._left_out_scores import auto_costs, influence_scores

__all__ = ["Judged", "can_screen", "screen"]

Array = NDArray[np.floating[Any]]

# From so many rows and candidates on landmarks pay, and choose as well as judging all of them exactly does
# (``python -m benchmarks real``: tuned_rbf_choice; 500 rows of phoneme, magic, german, spambase, banana, australian,
# pima_diabetes and adult: the same kernels and costs for less than half the time; 400 rows of magic and australian are
# too few to be sure).
_ROWS, _CANDIDATES = 500, 10
# One row in so many is a landmark of the last level; 100 of 500 rows chose another width than all of them in 1 of 10.
_SHARE, _FEWEST, _MOST = 5, 160, 1000
_LEVELS = (4, 2, 1)  # divisors of that number
_FIRST = 5  # costs of a family that are fitted at the first level
_STEPS = 10  # of the range of costs: how far later levels look around
_FINALISTS = 2  # families that are looked at through all landmarks, where more than one could be the best
_ROUGH = 1e-3  # gap of the fits through landmarks
_REACH = 0.5  # of the best gain at the first level, below which a family is not looked at again
_REST = 0.5  # of what the last doubling of the landmarks gave is still to come
_DOUBT = 0.5  # of what is still to come: a difference below it does not decide between two kernels


class Judged(NamedTuple):
    """A candidate's criterion, its standard error, how it was judged and its solution where all rows were fitted."""

    cost: float
    score: float
    error: float
    how: str
    solution: Solution | None = None


def can_screen(judges: Sequence[Any], data: Any) -> bool:
    """Whether the candidates are kernel machines with influences, on so many rows that landmarks pay."""
    if not all(isinstance(judge, PathJudge) and judge.criterion == "alo" for judge in judges):
        return False
    if len(data.codes) < _ROWS or sum(judge.n_costs for judge in judges) < _CANDIDATES:
        return False
    return all(_is_kernel_ridge(judge.template) for judge in judges)


def _is_kernel_ridge(template: Any) -> bool:
    penalty, loss = template._penalty(), template._loss()
    whole = getattr(template, "kernel", None) is not None and getattr(template, "n_components", 0) is None
    return whole and penalty.l1_ratio == 0 and not penalty.positive and loss.convex and loss.smooth


class Look(NamedTuple):
    """What one level says of one cost."""

    score: float
    error: float
    solutions: list[Solution]


class LandmarkJudge(PathJudge):
    """A family of candidates through landmarks: costs are fitted when asked for, from the nearest one known."""

    def __init__(self, exact: PathJudge, data: Any) -> None:
        template = clone(exact.template).set_params(tol=max(exact.template.tol, _ROUGH))
        super().__init__(exact.options, template, exact.classes, exact.chosen)
        self.exact, self.data = exact, data
        path, self.problems = self._problems(data)
        self._solve = path._solve
        self.costs = self._costs(lambda n: auto_costs(self.problems[0], n or DEFAULT_COSTS))
        self.step = max(round((len(self.costs) - 1) / _STEPS), 1)
        self.levels = [
            DenseFeatures(np.ascontiguousarray(self.expansion.rows()[:, : self.expansion.shape[1] // part]))
            for part in _LEVELS
        ]
        self.seen: list[dict[int, Look]] = [{} for _ in _LEVELS]

    def _expanded(self, template: Any, data: Any) -> Any:
        n = len(data.codes)
        kernel, most = template._kernel(data), min(max(n // _SHARE, _FEWEST), _MOST)
        seed = self.options.seed if template.random_state is None else template.random_state
        return DenseFeatures(nested_landmarks(data.X, kernel, most, seed))

    def look(self, level: int, k: int) -> float:
        """The criterion at a level and a cost."""
        seen = self.seen[level]
        if k not in seen:
            found: list[Solution] = []
            columns = []
            for problem, start in zip(self.problems, self.nearest(level, k), strict=True):

                def solve(scaled: Any, _: Any, start: Any = start) -> Solution:
                    found.append(self._solve(scaled, start))
                    return found[-1]

                part = replace(problem, expansion=self.levels[level])
                columns.append(influence_scores(part, self.costs[[k]], solve, self.data.counts))
            score, error = self._judged(self.problems, self.data, columns)
            seen[k] = Look(float(score[0]), float(error[0]), found)
        return seen[k].score

    @property
    def first_best(self) -> int:
        """The best of the costs fitted at the first level."""
        return min(self.seen[0], key=lambda k: self.seen[0][k].score)

    def nearest(self, level: int, k: int) -> list[Any]:
        """The solutions at the nearest cost that was fitted, of this level or the last one before it."""
        for below in range(level, -1, -1):
            if self.seen[below]:
                near = min(self.seen[below], key=lambda other: abs(other - k))
                missing = self.levels[level].shape[1] - self.levels[below].shape[1]
                found = self.seen[below][near].solutions
                return [replace(one, coef=np.pad(one.coef, (0, missing))) for one in found]
        return [None] * len(self.problems)

    def descend(self, level: int, k: int, way: int = -1) -> int:
        """The best cost at a level, from one that was best at the level before, in steps down or up."""
        ahead = k + way * self.step
        while 0 <= ahead < len(self.costs) and self.look(level, ahead) < self.look(level, k):
            k, ahead = ahead, ahead + way * self.step
        return k

    def vertex(self, level: int, k: int) -> int:
        """The cost at the lowest point of the parabola through the best cost and its neighbours."""
        if not self.step <= k < len(self.costs) - self.step or self.step == 1:
            return k
        below, here, above = (self.look(level, k + shift) for shift in (-self.step, 0, self.step))
        bend = below - 2 * here + above
        return k if bend <= 0 else k + round(float(np.clip(0.5 * (below - above) / bend, -0.5, 0.5)) * self.step)

    def rows(self, exact: Judged | None) -> Iterator[Judged]:
        """Every candidate as it was judged best."""
        at = sorted(self.seen[0])
        known = np.array([self.seen[0][k][:2] for k in at])
        curve = PchipInterpolator(np.log(self.costs[at]), known) if len(at) > 1 else lambda _: known[0]
        for k, cost in enumerate(self.costs):
            looks = [(seen[k], level) for level, seen in enumerate(self.seen) if k in seen]
            if exact is not None and cost == exact.cost:
                yield exact
            elif looks:
                look, level = looks[-1]
                yield Judged(float(cost), look.score, look.error, f"{self.levels[level].shape[1]} landmarks")
            else:
                score, error = curve(np.log(cost))
                yield Judged(float(cost), float(score), float(error), "interpolated")


@dataclass
class Finalist:
    """A family with its best cost at a level, its criterion there and what more landmarks would take from it."""

    judge: LandmarkJudge
    cost: int
    score: float
    loss: float

    @classmethod
    def at(cls, judge: LandmarkJudge, level: int, cost: int) -> Finalist:
        """The family at a level, ``cost`` being its best one at the level before."""
        best = judge.descend(level, cost)
        if level == len(_LEVELS) - 1 and best == cost:
            best = judge.descend(level, cost, 1)
        score = judge.look(level, best)
        return cls(judge, best, score, _REST * max(judge.look(level - 1, cost) - score, 0.0))

    @property
    def estimate(self) -> float:
        """The criterion as it would be with all rows."""
        return self.score - self.loss


def screen(judges: Sequence[Any], data: Any) -> tuple[list[list[Judged]], Any]:
    """The candidates of every family, and the expansion of the family of the best one."""
    families = [LandmarkJudge(judge, data) for judge in judges]
    for one in families:
        for k in np.unique(np.linspace(0, len(one.costs) - 1, _FIRST).round().astype(int)):
            one.look(0, int(k))
    seconds = [Finalist.at(one, 1, one.first_best) for one in _within_reach(families)]
    finalists = [Finalist.at(one.judge, 2, one.cost) for one in _contenders(seconds, 1.0)]
    exact = {id(one.judge): _judge_exactly(one, data) for one in _contenders(finalists, _DOUBT)}
    winner = min(exact, key=lambda key: exact[key].score)
    expansion = next(one.exact.expansion for one in families if id(one) == winner)
    return [list(one.rows(exact.get(id(one)))) for one in families], expansion


def _within_reach(families: list[LandmarkJudge]) -> list[LandmarkJudge]:
    """The families that gain at least a share of what the best one gains on the smallest cost, the constant."""
    constant = max(one.look(0, 0) for one in families)
    gains = [constant - one.look(0, one.first_best) for one in families]
    return [one for one, gain in zip(families, gains, strict=True) if gain >= _REACH * max(gains)]


def _contenders(families: list[Finalist], doubt: float) -> list[Finalist]:
    """The most promising families: the best, and others that are no worse by a share of what the landmarks lose."""
    first, *others = sorted(families, key=lambda one: one.estimate)[:_FINALISTS]
    return [first, *(one for one in others if one.estimate - first.estimate < doubt * (one.loss + first.loss))]


def _judge_exactly(one: Finalist, data: Any) -> Judged:
    judge, k = one.judge.exact, one.judge.vertex(len(_LEVELS) - 1, one.cost)
    cost = float(one.judge.costs[k])
    # a kernel's coefficients are the dual point, which does not depend on the landmarks
    near = one.judge.nearest(len(_LEVELS) - 1, k)
    judge.chosen, judge.starts = [cost], [replace(start, coef=start.dual) for start in near]
    ((_, score, error),) = judge.judge(data, None, None, None)
    return Judged(cost, score, error, "exact", judge.solutions[0] if judge.solutions else None)

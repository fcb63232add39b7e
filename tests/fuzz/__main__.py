"""The command line: run cases for some seconds, or one case again in the foreground."""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # a fork does not survive the threads of its parent

import argparse
import itertools
import secrets
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator

from .case import CLASSIFIERS, Case, Focus
from .faults import Fault
from .pool import Limits, Outcome, run_cases


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Random cases with oracles.")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to start new cases")
    parser.add_argument("--cases", type=int, default=None, help="how many cases at most")
    parser.add_argument("--seed", type=int, default=None, help="drawn and printed if not given")
    parser.add_argument("--case", type=int, default=None, help="run this case alone, here")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--memory", type=float, default=3.0, help="GiB a case may take, 0 for no limit")
    parser.add_argument("--rows", type=int, nargs=2, default=None, help="single fits of so many rows, from and to")
    parser.add_argument("--only", nargs="+", default=[], choices=sorted(CLASSIFIERS), metavar="CLASS", help="of these")
    parser.add_argument("--tables", action="store_true", help="rows of real tables in place of made ones")
    parser.add_argument("--all", action="store_true", help="print every fault, not one of each kind")
    parser.add_argument("--refusals", type=int, default=0, help="print the most frequent refusals")
    parser.add_argument("--slow", type=float, default=0.0, help="print cases of more than that many seconds")
    return parser.parse_args()


def _run_one(case: Case) -> int:
    try:
        answer = case.run()
    except Fault as fault:
        traceback.print_exc()
        print(f"\n{case.text}\nFAULT {fault.kind}: {fault}")
        return 1
    except BaseException:
        traceback.print_exc()
        print(f"\n{case.text}")
        return 1
    print(f"{case.text}\n{answer}")
    return 0


def _print_fault(outcome: Outcome, again: int) -> None:
    if again == 0:
        print(f"FAULT {outcome.kind}: {outcome.message}\n    {outcome.text}\n    {outcome.repeat}", flush=True)


def _until_interrupted(outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
    """Outcomes until there are no more or somebody has seen enough."""
    try:
        yield from outcomes
    except KeyboardInterrupt:
        print("interrupted", flush=True)


def _summary(verdicts: Counter[str], kinds: Counter[str], refusals: Counter[str], shown: int) -> None:
    total = sum(verdicts.values())
    print(", ".join([f"{total} cases", *(f"{count} {verdict}" for verdict, count in verdicts.most_common())]))
    for kind, count in kinds.most_common():
        print(f"{count:6d}  {kind}")
    for text, count in refusals.most_common(shown):
        print(f"{count:6d}  {text}")


def main() -> int:
    """Run and report; the exit status is 1 where there was a fault."""
    options = _arguments()
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    focus = Focus(None if options.rows is None else tuple(options.rows), tuple(options.only), options.tables)
    if options.case is not None:
        return _run_one(Case(seed, options.case, focus=focus))
    print(f"fuzzing with --seed {seed}", flush=True)
    end = time.monotonic() + options.seconds
    numbers = itertools.islice(itertools.count(options.first), options.cases)
    verdicts, kinds, refusals = Counter[str](), Counter[str](), Counter[str]()
    spent: list[float] = []
    limits = Limits(memory=int(options.memory * 2**30))
    outcomes = run_cases(seed, numbers, options.jobs, lambda: time.monotonic() < end, limits, focus)
    for outcome in _until_interrupted(outcomes):
        verdicts[outcome.verdict] += 1
        spent.append(outcome.seconds)
        if outcome.verdict == "fault":
            _print_fault(outcome, 0 if options.all else kinds[outcome.kind])
            kinds[outcome.kind] += 1
        elif outcome.verdict == "refused":
            refusals["".join("0" if c.isdigit() else c for c in outcome.message)[:160]] += 1
        if options.slow and outcome.seconds > options.slow:
            print(f"SLOW {outcome.seconds:.1f} s {outcome.text}\n    {outcome.repeat}", flush=True)
    _summary(verdicts, kinds, refusals, options.refusals)
    if spent:
        average, median = sum(spent) / len(spent), sorted(spent)[len(spent) // 2]
        print(f"processor time of a case: {1e3 * average:.0f} ms on average, {1e3 * median:.0f} ms in the middle")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())

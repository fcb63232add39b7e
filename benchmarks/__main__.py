"""``python -m benchmarks [TOPIC ...] [--quick]``: race the peers, rewrite the topics' sections of RESULTS.md."""

from __future__ import annotations

import argparse

from benchmarks._harness import run_topic, topics


def main() -> None:
    """Run the topics named on the command line, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("topic", nargs="*", help=f"one of: {', '.join(topics())} (default: all)")
    parser.add_argument("--quick", action="store_true", help="smaller problems, one timed run, RESULTS.md untouched")
    parser.add_argument("--runs", type=int, help="timed runs per solver (default: 5)")
    parser.add_argument("--only", nargs="+", metavar="TABLE", help="tables of one topic to make anew, by function name")
    arguments = parser.parse_args()
    unknown = set(arguments.topic) - set(topics())
    if unknown:
        parser.error(f"unknown topic {', '.join(sorted(unknown))}; known: {', '.join(topics())}")
    if arguments.only and len(arguments.topic) != 1:
        parser.error("--only needs exactly one topic")
    for name in arguments.topic or topics():
        run_topic(name, arguments.quick, arguments.runs, only=arguments.only)


if __name__ == "__main__":
    main()

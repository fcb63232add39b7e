"""The harness races fairly: absent peers are named, unequal objectives are flagged, other sections stay."""

import sys
import types

import pytest

pytest.importorskip("benchmarks._harness", reason="benchmarks are importable from the repository root only")

from benchmarks._harness import Absent, Contest, Timed, _write_section, contest, peer, race, report, run_topic, table


def contest_of(ours_value, peer_value, **peers):
    return Contest(
        "toy", ours=lambda: Timed(ours_value, 1.0), peers={"rival": lambda: Timed(peer_value, 2.0), **peers},
        objective=lambda result: result, bar=0.8, dream=0.4, runs=2,
    )  # fmt: skip


def test_ratio_is_ours_over_best_peer_at_equal_objective():
    one = contest_of(10.0, 10.0, slower=lambda: Timed(9.0, 4.0))
    text = report(one, race(one, 2))
    assert "ours / best peer (rival): 0.50" in text
    assert "equal objective" in text
    assert "unequal" not in text


def test_a_sloppier_result_of_ours_is_called_unequal():
    one = contest_of(10.1, 10.0)
    assert "unequal: ours is 1.0e-02 above it" in report(one, race(one, 1))


def test_a_faster_peer_that_stops_short_of_our_objective_is_named_but_does_not_lead():
    one = contest_of(10.0, 10.0, hasty=lambda: Timed(11.0, 0.5))
    text = report(one, race(one, 1))
    assert "ours / best peer (rival): 0.50" in text
    assert "2.00 of hasty, which stops 1.0e-01 above ours" in text


def test_the_fastest_peer_leads_where_none_reaches_our_objective():
    one = contest_of(10.0, 10.5, hasty=lambda: Timed(11.0, 0.5))
    text = report(one, race(one, 1))
    assert "ours / best peer (hasty): 2.00" in text
    assert "no peer comes within" in text


def test_absent_peers_are_listed_with_their_reason():
    def missing():
        raise Absent("not installed (nowhere)")

    one = contest_of(1.0, 1.0, nowhere=missing, unknown=peer("no_such_peer", "fit"))
    text = report(one, race(one, 1))
    assert "| nowhere | absent: not installed (nowhere)" in text
    assert "| unknown | absent: not installed" in text


def test_a_topic_rewrites_only_its_own_section(tmp_path):
    page = tmp_path / "RESULTS.md"
    _write_section("other", "kept", page)
    topic = types.ModuleType("benchmarks.toytopic", "A toy.")
    topic.race = contest(lambda quick: contest_of(1.0, 1.0))
    topic.numbers = table(lambda quick: f"| a |\n| --- |\n| {len(page.read_text())} |")
    topic.numbers.__doc__ = "Numbers"
    topic.race.__name__, topic.numbers.__name__ = "race", "numbers"
    topic.race.__module__ = topic.numbers.__module__ = topic.__name__
    sys.modules[topic.__name__] = topic
    try:
        run_topic("toytopic", results=page)
        first = page.read_text()
        run_topic("toytopic", results=page, only=["numbers"])
    finally:
        del sys.modules[topic.__name__]
    assert "kept" in first
    assert first.count("<!-- begin toytopic -->") == page.read_text().count("<!-- begin toytopic -->") == 1
    assert "ours / best peer" in first
    race_of, numbers_of = (slice(first.index("### toy"), first.index("### Numbers")), first.index("### Numbers"))
    again = page.read_text()
    assert again[race_of] == first[race_of]
    assert again[numbers_of:] != first[numbers_of:]

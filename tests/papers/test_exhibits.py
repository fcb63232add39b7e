"""Every table: two of its cells from two small replications; verdicts, page and command."""

import re

import numpy as np
import pytest

typer_testing = pytest.importorskip("typer.testing")
pytest.importorskip("matplotlib").use("Agg")

from softmargin.cli._app import app
from softmargin.datasets import DataNotFound
from softmargin.papers import Cell, Exhibit, Experiment, Note, Part, Store, choose, compare, exhibits, jobs_of, run_jobs
from softmargin.papers.bracketing import _methods
from softmargin.papers.bracketing import benchmarks as bracketing_benchmarks
from softmargin.papers.coherence import benchmarks as coherence_benchmarks
from softmargin.papers.coherence import simulations
from softmargin.papers.robust import benchmarks as robust_benchmarks
from softmargin.papers.thesis import balancing, composite, truncated
from softmargin.papers.uls import domains

TABLES = [one for one in exhibits() if one.published]
FIGURES = [one for one in exhibits() if one.draw is not None and one.experiment is None]
CHEAP = {"uls-domains": "hayes_roth", "coherence-benchmarks": "usps_1v7", "robust-benchmarks": "Haber 10%"}


@pytest.fixture
def small(monkeypatch):
    """Short grids, few draws and few test rows: the same code in a fraction of the time."""
    settings = {
        simulations: {"PENALTIES": np.array([1.0, 0.1, 0.03, 0.01, 0.001]), "WEIGHTS": 4},
        coherence_benchmarks: {"PENALTIES": np.array([0.1, 0.01]), "OMEGAS": (0.5,)},
        _methods: {"WEIGHTS": 4, "COSTS": np.array([0.1, 1.0]), "DRAWS": 2},
        bracketing_benchmarks: {"TEST_ROWS": 200},
        robust_benchmarks: {"COSTS": (1.0, 10.0), "WIDTHS": (1.0,), "SIGMAS": (np.inf, 1.0)},
        truncated: {"LINEAR": np.array([0.1, 1.0]), "CURVED": np.array([0.1, 1.0]), "TEST_ROWS": 500},
        balancing: {"COSTS": np.array([0.25, 4.0]), "TEST_ROWS": 500},
        composite: {"PENALTIES": 2.0 ** np.arange(-16, 16, 8), "MIXES": np.linspace(0, 1, 11), "TEST_ROWS": 500},
        domains: {"SETTINGS": {"l=2, r=10": (2, 3)}},
    }
    for module, values in settings.items():
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Tables that show one experiment share its replications."""
    return Store.open(tmp_path_factory.mktemp("papers") / "kept.jsonl")


def first_part(experiment):
    wanted = CHEAP.get(experiment.name, experiment.parts[0].name)
    return next(part for part in experiment.parts if part.name == wanted)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_two_cells_of_every_table(table, small, kept):
    part = first_part(table.experiment)
    if part.replicate is None:
        assert {one.verdict for one in compare(table, kept)} == {"cannot be run"}
        assert "not obtainable" in part.unavailable
        return
    only = Experiment(table.experiment.name, (part,), table.experiment.replications)
    run_jobs(jobs_of([only], 2, kept), kept)
    if (only.name, part.name) in kept.missing:
        pytest.skip(kept.missing[only.name, part.name])
    done = [one for one in compare(table, kept) if one.part == part.name]
    assert len(done) >= 2
    assert all(one.replications == min(2, only.replications) for one in done)
    assert all(np.isfinite(one.mean) for one in done)


def test_the_flavours_of_rules_are_ranked(small, tmp_path):
    names = ("hayes_roth", "tae")
    parts = tuple(part for part in domains.EXPERIMENT.parts if part.name in names)
    store = Store.open(tmp_path / "kept.jsonl")
    run_jobs(jobs_of([Experiment("uls-domains", parts, 10)], 2, store), store)
    if store.missing:
        pytest.skip(next(iter(store.missing.values())))
    head, lines = domains.summary(store.results(domains.EXPERIMENT))
    assert len(head) == 4
    assert [line[0] for line in lines] == list(domains.FLAVOURS)
    assert lines[0][1] == lines[1][1]  # mu and M are one method


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_every_figure_without_an_experiment_is_drawn(figure):
    try:
        drawn = figure.draw({})
    except DataNotFound as error:
        pytest.skip(str(error))
    assert drawn.axes
    import matplotlib.pyplot as plt

    plt.close(drawn)


def toy(**options):
    def replicate(number):
        return {"error": 0.2 + 0.01 * (number % 2), "other error": 0.4 + 0.01 * (number % 2)}

    experiment = Experiment("toy", (Part("all", replicate), Part("gone", None, "nobody has it")), 4)
    return Exhibit("uls-table-9", "Toy", "Error", "As it is.", experiment, **options)


def verdicts(tmp_path, exhibit):
    store = Store.open(tmp_path / "kept.jsonl")
    run_jobs(jobs_of([exhibit.experiment], None, store), store)
    return {(one.part, one.row): one for one in compare(exhibit, store)}


@pytest.mark.parametrize(
    ("value", "options", "verdict"),
    [
        (0.205, {}, "agrees"),
        (0.3, {}, "differs"),
        (0.3, {"notes": (Note("all", "error", "Because."),)}, "explained"),
        (0.405, {"alternatives": (("with another rule", "other "),)}, "explained"),
        (0.3, {"notes": (Note("all", "err", "Because."),)}, "differs"),
    ],
)
def test_verdicts(tmp_path, value, options, verdict):
    published = {"all": {"error": Cell(value, 0.001, 3)}, "gone": {"error": Cell(0.1, None, 3)}}
    found = verdicts(tmp_path, toy(published=published, **options))
    assert found["all", "error"].verdict == verdict
    assert found["gone", "error"].verdict == "cannot be run"
    assert found["gone", "error"].why == "nobody has it"


def test_a_spread_is_a_standard_deviation_only_where_the_file_says_so():
    table = next(one for one in TABLES if one.name == "thesis-table-2.1")
    cells = table.published["flip 5%"]
    assert cells["PLR"].error == pytest.approx(0.00143)
    assert cells["Croux-Haesbroeck"].error == pytest.approx(0.001)


def test_names_are_distinct_and_may_be_shortened():
    names = [one.name for one in exhibits()]
    assert len(set(names)) == len(names) >= 40
    assert {one.name for one in choose(["thesis-table-2"])} == {n for n in names if n.startswith("thesis-table-2.")}
    assert [one.name for one in choose(["uls-table-1"])] == ["uls-table-1"]
    with pytest.raises(ValueError, match="thesis-table"):
        choose(["thesis-tabel-2.1"])


def invoke(*arguments):
    return typer_testing.CliRunner().invoke(app, ["papers", *arguments])


def test_the_command_writes_page_and_results_and_goes_on(small, tmp_path):
    output = str(tmp_path)
    first = invoke("thesis-table-3.1", "uls-figure-1", "--replications", "1", "--output", output)
    assert first.exit_code == 0, first.output
    again = invoke("thesis-table-3.1", "--replications", "2", "--resume", "--output", output)
    assert again.exit_code == 0, again.output
    assert len((tmp_path / "replications.jsonl").read_text().splitlines()) == 6
    page, results = ((tmp_path / name).read_text() for name in ("index.html", "RESULTS.md"))
    assert "Table 3.1" in page
    assert "2 of 100 replications" in results
    assert not re.search(r"\bnan\b", page)
    assert invoke("--list").output.count("thesis-") >= 12
    assert "tabel" in invoke("tabel").output


CURVES = [one for one in exhibits() if one.draw is not None and one.experiment is not None]


@pytest.mark.parametrize("figure", CURVES, ids=lambda figure: figure.name)
def test_every_figure_with_an_experiment_is_drawn_from_its_replications(figure, small, kept):
    import matplotlib.pyplot as plt

    only = Experiment(figure.experiment.name, (first_part(figure.experiment),), figure.experiment.replications)
    run_jobs(jobs_of([only], 2, kept), kept)
    if (only.name, only.parts[0].name) in kept.missing:
        pytest.skip(kept.missing[only.name, only.parts[0].name])
    drawn = figure.draw(kept.results(figure.experiment))
    assert drawn.axes
    plt.close(drawn)

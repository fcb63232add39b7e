"""The command line: sections run alone, failures are loud, the page holds what was shown."""

import html.parser
import io
import re

import pytest

typer_testing = pytest.importorskip("typer.testing")
pytest.importorskip("matplotlib").use("Agg")

from rich.console import Console

import softmargin
from softmargin.cli import _run
from softmargin.cli._app import app
from softmargin.cli._data import patients
from softmargin.cli._stage import Section, Stage
from softmargin.cli.demo import sections


def invoke(*arguments):
    return typer_testing.CliRunner().invoke(app, list(arguments))


def quiet():
    return Console(quiet=True)


def test_version():
    assert softmargin.__version__ in invoke("--version").output


def test_sections_have_distinct_names_and_places():
    names = [section.name for section in sections()]
    assert len(set(names)) == len(names) > 0
    assert len({section.order for section in sections()}) == len(names)
    listed = invoke("demo", "--list").output
    assert all(name in listed for name in names)


@pytest.mark.filterwarnings("ignore:the penalty moves a coefficient")  # which the page shows with the intervals
@pytest.mark.parametrize("section", sections(), ids=lambda section: section.name)
def test_each_section_runs_alone(section, tmp_path):
    result = invoke("demo", "--only", section.name, "--output", str(tmp_path))
    assert result.exit_code == 0, result.output
    page = (tmp_path / "index.html").read_text()
    pictures = re.findall(r'<img src="([^"]+)"', page)
    assert sorted(pictures) == sorted(path.name for path in tmp_path.glob("*.png"))
    assert "<table>" in page


def test_an_unknown_section_names_the_nearest():
    result = invoke("demo", "--only", "loses")
    assert result.exit_code != 0
    assert "losses" in result.output


def test_a_failing_section_is_reported_and_the_rest_still_run(tmp_path):
    def fail(stage):
        raise RuntimeError("the lamp is broken")

    def work(stage):
        stage.note("all well & good")

    chosen = [Section("bad", 1, "Bad", "fails", fail), Section("good", 2, "Good", "works", work)]
    assert _run.run(chosen, tmp_path, quiet()) == ["bad"]
    page = (tmp_path / "index.html").read_text()
    assert "the lamp is broken" in page
    assert "all well &amp; good" in page


class _Names(html.parser.HTMLParser):
    """Every tag and attribute of a page, and its text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


HOSTILE = [
    "<script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "' autofocus='",
    "</table></section>",
    "[/red] [bold",
    "&amp;lt;",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_becomes_markup_on_the_page_or_the_terminal(tmp_path, name):
    import matplotlib.pyplot as plt

    def show(stage):
        stage.note(name)
        stage.table(name, [name, "value"], [[name, 1.0]])
        stage.text(name, name)
        stage.picture("plot", plt.figure(), name)

    console = Console(file=io.StringIO(), width=200)
    harmless, hostile = Section("a", 1, "a", "a", show), Section("a" + name.replace("/", ""), 1, name, name, show)
    assert _run.run([hostile], tmp_path, console) == []
    assert name in console.file.getvalue()
    page = _Names((tmp_path / "index.html").read_text())
    assert name in page.text
    name = "plain"
    assert _run.run([harmless], tmp_path, quiet()) == []
    plain = _Names((tmp_path / "index.html").read_text())
    assert page.tags == plain.tags
    assert page.attributes == plain.attributes


def test_a_stage_keeps_what_it_shows(tmp_path):
    import matplotlib.pyplot as plt

    stage = Stage("topic", tmp_path, quiet())
    stage.table("numbers", ["name", "value"], [["a", 1.23456], ["b", True]])
    stage.picture("plot", plt.figure(), "a picture")
    stage.code(patients)
    _, rows, numeric = stage.items[0].content
    assert rows == [["a", "1.235"], ["b", "yes"]]
    assert numeric == [False, False]
    assert (tmp_path / "topic_plot.png").stat().st_size > 0
    assert "def patients" in stage.items[2].content


def test_demo_patients_have_fifteen_percent_wrong_labels():
    data = patients()
    assert data.wrong.sum() == round(0.15 * len(data.y))
    assert (data.clean != data.y).sum() == data.wrong.sum()
    assert set(data.y_test) == {"benign", "malignant"}

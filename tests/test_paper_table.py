"""Every call that docs/papers_to_calls.md names exists and runs; every other row gives a reason."""

import re
import warnings
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "papers_to_calls.md").read_text()
SETUP = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL).group(1)
# equations, theorems, lemmas, algorithms, tables and figures of each paper, as they are numbered there
NUMBERED = {
    "Coherence functions": (20, ["Theorem 6", "Theorem 9", "Theorem 11", "Algorithm 1", "Lemma 12", "Table 6"]),
    "Bracketing": (24, ["Lemma 1", "Algorithm 1", "Theorem 1", "Theorem 2", "Theorem 3", "Table 5", "Figure 1"]),
    "Robust support vector": (0, ["(2.2)", "(2.3)", "(3.1)", "(4.2)", "(A.1)", "Algorithm 1", "Theorem 2", "Table 2"]),
    "Classification calibrated": (
        25,
        ["Theorem 1", "Theorem 2", "Lemma 3", "Lemma 4", "Algorithm 1", "Table 1", "Figures 1 and 2", "Figure 3"],
    ),
}
CHAPTERS = {1: 10, 2: 36, 3: 35, 4: 19}


def sections():
    found = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    return {part.split("\n", 1)[0]: part for part in found}


def rows():
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 3 and cells[0] not in ("item", "---"):
            yield cells


@pytest.fixture(scope="module")
def names():
    import matplotlib

    matplotlib.use("Agg")
    space = {}
    exec(SETUP, space)
    return space


@pytest.mark.parametrize("row", list(rows()), ids=lambda row: row[0][:40])
def test_the_call_runs_or_a_reason_is_given(row, names):
    item, _, cell = row
    calls = re.findall(r"`([^`]+)`", cell)
    reason = re.sub(r"`[^`]+`", "", cell).strip(" :;,")
    assert calls or len(reason) > 10, f"{item} has neither a call nor a reason"
    for call in calls:
        if call.isidentifier() and call in names:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert eval(call, names) is not None


def covered(text):
    """The equation numbers of the items of a section, ranges spelled out."""
    found = set()
    for item in re.findall(r"^\| ([^|]+) \|", text, flags=re.MULTILINE):
        found |= set(re.findall(r"\((\d+(?:\.\d+)?)\)", item))
        for low, high in re.findall(r"\((\d+(?:\.\d+)?)\) to \((\d+(?:\.\d+)?)\)", item):
            chapter = low.split(".")[0] + "." if "." in low else ""
            first, last = int(low.split(".")[-1]), int(high.split(".")[-1])
            found |= {f"{chapter}{number}" for number in range(first, last + 1)}
    return found


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_numbered_statement_of_a_paper_has_a_row(paper):
    (text,) = [part for name, part in sections().items() if name.startswith(paper)]
    last, others = NUMBERED[paper]
    missing = {str(number) for number in range(1, last + 1)} - covered(text)
    assert not missing
    items = " ".join(re.findall(r"^\| ([^|]+) \|", text, flags=re.MULTILINE))
    assert not [name for name in others if name not in items]


def test_every_equation_theorem_and_table_of_the_thesis_has_a_row():
    (text,) = [part for name, part in sections().items() if name.startswith("Flexible")]
    wanted = {f"{chapter}.{number}" for chapter, last in CHAPTERS.items() for number in range(1, last + 1)}
    assert not wanted - covered(text)
    items = " ".join(re.findall(r"^\| ([^|]+) \|", text, flags=re.MULTILINE))
    tables = [f"Table {name}" for name in ["2.1", "2.2", "2.3", "2.4", "2.5", "3.1", "3.2", "3.3", "4.1", "4.2", "4.3"]]
    theorems = ["Theorem 1", "Theorem 2", "Theorem 3", "Theorem 4", "Theorems 5 and 6", "Theorem 7", "Theorem 8"]
    others = ["Lemma 1", "Lemmas 2 to 7", "Remark 1", "Remark 2"]
    assert not [name for name in [*tables, *theorems, *others] if name not in items]


def test_every_figure_of_the_thesis_has_a_row():
    (text,) = [part for name, part in sections().items() if name.startswith("Flexible")]
    items = " ".join(re.findall(r"^\| (Figures? [^|]+) \|", text, flags=re.MULTILINE))
    found = set(re.findall(r"\d\.\d", items))
    for low, high in re.findall(r"(\d\.\d) to (\d\.\d)", items):
        found |= {f"{low[0]}.{number}" for number in range(int(low[2]), int(high[2]) + 1)}
    wanted = {
        f"{chapter}.{number}" for chapter, last in {1: 1, 2: 8, 3: 8, 4: 7}.items() for number in range(1, last + 1)
    }
    assert not wanted - found

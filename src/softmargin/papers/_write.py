"""RESULTS.md and index.html: every exhibit with published and own numbers, verdicts, explanations and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from softmargin.papers._exhibit import Exhibit, Results
from softmargin.papers._run import Store
from softmargin.papers._verdict import VERDICTS, Verdict, compare, tally

__all__ = ["PAPERS", "Shown", "show", "write_markdown", "write_page"]

PAPERS = {
    "coherence": "Zhang, Dai & Jordan (2012): Coherence functions in large-margin classification methods",
    "bracketing": "Wang, Shen & Liu (2008): Probability estimation for large-margin classifiers",
    "robust": "Feng, Yang, Huang, Mehrkanoon & Suykens (2016): Robust support vector machines for classification",
    "thesis": "Park (2010): Flexible margin-based classification techniques",
    "uls": "Nock & Nielsen (2008): On the efficient minimization of classification calibrated surrogates",
}
_MARKS = {"agrees": "=", "explained": "~", "differs": "≠", "cannot be run": "∅", "not run": "·"}
_LEGEND = (
    "A cell reads: published → ours ± standard error, and = agrees within two combined standard errors, "
    "~ differs and is explained below the table, ≠ differs, ∅ cannot be run, · not run."
)


@dataclass(frozen=True)
class Shown:
    """An exhibit with its cells, its picture (a file beside the page) and the processor time spent."""

    exhibit: Exhibit
    verdicts: list[Verdict]
    picture: str = ""
    seconds: float = 0.0
    summary: tuple[list[str], list[list[str]]] | None = None

    @property
    def replications(self) -> str:
        """How many replications were run, of how many."""
        experiment = self.exhibit.experiment
        if experiment is None:
            return ""
        counts = sorted({one.replications for one in self.verdicts if one.replications})
        run = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0] if counts else 0)
        return f"{run} of {experiment.replications} replications"


def show(exhibits: Sequence[Exhibit], store: Store, output: Path) -> list[Shown]:
    """Compare every exhibit and draw those that can be drawn."""
    output.mkdir(parents=True, exist_ok=True)
    shown = []
    for exhibit in exhibits:
        results = {} if exhibit.experiment is None else store.results(exhibit.experiment)
        seconds = 0.0 if exhibit.experiment is None else store.seconds(exhibit.experiment)
        summary = exhibit.summary(results) if exhibit.summary is not None and results else None
        shown.append(Shown(exhibit, compare(exhibit, store), _draw(exhibit, results, output), seconds, summary))
    return shown


def _draw(exhibit: Exhibit, results: Results, output: Path) -> str:
    if exhibit.draw is None or (exhibit.experiment is not None and not results):
        return ""
    from softmargin.plots import pyplot

    figure = exhibit.draw(results)
    name = f"{exhibit.name}.png"
    figure.savefig(output / name, dpi=110, bbox_inches="tight", facecolor="white")
    pyplot().close(figure)
    return name


def _number(value: float, digits: int) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def _cell(one: Verdict) -> str:
    digits = one.published.digits
    published = _number(one.published.value, digits)
    if not one.replications:
        return f"{published} {_MARKS[one.verdict]}"
    error = f" ± {_number(one.error, digits)}" if one.replications > 1 else ""
    return f"{published} → {_number(one.mean, digits)}{error} {_MARKS[one.verdict]}"


def _grid(verdicts: list[Verdict]) -> tuple[list[str], list[str], dict[tuple[str, str], Verdict]]:
    """Rows down and parts across, or the other way where there are fewer rows than parts."""
    rows, parts = (list(dict.fromkeys(getattr(one, name) for one in verdicts)) for name in ("row", "part"))
    if len(parts) > len(rows):
        return parts, rows, {(one.part, one.row): one for one in verdicts}
    return rows, parts, {(one.row, one.part): one for one in verdicts}


def _explanations(verdicts: list[Verdict]) -> list[str]:
    """Each explanation once, with the cells it speaks of."""
    cells: dict[str, list[str]] = {}
    for one in verdicts:
        if one.why:
            cells.setdefault(one.why, []).append(f"{one.part}, {one.row}")
    return [f"{why} ({_count(names)}: {_few(names)})" for why, names in cells.items()]


def _count(names: list[str]) -> str:
    return "1 cell" if len(names) == 1 else f"{len(names)} cells"


def _few(names: list[str], most: int = 4) -> str:
    return "; ".join(names[:most]) + ("; ..." if len(names) > most else "")


def _summary(shown: Sequence[Shown]) -> list[tuple[str, dict[str, int]]]:
    papers = dict.fromkeys(one.exhibit.paper for one in shown)
    counts = [
        (paper, tally([cell for one in shown if one.exhibit.paper == paper for cell in one.verdicts]))
        for paper in papers
    ]
    return [*counts, ("all", tally([cell for one in shown for cell in one.verdicts]))]


def write_markdown(path: Path, shown: Sequence[Shown]) -> None:
    """The results as one Markdown file."""
    lines = [
        "# The papers, run again",
        "",
        "Made by `softmargin papers`. " + _LEGEND,
        "",
        "| paper | " + " | ".join(VERDICTS) + " |",
        "| --- |" + " ---: |" * len(VERDICTS),
    ]
    lines += [
        f"| {paper} | " + " | ".join(str(counts[name]) for name in VERDICTS) + " |" for paper, counts in _summary(shown)
    ]
    paper = ""
    for one in shown:
        if one.exhibit.paper != paper:
            paper = one.exhibit.paper
            lines += ["", f"## {PAPERS[paper]}"]
        lines += _markdown_section(one)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _markdown_section(one: Shown) -> list[str]:
    exhibit = one.exhibit
    lines = ["", f"### {exhibit.title}", "", f"`{exhibit.name}`. {exhibit.protocol}"]
    if one.verdicts:
        lines[-1] += f" {exhibit.metric}; {one.replications}, {one.seconds:.0f} s of processor time."
        rows, columns, cells = _grid(one.verdicts)
        lines += ["", "| | " + " | ".join(columns) + " |", "| --- |" + " --- |" * len(columns)]
        lines += [
            f"| {row} | "
            + " | ".join(_cell(cells[row, column]) if (row, column) in cells else "" for column in columns)
            + " |"
            for row in rows
        ]
        lines += ["", *(f"- {text}" for text in _explanations(one.verdicts))]
    if one.summary:
        head, body = one.summary
        lines += ["", "| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
        lines += ["| " + " | ".join(line) + " |" for line in body]
    if one.picture:
        lines += ["", f"![{exhibit.title}]({one.picture})"]
    return lines


_STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; color: #1f2933; max-width: 74rem; margin: 0 auto; padding: 1.5rem; }
h1 { letter-spacing: -.02em; } h2 { margin-top: 2.4rem; border-bottom: 1px solid #d9dfe5; }
h3 { margin: 1.8rem 0 .2rem; } .scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #e4e9ee; text-align: left; white-space: nowrap; }
th { color: #52606d; } p, li { color: #3e4c59; max-width: 60rem; } img { max-width: 100%; }
.agrees { background: #e8f5ee; } .explained { background: #fff6df; } .differs { background: #fde8e4; }
.cannot-be-run, .not-run { color: #7b8794; } nav a { margin-right: 1rem; white-space: nowrap; }
"""


def write_page(path: Path, shown: Sequence[Shown]) -> None:
    """The results as one page."""
    links = "".join(f'<a href="#{one.exhibit.name}">{escape(one.exhibit.name)}</a> ' for one in shown)
    body, paper = [], ""
    for one in shown:
        if one.exhibit.paper != paper:
            paper = one.exhibit.paper
            body.append(f"<h2>{escape(PAPERS[paper])}</h2>")
        body.append(_page_section(one))
    head = "".join(f"<th>{escape(name)}</th>" for name in ("paper", *VERDICTS))
    counts = "".join(
        f"<tr><td>{escape(name)}</td>" + "".join(f"<td>{count[one]}</td>" for one in VERDICTS) + "</tr>"
        for name, count in _summary(shown)
    )
    path.write_text(
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>softmargin: the papers, run again</title><style>{_STYLE}</style></head>
<body><h1>The papers, run again</h1><p>Made by <code>softmargin papers</code>. {escape(_LEGEND)}</p>
<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{counts}</tbody></table></div><nav><p>{links}</p></nav>
{"".join(body)}
</body></html>
""",
        encoding="utf-8",
    )


def _page_section(one: Shown) -> str:
    exhibit = one.exhibit
    text = exhibit.protocol
    table = notes = ""
    if one.verdicts:
        text += f" {exhibit.metric}; {one.replications}, {one.seconds:.0f} s of processor time."
        rows, columns, cells = _grid(one.verdicts)
        head = "<th></th>" + "".join(f"<th>{escape(column)}</th>" for column in columns)
        lines = (
            f"<tr><th>{escape(row)}</th>"
            + "".join(_page_cell(cells.get((row, column))) for column in columns)
            + "</tr>"
            for row in rows
        )
        table = (
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in _explanations(one.verdicts))
    if one.summary:
        head_cells = "".join(f"<th>{escape(name)}</th>" for name in one.summary[0])
        body = "".join("<tr>" + "".join(f"<td>{escape(v)}</td>" for v in line) + "</tr>" for line in one.summary[1])
        table += f'<div class="scroll"><table><thead><tr>{head_cells}</tr></thead><tbody>{body}</tbody></table></div>'
    picture = f'<p><img src="{one.picture}" alt="{escape(exhibit.title)}" loading="lazy"></p>' if one.picture else ""
    return (
        f'<section id="{exhibit.name}"><h3>{escape(exhibit.title)}</h3>'
        f"<p><code>{exhibit.name}</code>. {escape(text)}</p>"
        f"{table}<ul>{notes}</ul>{picture}</section>"
    )


def _page_cell(one: Verdict | None) -> str:
    if one is None:
        return "<td></td>"
    return f'<td class="{one.verdict.replace(" ", "-")}">{escape(_cell(one))}</td>'

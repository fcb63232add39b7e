"""The report as Markdown: tables for a pull request, a wiki or a mail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from softmargin._constraints import TEXT, Constraint

__all__ = ["NUMBERS", "to_markdown"]

_KEYS = ("data", "scores", "reliability", "confusion", "labels", "columns", "made")
NUMBERS = Constraint(
    "the dict that report.summarise returns",
    lambda value: isinstance(value, Mapping) and all(key in value for key in _KEYS),
)
_SHOWN_SUSPECTS, _SHOWN_COLUMNS, _SHOWN_CLASSES = 30, 15, 20


def to_markdown(numbers: Mapping[str, Any], title: str = "Report") -> str:
    """The numbers of :func:`summarise` as one Markdown page."""
    NUMBERS.check("numbers", numbers)
    TEXT.check("title", title)
    parts = [f"# {_text(title)}", _answer(numbers), "## Scores", _scores(numbers), "## Reliability", _tests(numbers)]
    if numbers["confusion"]["table"] and len(numbers["data"]["classes"]) <= _SHOWN_CLASSES:
        classes = numbers["data"]["classes"]
        rows = ([name, *line] for name, line in zip(classes, numbers["confusion"]["table"], strict=True))
        parts += ["## True class (down) and predicted class (across)", _table(["", *classes], rows)]
    if numbers["labels"]:
        parts += ["## Labels to look at again", _labels(numbers["labels"])]
    if numbers["columns"]:
        shown = ([c["name"], f"{c['rise']:.4f}"] for c in numbers["columns"][:_SHOWN_COLUMNS])
        parts += ["## Columns", _table(["column", "rise of the log loss when shuffled"], shown)]
    parts += ["## How it was made", _table(["", ""], numbers["made"].items())]
    return "\n\n".join(parts) + "\n"


def _answer(numbers: Mapping[str, Any]) -> str:
    data, error = numbers["data"], next(iter(numbers["scores"].values()))["error"]
    return (
        f"On {data['rows']} rows it had not seen, the model is wrong in {100 * error['estimate']:.1f}% of cases "
        f"({100 * error['low']:.1f} to {100 * error['high']:.1f}%)."
    )


def _scores(numbers: Mapping[str, Any]) -> str:
    keys = ("log_loss", "error", "brier", "auc")

    def show(score: Mapping[str, float]) -> str:
        return f"{score['estimate']:.3f} ({score['low']:.3f} – {score['high']:.3f})"

    rows = ([name, *(show(score[key]) for key in keys)] for name, score in numbers["scores"].items())
    return _table(["classifier", "log loss", "error", "Brier", "AUC"], rows)


def _tests(numbers: Mapping[str, Any]) -> str:
    tests = numbers["reliability"]
    names = {"cumulative": "cumulative differences", "spiegelhalter": "Spiegelhalter"}
    rows = ([word, f"{tests[key]['statistic']:.2f}", f"{tests[key]['p_value']:.3f}"] for key, word in names.items())
    return _table(["test", "statistic", "p"], rows)


def _labels(labels: Mapping[str, Any]) -> str:
    number = labels["n_errors"]
    text = (
        f"About {number['estimate']:.0f} labels are probably wrong ({number['low']:.0f} to {number['high']:.0f}); "
        f"{labels['n_suspects']} are worth looking at first."
    )
    keys = ("row", "given", "suggested", "trust")
    rows = ([s["row"], s["given"], s["suggested"], f"{s['trust']:.3f}"] for s in labels["suspects"][:_SHOWN_SUSPECTS])
    return text + "\n\n" + _table(keys, rows) if labels["suspects"] else text


def _table(head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    head = [_text(cell) for cell in head]
    lines = [head, ["---"] * len(head), *([_text(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _text(value: Any) -> str:
    """Text that Markdown leaves alone, on one line."""
    line = " ".join(str(value).split())
    return re.sub(r"([\\`*_{}\[\]<>#|~$])", r"\\\1", line)

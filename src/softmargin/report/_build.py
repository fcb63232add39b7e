"""From the numbers of a report to one file: HTML that opens anywhere, Markdown, or the numbers as JSON."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from softmargin._constraints import NONE, TEXT, Constraint, mapping
from softmargin.files import write_atomically
from softmargin.report._markdown import NUMBERS, to_markdown
from softmargin.report._summary import summarise

__all__ = ["build", "render", "to_json"]

_HERE = Path(__file__).parent
_DOUBTFUL = 0.01  # p-value of the calibration tests below which the page says that probabilities are off

_SECTIONS = (
    ("answer", "answer", None),
    ("data", "data", None),
    ("scores", "scores", None),
    ("reliability", "reliability", None),
    ("threshold", "threshold", "thresholds"),
    ("confusion", "classes", None),
    ("paths", "exact paths", "paths"),
    ("labels", "labels", "labels"),
    ("columns", "columns", "columns"),
    ("reading", "type in values", "reading"),
    ("made", "how it was made", None),
)


def build(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    title: str = "Report",
    about: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Write a report about a fitted classifier to one file and return its numbers.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``
    X, y : rows and labels that were not used to fit
    path : str or path-like
        The page; an ending ``.md`` makes it Markdown, ``.json`` the numbers alone. It appears whole or not at all.
    title : str
        Its heading.
    about : dict, optional
        What to say about how the model was made.
    **options
        Of :func:`summarise`.
    """
    _PATH.check("path", path)
    TEXT.check("title", title)
    _ABOUT.check("about", about)
    path = Path(path)
    numbers = summarise(model, X, y, **options)
    numbers["made"] |= {str(key): str(value) for key, value in (about or {}).items()}
    write_atomically(path, _FORMS[path.suffix.lower()](numbers, title).encode())
    return numbers


def render(numbers: Mapping[str, Any], title: str) -> str:
    """The page; everything that came from data is escaped by the template."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError("report.build needs Jinja2: pip install 'softmargin[cli]'") from error
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    page, style, script = (_HERE.joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js"))
    losses = [score["log_loss"]["high"] for score in numbers["scores"].values()]
    tests = numbers["reliability"]
    return environment.from_string(page).render(
        r=numbers,
        title=title,
        style=style,
        script=script,
        data=_script_safe(numbers),
        model=next(iter(numbers["scores"])),
        best=_best_baseline(numbers["scores"]),
        calibrated=min(tests[name]["p_value"] for name in ("cumulative", "spiegelhalter")) > _DOUBTFUL,
        widest=1.05 * max((loss for loss in losses if math.isfinite(loss)), default=1.0) or 1.0,
        sections=[(id, name) for id, name, key in _SECTIONS if key is None or numbers[key]],
    )


def _best_baseline(scores: Mapping[str, Any]) -> dict[str, Any] | None:
    others = list(scores.items())[1:]
    if not others:
        return None
    name, best = min(others, key=lambda item: item[1]["error"]["estimate"])
    return {"name": name, "error": best["error"]["estimate"]}


def to_json(numbers: Mapping[str, Any]) -> str:
    """The numbers as JSON; what is not finite is null."""
    NUMBERS.check("numbers", numbers)
    return json.dumps(_finite(numbers), ensure_ascii=True, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


_FORMS: dict[str, Callable[[Mapping[str, Any], str], str]] = {
    "": render,
    ".html": render,
    ".htm": render,
    ".md": to_markdown,
    ".json": lambda numbers, title: to_json(numbers),
}
_PATH = Constraint(
    f"a file name that ends in {', '.join(filter(None, _FORMS))} or in nothing",
    lambda value: isinstance(value, (str, os.PathLike)) and Path(value).suffix.lower() in _FORMS,
)
_ABOUT = NONE | mapping("a dict from names to texts")


def _script_safe(numbers: Mapping[str, Any]) -> str:
    """JSON that cannot end the script element that holds it, whatever the labels say."""
    text = to_json(numbers)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

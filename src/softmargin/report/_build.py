"""From the numbers of a report to one HTML file."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from softmargin.report._summary import summarise

__all__ = ["build", "render"]

_TEMPLATE = Path(__file__).parent / "page.html"


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
    """Write a report about a fitted classifier to one HTML file and return its numbers.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``
    X, y : rows and labels that were not used to fit
    path : str or path-like
        The page; it appears whole or not at all.
    title : str
        Its heading.
    about : dict, optional
        What to say about how the model was made.
    **options
        Of :func:`summarise`.
    """
    numbers = summarise(model, X, y, **options)
    numbers["made"] |= dict(about or {})
    page = render(numbers, title)
    path = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(page)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return numbers


def render(numbers: Mapping[str, Any], title: str) -> str:
    """The page; everything that came from data is escaped by the template."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError("report.build needs Jinja2: pip install 'softmargin[cli]'") from error
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=False)
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(r=numbers, title=title, data=_script_safe(numbers), model=next(iter(numbers["scores"])))


def _script_safe(numbers: Mapping[str, Any]) -> str:
    """JSON that cannot end the script element that holds it, whatever the labels say."""
    text = json.dumps(numbers, ensure_ascii=True, allow_nan=True).replace("NaN", "null")
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

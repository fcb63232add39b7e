"""Run the sections one after another; a section that fails says so and the others still run."""

from __future__ import annotations

import difflib
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.rule import Rule
from rich.text import Text

from softmargin.cli._page import Chapter, write_page
from softmargin.cli._stage import Item, Section, Stage

__all__ = ["choose", "run"]


def choose(sections: Sequence[Section], only: Sequence[str] | None) -> list[Section]:
    """The sections named, in the order of the demo; all of them if none is named."""
    by_name = {section.name: section for section in sections}
    for name in only or ():
        if name not in by_name:
            near = difflib.get_close_matches(name, by_name, n=1) or sorted(by_name)
            raise ValueError(f"no section {name!r}; try {', '.join(near)} (--list shows all).")
    return [section for section in sections if not only or section.name in only]


def run(sections: Sequence[Section], output: Path, console: Console) -> list[str]:
    """Show the sections, write ``index.html``, and return the names of those that failed."""
    output.mkdir(parents=True, exist_ok=True)
    chapters, failed = [], []
    began = time.perf_counter()
    for section in sections:
        console.print(Rule(Text(section.title, style="bold")))
        console.print(section.about, style="dim", highlight=False, markup=False)
        stage = Stage(section.name, output, console)
        start = time.perf_counter()
        try:
            section.show(stage)
        except Exception:
            trace = traceback.format_exc()
            console.print(f"{section.name} failed", style="bold red", markup=False)
            console.print(trace, markup=False)
            stage.items.append(Item("text", trace, "This section failed."))
            failed.append(section.name)
        chapters.append(Chapter(section, stage.items, time.perf_counter() - start))
    page = write_page(output, chapters, time.perf_counter() - began)
    console.print(Rule())
    console.print(
        f"{len(sections) - len(failed)} of {len(sections)} sections shown; look at [bold]{escape(str(page))}[/]"
    )
    return failed

"""What a demo section writes to: the terminal and the page at once.

A section is a function of a ``Stage``. It never opens files or prints; it adds notes, tables, pictures and listings,
and the stage shows each on the terminal where that makes sense and keeps it for the page.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

__all__ = ["Item", "Section", "Stage"]


@dataclass(frozen=True)
class Section:
    """One topic of the demo: its name on the command line, place, heading, what it shows, and the function."""

    name: str
    order: int
    title: str
    about: str
    show: Callable[[Stage], None]


@dataclass(frozen=True)
class Item:
    """One thing on the page: ``kind`` is "note", "table", "picture", "code", "text" or "link"."""

    kind: str
    content: Any
    caption: str = ""


@dataclass
class Stage:
    """Where one section shows its results."""

    name: str
    output: Path
    console: Console
    items: list[Item] = field(default_factory=list)

    def note(self, text: str) -> None:
        """A sentence on what was found."""
        self.console.print(text, highlight=False, markup=False)
        self.items.append(Item("note", text))

    def table(self, caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """A table: numbers are shown to four figures, everything else as it is."""
        shown = [[_cell(value) for value in row] for row in rows]
        numeric = [all(_is_number(row[i]) for row in shown) for i in range(len(columns))]
        table = Table(title=Text(caption), title_justify="left", title_style="italic")
        for column, right in zip(columns, numeric, strict=True):
            table.add_column(Text(column), justify="right" if right else "left", overflow="fold")
        for row in shown:
            table.add_row(*map(Text, row))
        self.console.print(table)
        self.items.append(Item("table", (list(columns), shown, numeric), caption))

    def picture(self, name: str, figure: Any, caption: str) -> None:
        """Save a matplotlib figure as ``SECTION_NAME.png`` and close it."""
        import matplotlib.pyplot as plt

        path = self.output / f"{self.name}_{name}.png"
        figure.savefig(path, dpi=130, bbox_inches="tight", facecolor="white")
        plt.close(figure)
        self.console.print(f"[dim]picture[/] {escape(str(path))}", highlight=False)
        self.items.append(Item("picture", path.name, caption))

    def link(self, name: str, caption: str) -> None:
        """A page of its own in the same directory."""
        self.console.print(f"[dim]page[/] {escape(str(self.output / name))}", highlight=False)
        self.items.append(Item("link", name, caption))

    def code(self, *functions: Callable[..., Any]) -> None:
        """The source of what was run, so that the page never shows code that was not."""
        source = "\n\n".join(textwrap.dedent(inspect.getsource(function)).rstrip() for function in functions)
        self.items.append(Item("code", source))

    def text(self, listing: str, caption: str = "") -> None:
        """A listing in fixed width, such as a set of rules."""
        self.console.print(listing, highlight=False, markup=False)
        self.items.append(Item("text", listing, caption))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if hasattr(value, "dtype"):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def _is_number(cell: str) -> bool:
    try:
        float(cell.rstrip("%sx"))
    except ValueError:
        return cell in ("", "-")
    return True

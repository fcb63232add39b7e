"""One page with everything the demo showed: plain HTML, no scripts, pictures beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

import softmargin
from softmargin.cli._stage import Item, Section

__all__ = ["Chapter", "write_page"]

_STYLE = """
:root { --ink: #1f2933; --soft: #5f6b7a; --line: #e3e8ee; --paper: #ffffff; --wash: #f6f8fa; --accent: #1b6ca8; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--wash); font: 16px/1.55 system-ui, sans-serif; }
header { background: var(--ink); color: #fff; padding: 2.5rem 1.5rem; }
header > * { max-width: 68rem; margin: 0 auto; }
header h1 { font-size: 2.2rem; letter-spacing: -.02em; }
header p { color: #cbd5e1; margin-top: .4rem; }
header code { background: #ffffff1a; padding: .1em .4em; border-radius: 4px; }
nav { position: sticky; top: 0; background: var(--paper); border-bottom: 1px solid var(--line); z-index: 1; }
nav div { max-width: 68rem; margin: 0 auto; padding: .6rem 1.5rem; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; }
nav a, a { color: var(--accent); text-decoration: none; }
main { max-width: 68rem; margin: 0 auto; padding: 1rem 1.5rem 4rem; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 1.6rem 1.8rem;
  margin-top: 1.6rem; scroll-margin-top: 4rem; }
h2 { margin: 0; font-size: 1.45rem; letter-spacing: -.01em; }
.about { color: var(--soft); margin: .3rem 0 1rem; }
.time { color: var(--soft); font-size: .8rem; float: right; }
figure { margin: 1.4rem 0; }
figure img { width: 100%; height: auto; display: block; border-radius: 6px; }
figcaption, caption { color: var(--soft); font-size: .9rem; text-align: left; padding: .4rem 0; }
.scroll { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
caption { caption-side: top; }
th, td { padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
.number { text-align: right; }
pre { background: var(--wash); border: 1px solid var(--line); border-radius: 6px; padding: .9rem 1rem; overflow-x: auto;
  font: .84rem/1.5 ui-monospace, monospace; }
summary { color: var(--accent); cursor: pointer; font-size: .9rem; }
"""


@dataclass(frozen=True)
class Chapter:
    """A section with what it showed and how long it took."""

    section: Section
    items: Sequence[Item]
    seconds: float


def write_page(output: Path, chapters: Sequence[Chapter], seconds: float) -> Path:
    """Write ``index.html`` into ``output`` and return its path."""
    links = "".join(f'<a href="#{escape(c.section.name)}">{escape(c.section.title)}</a>' for c in chapters)
    body = "\n".join(_chapter(chapter) for chapter in chapters)
    path = output / "index.html"
    path.write_text(
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>softmargin demo</title><style>{_STYLE}</style></head>
<body><header><h1>softmargin</h1><p>Margin-based classification with any loss: probabilities, exact paths, label audits.
Version {escape(softmargin.__version__)}, made by <code>softmargin demo</code> in {seconds:.0f} s.</p></header>
<nav><div>{links}</div></nav>
<main>
{body}
</main></body></html>
""",
        encoding="utf-8",
    )
    return path


def _chapter(chapter: Chapter) -> str:
    section = chapter.section
    items = "\n".join(_SHOWN[item.kind](item) for item in chapter.items)
    return (
        f'<section id="{escape(section.name)}"><span class="time">{chapter.seconds:.1f} s</span>'
        f'<h2>{escape(section.title)}</h2><p class="about">{escape(section.about)}</p>\n{items}</section>'
    )


def _note(item: Item) -> str:
    return f"<p>{escape(item.content)}</p>"


def _table(item: Item) -> str:
    columns, rows, numeric = item.content
    kind = [' class="number"' if right else "" for right in numeric]
    head = "".join(f"<th{k}>{escape(c)}</th>" for k, c in zip(kind, columns, strict=True))
    lines = ("".join(f"<td{k}>{escape(v)}</td>" for k, v in zip(kind, row, strict=True)) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f'<div class="scroll"><table><caption>{escape(item.caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _picture(item: Item) -> str:
    name, caption = escape(quote(item.content)), escape(item.caption)
    return (
        f'<figure><a href="{name}"><img src="{name}" alt="{caption}" loading="lazy"></a>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _code(item: Item) -> str:
    return f"<details><summary>the code that made this</summary><pre>{escape(item.content)}</pre></details>"


def _text(item: Item) -> str:
    return f"<figure><pre>{escape(item.content)}</pre><figcaption>{escape(item.caption)}</figcaption></figure>"


def _link(item: Item) -> str:
    return f'<p><a href="{escape(quote(item.content))}">{escape(item.caption)}</a></p>'


_SHOWN = {"link": _link, "note": _note, "table": _table, "picture": _picture, "code": _code, "text": _text}

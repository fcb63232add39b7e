"""What pages are made of before they are read: pictures of the benchmarks, and the papers' results where they were run.

``benchmarks/RESULTS.md`` states, below the heading of each contest, ``ours / best peer (NAME): RATIO`` of times. Each
topic becomes one picture: a dot per contest on a logarithmic axis, left of one where we are faster. Written to
``docs/generated``, which is not kept.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MADE = HERE / "generated"
_RATIO = re.compile(r"\*\*ours / best peer \(([^)]*(?:\([^)]*\))?[^)]*)\): ([\d.]+)\*\*")


def contests(text: str) -> dict[str, list[tuple[str, str, float]]]:
    """For every topic its contests: title, best peer, ratio of our time to the peer's."""
    found: dict[str, list[tuple[str, str, float]]] = {}
    topic = title = ""
    for line in text.splitlines():
        if line.startswith("## "):
            topic = line[3:].strip()
        elif line.startswith("### "):
            title = line[4:].strip()
        elif match := _RATIO.search(line):
            found.setdefault(topic, []).append((title, match.group(1), float(match.group(2))))
    return found


def draw(topic: str, rows: list[tuple[str, str, float]], path: Path) -> None:
    """One picture of a topic."""
    import matplotlib

    matplotlib.use("Agg")
    from softmargin.plots import INK, SOFT, class_colour, clean, pyplot

    figure, ax = pyplot().subplots(figsize=(9, 0.42 * len(rows) + 1.1), layout="constrained")
    places = range(len(rows))[::-1]
    for place, (_, peer, ratio) in zip(places, rows, strict=True):
        ax.plot([1, ratio], [place, place], color=SOFT, lw=1, zorder=1)
        ax.plot(ratio, place, "o", color=class_colour(0 if ratio <= 1 else 1), ms=7, zorder=2)
        ax.annotate(
            f"{ratio:g} of {peer}", (max(ratio, 1), place), (8, 0), textcoords="offset points", va="center", size=8
        )
    clean(ax).axvline(1, color=INK, lw=1)
    ratios = [ratio for *_, ratio in rows]
    low, high = min(0.4, 0.6 * min(ratios)), max(1.0, *ratios)
    room = (high / low) ** 0.6  # for the words beside the last dot, in whatever decades the axis has
    ax.set(xscale="log", xlim=(low, high * max(6.0, room)), xlabel="our time / the best peer's")
    ticks = [tick for tick in (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30) if ax.get_xlim()[0] <= tick <= ax.get_xlim()[1]]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.set_yticks(list(places), [title for title, *_ in rows], fontsize=8.5)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    pyplot().close(figure)


def write_benchmarks() -> None:
    """The pictures and the page that shows them above the tables."""
    text = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    lines = []
    for topic, rows in contests(text).items():
        draw(topic, rows, MADE / f"benchmark_{topic}.png")
        lines += [f"**{topic}**", "", f"![Times of the topic {topic}](benchmark_{topic}.png)", ""]
    (MADE / "benchmark_pictures.md").write_text("\n".join(lines), encoding="utf-8")


def write_papers() -> None:
    """The results of ``softmargin papers``, or that they were not run here."""
    results = ROOT / "papers" / "RESULTS.md"
    if not results.is_file():
        text = "This copy was built without them: `papers/RESULTS.md` is not in the repository it was built from.\n"
    else:
        text = results.read_text(encoding="utf-8").partition("\n")[2].lstrip()  # the page has its title
        text = re.sub(r"!\[[^\]]*\]\((?!http)[^)]*\)", "", text)  # pictures are on the page with figures
        if (results.parent / "index.html").is_file():
            text = '<a href="papers/index.html">The page with figures</a>\n\n' + text
    (MADE / "papers_results.md").write_text(text, encoding="utf-8")


def write_governance() -> None:
    """The repository's page, its links turned towards the pages here."""
    text = (ROOT / "GOVERNANCE.md").read_text(encoding="utf-8")
    text = text.replace("](CONTRIBUTING.md)", "](../contributing.md)").replace("](docs/", "](../")
    (MADE / "governance.md").write_text(text, encoding="utf-8")


def write(_: Any) -> None:
    """Everything, before Sphinx reads the sources."""
    MADE.mkdir(exist_ok=True)
    write_benchmarks()
    write_papers()
    write_governance()


def drop_last_blank(_: Any, __: str, source: list[str]) -> None:
    """Doctests end with a blank line, without which the fence would be expected output; readers need not see it."""
    source[0] = re.sub(r"\n\n```(?=\n|$)", "\n```", source[0])


def copy_papers(app: Any, error: Exception | None) -> None:
    """The papers' page with figures, beside the built pages."""
    source = ROOT / "papers"
    if error is None and app.builder.format == "html" and (source / "index.html").is_file():
        shutil.copytree(
            source, Path(app.outdir) / "papers", dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.jsonl")
        )


def setup(app: Any) -> dict[str, bool]:
    """Sphinx's door."""
    app.connect("builder-inited", write, priority=100)
    app.connect("source-read", drop_last_blank)
    app.connect("build-finished", copy_papers)
    return {"parallel_read_safe": True}

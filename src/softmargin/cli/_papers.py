"""``softmargin papers``: run tables and figures of the papers, with a bar, and say what came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from softmargin.papers import (
    VERDICTS,
    Exhibit,
    Job,
    Shown,
    Store,
    Verdict,
    choose,
    jobs_of,
    run_jobs,
    show,
    tally,
    write_markdown,
    write_page,
)

__all__ = ["PapersOptions", "list_exhibits", "run_papers"]

_STYLES = {"agrees": "green", "explained": "yellow", "differs": "red", "cannot be run": "dim", "not run": "dim"}


@dataclass(frozen=True)
class PapersOptions:
    """What to run, how often, with how many processes, and where to keep it."""

    names: Sequence[str]
    replications: int | None
    jobs: int
    resume: bool
    output: Path


def list_exhibits(console: Console) -> None:
    """Names and titles of all tables and figures."""
    for exhibit in choose(()):
        line = Text(f"{exhibit.name:<22} ", style="bold")
        console.print(line.append(exhibit.title, style="not bold"), highlight=False)


def run_papers(options: PapersOptions, console: Console) -> list[Shown]:
    """Run what is missing, print every cell and write RESULTS.md and index.html."""
    chosen = choose(options.names)
    store = Store.open(options.output / "replications.jsonl")
    experiments = list({one.experiment.name: one.experiment for one in chosen if one.experiment}.values())
    if not options.resume:
        store.forget(experiment.name for experiment in experiments)
    try:
        _run(jobs_of(experiments, options.replications, store), store, options.jobs, console)
    except KeyboardInterrupt:
        console.print("interrupted; the replications done are kept, --resume goes on with the rest", style="yellow")
    shown = show(chosen, store, options.output)
    for one in shown:
        if one.verdicts:
            console.print(_table(one))
    write_markdown(options.output / "RESULTS.md", shown)
    write_page(options.output / "index.html", shown)
    _summarise(chosen, shown, options.output, console)
    return shown


def _run(jobs: Sequence[Job], store: Store, n_jobs: int, console: Console) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("replications", total=len(jobs))
        run_jobs(
            jobs,
            store,
            n_jobs=n_jobs,
            progress=lambda job: bar.update(task, advance=1, description=f"{job.experiment.name}, {job.part.name}"),
        )


def _table(one: Shown) -> Table:
    table = Table(title=Text(one.exhibit.title), title_justify="left", title_style="italic")
    for name in ("part", "row", "published", "ours", "verdict"):
        table.add_column(name, overflow="fold")
    for cell in one.verdicts:
        table.add_row(cell.part, cell.row, *_numbers(cell), Text(cell.verdict, style=_STYLES[cell.verdict]))
    return table


def _numbers(cell: Verdict) -> tuple[str, str]:
    digits, error = cell.published.digits, cell.published.error
    published = f"{cell.published.value:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")
    return published, f"{cell.mean:.{digits}f} ± {cell.error:.{digits}f}" if cell.replications else "-"


def _summarise(chosen: Sequence[Exhibit], shown: Sequence[Shown], output: Path, console: Console) -> None:
    counts = tally([cell for one in shown for cell in one.verdicts])
    said = ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name])
    console.print(f"{len(chosen)} tables and figures; cells: {said or 'none'}", highlight=False)
    for why in dict.fromkeys(c.why for one in shown for c in one.verdicts if c.verdict == "cannot be run"):
        console.print(f"cannot be run: {why}", style="dim", markup=False)
    console.print(f"written to {output}: index.html, RESULTS.md, replications.jsonl", markup=False)

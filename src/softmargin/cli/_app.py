"""The commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import softmargin

__all__ = ["app"]

app = typer.Typer(help=str(softmargin.__doc__).splitlines()[0], no_args_is_help=True, add_completion=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"softmargin {softmargin.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Margin-based classification with any loss."""


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory for pictures and the page.")] = Path("demo"),
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Run this section only; may be given several times.")
    ] = None,
    names: Annotated[bool, typer.Option("--list", help="List the sections and stop.")] = False,
) -> None:
    """Run every section: print its tables, write its pictures and one page (index.html) that shows them all."""
    import matplotlib

    matplotlib.use("Agg")
    from softmargin.cli._run import choose, run
    from softmargin.cli.demo import sections

    console = Console()
    if not console.is_terminal:
        console = Console(width=110)
    if names:
        for section in sections():
            console.print(f"[bold]{section.name:<14}[/] {section.title}")
        return
    try:
        chosen = choose(sections(), only)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--only") from error
    failed = run(chosen, output, console)
    if failed:
        raise typer.Exit(1)

"""The commands and their options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

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


@contextmanager
def _in_one_line() -> Iterator[None]:
    """Whatever was wrong with the input is one line on standard error, and exit code 2."""
    from softmargin.cli._read import BadInput

    try:
        yield
    except (BadInput, ValueError) as error:
        said = str(error).splitlines() or [type(error).__name__]
        typer.echo(f"softmargin: {said[0]}", err=True)
        raise typer.Exit(2) from error
    except OSError as error:  # a folder that is a file, no permission, a full disk
        typer.echo(f"softmargin: {error.filename or 'a file'}: {error.strerror or error}.", err=True)
        raise typer.Exit(2) from error


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=100)


@app.command()
def fit(
    data: Annotated[str, typer.Argument(help="CSV, Parquet, Arrow or JSON-lines file; a folder or a pattern of them.")],
    target: Annotated[str, typer.Option("--target", help="The column to predict.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory for model, report and predictions.")] = Path(
        "softmargin-fit"
    ),
    model: Annotated[str, typer.Option(help="auto, or a classifier such as RuleBoostClassifier.")] = "auto",
    effort: Annotated[str, typer.Option(help="fast, balanced or thorough.")] = "balanced",
    time_limit: Annotated[float | None, typer.Option(help="Seconds after which no further machine is begun.")] = None,
    test: Annotated[str | None, typer.Option(help="A file of held-out rows, instead of a random part.")] = None,
    test_size: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of the rows to hold out.")] = 0.2,
    weight: Annotated[str | None, typer.Option(help="A column of sample weights.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="A column that names rows: kept, never learnt from.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out; may be given several times.")] = None,
    positive: Annotated[str | None, typer.Option(help="A value of the target: this one against all others.")] = None,
    decisions: Annotated[
        str | None, typer.Option(help="A CSV of decisions about labels, as a report's page downloads it.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the split, landmarks and folds.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers of the report as JSON.")] = False,
) -> None:
    """Fit the recommended classifier to a table and report what it is worth.

    Example: softmargin fit titanic.csv --target survived -o titanic
    """
    from softmargin import report
    from softmargin.cli._fit import FitOptions, fit_file

    console = _console()
    options = FitOptions(
        data,
        target,
        output,
        effort=effort,
        time_limit=time_limit,
        test=test,
        test_size=test_size,
        weight=weight,
        id=id,
        drop=tuple(drop or ()),
        seed=seed,
        model=model,
        positive=positive,
        decisions=decisions,
    )
    with _in_one_line():
        numbers = fit_file(options, lambda line: None if as_json else console.print(line, style="dim", markup=False))
    if as_json:
        typer.echo(report.to_json(numbers))
        return
    _print_scores(console, numbers)
    console.print(
        f"written to {output}: model.softmargin, report.html, report.json, predictions.parquet, suspects.csv",
        markup=False,
    )


def _print_scores(console: Console, numbers: dict[str, Any]) -> None:
    from rich.table import Table as Shown

    shown = Shown("held-out rows", "log loss", "error", "AUC")
    for name, scores in numbers["scores"].items():
        cells = (
            f"{scores[key]['estimate']:.3f} ({scores[key]['low']:.3f} - {scores[key]['high']:.3f})"
            for key in ("log_loss", "error", "auc")
        )
        shown.add_row(name, *cells)
    console.print(shown)


@app.command()
def predict(
    model: Annotated[str, typer.Argument(help="A file written by 'softmargin fit' or softmargin.save.")],
    data: Annotated[str, typer.Argument(help="The rows: a file, a folder or a pattern.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV, Parquet or JSON lines, by its ending.")] = Path(
        "predictions.csv"
    ),
    id: Annotated[str | None, typer.Option("--id", help="A column to copy to the output.")] = None,
) -> None:
    """Write label and class probabilities of every row.

    Example: softmargin predict titanic/model.softmargin new.csv -o predictions.csv
    """
    from softmargin.cli._predict import predict_file

    with _in_one_line():
        rows = predict_file(model, data, output, id)
    typer.echo(f"{rows} rows written to {output}")


@app.command()
def audit(
    data: Annotated[str, typer.Argument(help="The rows: a file, a folder or a pattern.")],
    target: Annotated[str, typer.Option("--target", help="The column of labels under suspicion.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory for suspects.csv and audit.json.")] = Path(
        "softmargin-audit"
    ),
    effort: Annotated[str, typer.Option(help="fast, balanced or thorough.")] = "fast",
    weight: Annotated[str | None, typer.Option(help="A column of sample weights.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="A column that names rows: kept, never learnt from.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out; may be given several times.")] = None,
    seed: Annotated[int, typer.Option(help="Of folds and landmarks.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Find labels that are probably wrong: how many, between which classes, and which rows to look at first.

    Example: softmargin audit titanic.csv --target survived -o audit
    """
    import json

    from rich.table import Table as Shown
    from rich.text import Text

    from softmargin.cli._audit import audit_file

    console = _console()
    words = {"weight": weight, "id": id, "drop": tuple(drop or ()), "seed": seed, "effort": effort}
    with _in_one_line():
        numbers = audit_file(
            data,
            target,
            output,
            words,
            lambda line: None if as_json else console.print(line, style="dim", markup=False),
        )
    if as_json:
        typer.echo(json.dumps(numbers, default=str))
        return
    errors = numbers["errors"]
    console.print(
        f"about {errors['estimate']:.0f} ({errors['low']:.0f} - {errors['high']:.0f}) of {numbers['rows']} labels are "
        f"wrong; {numbers['suspects']} rows to look at"
    )
    shown = Shown("row", "given", "suggested", "trust in the label")
    for line in numbers["first"]:
        shown.add_row(str(line["row"]), Text(str(line["given"])), Text(str(line["suggested"])), f"{line['trust']:.3f}")
    console.print(shown)
    console.print(
        f"written to {output}: suspects.csv (fill in decision, then fit --decisions), audit.json", markup=False
    )


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="A directory written by 'softmargin fit'.")],
    second: Annotated[Path, typer.Argument(help="Another one, of the same target.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Test whether one fit is better than another on the rows that both held out.

    Example: softmargin compare titanic-fast titanic-thorough
    """
    import json

    from rich.markup import escape
    from rich.table import Table as Shown

    from softmargin.cli._compare import compare_fits

    with _in_one_line():
        numbers = compare_fits(first, second)
    if as_json:
        typer.echo(json.dumps(numbers))
        return
    shown = Shown(f"{numbers['rows']} held-out rows", escape(str(first)), escape(str(second)), "difference", "p-value")
    for name in ("log_loss", "error"):
        one = numbers[name]
        difference = f"{one['difference']:+.4f} ({one['low']:+.4f} - {one['high']:+.4f})"
        p_value = one.get("p_value_exact", one["p_value"])
        shown.add_row(
            name.replace("_", " "), f"{one['first']:.4f}", f"{one['second']:.4f}", difference, f"{p_value:.3g}"
        )
    _console().print(shown)


@app.command()
def export(
    model: Annotated[str, typer.Argument(help="A file written by 'softmargin fit' or softmargin.save.")],
    to: Annotated[str, typer.Option("--to", help="onnx, sql or json.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    table: Annotated[str, typer.Option(help="sql: the table of rows.")] = "data",
    dialect: Annotated[str, typer.Option(help="sql: ansi, bigquery, duckdb, postgres, spark, sqlite ...")] = "ansi",
    key: Annotated[list[str] | None, typer.Option(help="sql: a column to copy; may be given several times.")] = None,
    dtype: Annotated[str, typer.Option(help="onnx: float64 or float32.")] = "float64",
) -> None:
    """Write a saved model for other systems: ONNX for runtimes, SQL for databases, JSON to read.

    Example: softmargin export titanic/model.softmargin --to onnx -o titanic.onnx
    """
    from softmargin.cli._predict import export_model

    with _in_one_line():
        export_model(model, to, output, {"table": table, "dialect": dialect, "key": key, "dtype": dtype})
    typer.echo(f"written to {output}")


@app.command()
def explain(
    model: Annotated[str, typer.Argument(help="A file written by 'softmargin fit'.")],
    data: Annotated[str, typer.Argument(help="The rows; others of them are what is typical.")],
    row: Annotated[int, typer.Option(help="Which row, counted from 0.")] = 0,
) -> None:
    """Say which columns, or which rules, moved the probability of one row, and how far.

    Example: softmargin explain titanic/model.softmargin titanic.csv --row 7
    """
    from rich.table import Table as Shown
    from rich.text import Text

    from softmargin.cli._predict import explain_row

    with _in_one_line():
        told = explain_row(model, data, row)
    console = _console()
    console.print(f"row {row}: {told.attrs['label']} with probability {told.attrs['probability']:.3f}", markup=False)
    shown = Shown(*(str(name) for name in told.columns))
    for line in told.head(15).itertuples(index=False):
        *cells, share = line
        shown.add_row(*(Text(str(cell)[:80]) for cell in cells), f"{share:+.3f}")
    console.print(shown)


@app.command(name="report")
def report_(
    model: Annotated[str, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="Rows that were not used to fit, with their labels.")],
    target: Annotated[str, typer.Option("--target", help="The column of labels.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
) -> None:
    """Write a report about a saved model on labelled rows.

    Example: softmargin report titanic/model.softmargin late.csv --target survived -o late.html
    """
    from softmargin.cli._predict import report_file

    with _in_one_line():
        report_file(model, data, target, output)
    typer.echo(f"written to {output}")


@app.command()
def papers(
    names: Annotated[
        list[str] | None, typer.Argument(help="Tables and figures, or beginnings of their names; all if none is given.")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the tables and figures and stop.")] = False,
    replications: Annotated[
        int | None, typer.Option(min=1, help="Replications of each; as many as the paper had if not given.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1 is one per core.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the replications kept in the output.")] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory for results.")] = Path("papers"),
) -> None:
    """Run tables and figures of the papers again and set published numbers beside ours.

    Example: softmargin papers thesis-table-2.1 --replications 10 -o papers
    """
    import matplotlib

    matplotlib.use("Agg")
    from softmargin.cli._papers import PapersOptions, list_exhibits, run_papers

    if listing:
        list_exhibits(_console())
        return
    with _in_one_line():
        run_papers(PapersOptions(names or (), replications, jobs, resume, output), _console())

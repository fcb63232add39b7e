"""``to_sql``: a fitted model as one SELECT over a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softmargin._constraints import NONE, TEXT, check_each, several
from softmargin.expansions import dialect_of
from softmargin.export._formula import NotExportable
from softmargin.export._inputs import columns_read, translated
from softmargin.export._models import Answer
from softmargin.export._sql import QueryWriter

__all__ = ["to_sql"]

_NEXT = ",\n  "
_ARGUMENTS = {
    "table": TEXT,
    "key": NONE | TEXT | several("a list of column names", TEXT.allows, least=0),
}


def to_sql(model: Any, table: str, *, dialect: str = "ansi", key: str | Sequence[str] | None = None) -> str:
    """A fitted classifier as an SQL query: score, probability of every class and label of each row of ``table``.

    Linear models, rules, trees, calibrated and mixed ones make short queries; a kernel makes one of a few hundred
    characters per support row. A NULL means what a missing value meant at fit; a model that takes none answers NULL.

    Parameters
    ----------
    model : classifier or pipeline
        A fitted classifier of this library, a calibrator, or a pipeline of scikit-learn's usual transformers
        (scalers, imputers, encoders, projections) that ends in one.
    table : str
        The name of the table; a dot in it is part of the name.
    dialect : {"ansi", "bigquery", "duckdb", "mysql", "postgres", "snowflake", "spark", "sqlite", "sqlserver"}
        How names, strings, truth values and types are written.
    key : str or list of str, optional
        Columns of the table to copy to the answer.

    Returns
    -------
    str
        A query with columns ``score`` (``score_LABEL`` for more than two classes), ``probability_LABEL`` where the
        model has probabilities, and ``label``.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin import MarginClassifier, export
    >>> model = MarginClassifier(loss="hinge", kernel=None).fit([[0.0], [1.0]], ["no", "yes"])
    >>> print(export.to_sql(model, "cases", key="id"))
    WITH
    t0 AS (SELECT "id" AS k0, CAST("x0" AS DOUBLE PRECISION) AS x0 FROM "cases"),
    ...
    """
    check_each(_ARGUMENTS, table=table, key=key)
    dialect_of(dialect)
    answer = translated(model, columns_read(model))
    outputs = [one for one in (answer.label, answer.probabilities, answer.scores) if one is not None]
    keys = [key] if isinstance(key, str) else list(() if key is None else key)
    return _Query(QueryWriter(dialect, outputs)).text(answer, table, keys)


class _Query:
    """Puts the stages of a writer together."""

    def __init__(self, writer: QueryWriter) -> None:
        self.writer, self.dialect = writer, writer.dialect

    def text(self, answer: Answer, table: str, keys: list[str]) -> str:
        scores = self.writer.names(answer.scores)
        code = self.writer.names(answer.label)[0]
        P = [] if answer.probabilities is None else self.writer.write(answer.probabilities)
        dated = answer.classes.dtype.kind in "mM"
        classes = (answer.classes.astype(str) if dated else answer.classes).tolist()
        labels = [str(label) for label in classes]
        names = ["score"] if len(scores) == 1 else [f"score_{label}" for label in labels]
        names += [f"probability_{label}" for label in labels] if P else []
        clash = [name for name in keys if name in (*names, "label")]
        if clash:
            raise ValueError(f"key={clash[0]!r} is also a column of the answer; rename it in a view of the table.")
        known = self.writer.known(scores)
        guarded = [f"CASE WHEN {known} THEN {one} END" for one in P]
        cases = [
            f"WHEN {code} = {self.dialect.value(float(place))} THEN {self.dialect.value(label)}"
            for place, label in enumerate(classes)
        ]
        label = f"CASE WHEN NOT ({known}) THEN NULL {' '.join(cases)} END"
        columns = [f"k{place} AS {self.dialect.name(name)}" for place, name in enumerate(keys)]
        columns += [f"{one} AS {self.dialect.name(name)}" for one, name in zip([*scores, *guarded], names, strict=True)]
        columns.append(f"{label} AS {self.dialect.name('label')}")
        stages = self._stages(table, keys, [*scores, *guarded, label])
        last = f"t{len(stages) - 1}"
        return "WITH\n" + ",\n".join(stages) + "\nSELECT\n  " + ",\n  ".join(columns) + f"\nFROM {last}"

    def _stages(self, table: str, keys: list[str], answers: list[str]) -> list[str]:
        try:
            self.dialect.check_distinct(self.writer.inputs)
        except ValueError as error:
            raise NotExportable(str(error)) from None
        reading, copied = self.writer.reading, [f"k{place}" for place in range(len(keys))]
        first = [f"{reading.name_in(table, name)} AS {alias}" for name, alias in zip(keys, copied, strict=True)]
        first += [
            f"{reading.column(table, name, kind)} AS {alias}" for name, (alias, kind) in self.writer.inputs.items()
        ]
        first = first or ["1 AS one"]  # a model that reads no column answers every row all the same
        begin = self.dialect.stage
        stages = [f"t0 {begin} (SELECT {', '.join(first)} FROM {self.dialect.name(table)})"]
        for number, (columns, kept) in enumerate(zip(self.writer.stages, self.writer.carried(answers), strict=True)):
            made = [", ".join([*copied, *kept])] if copied or kept else []
            made += [f"{expression} AS {name}" for name, expression in columns]
            stages.append(f"t{number + 1} {begin} (SELECT {_NEXT.join(made)}\n  FROM t{number})")
        return stages

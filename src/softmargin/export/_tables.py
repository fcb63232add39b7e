"""``AutoClassifier`` as formulas: what its encoder makes of a table, and the mixture of its machines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from softmargin.expansions import EQUAL, UNEQUAL, RuleScore, TreeScore
from softmargin.export._column_levels import kind_of_levels
from softmargin.export._encoders import one_hot
from softmargin.export._formula import (
    Affine,
    ArgMax,
    Filled,
    Formula,
    NotExportable,
    Piecewise,
    concat,
    constant,
    kind_of,
)
from softmargin.export._functions import is_missing, larger, sigmoid, smaller, where
from softmargin.export._models import Answer, answer, translates
from softmargin.export._probabilities import couple, log_odds_of, sharpened, two_columns
from softmargin.export._rows import Rows, as_number
from softmargin.export._scores import score, table_score
from softmargin.export._transformers import splines
from softmargin.probability import cost_matrix

__all__ = ["category_kind", "encoded"]

_FAR = 20.0


@translates("AutoClassifier")
def _auto(model: Any, rows: Rows) -> Answer:
    mixed: Formula | None = None
    forms: dict[str, Formula] = {}
    for member, weight in zip(model._members, model._weights, strict=True):
        if weight > 0:
            part = float(weight) * _member(model, member, rows, forms)
            mixed = part if mixed is None else mixed + part
    assert mixed is not None
    P = sharpened(mixed, float(model._sharpness))
    scores = log_odds_of(P)
    found = Answer.by_scores(model.classes_, scores, two_columns(P[[1]], scores) if P.width == 2 else P)
    if model.costs is None:
        return found
    assert found.probabilities is not None
    expected = Affine(found.probabilities, cost_matrix(model.costs, model.classes_))
    return replace(found, label=ArgMax(-expected))


def _member(model: Any, member: Any, rows: Rows, forms: dict[str, Formula]) -> Formula:
    """The class probabilities of one machine."""
    if member.form == "columns":
        _refuse_texts(model.encoder_)
        kept = rows.take(sorted(model.encoder_._of("number") + model.encoder_._of("category")))
        if hasattr(member.predict, "model"):
            found = answer(member.predict.model, kept).probabilities
            assert found is not None
            return found
        f = table_score(member.predict.score, kept) + constant(member.predict.intercept)
    else:
        if member.form not in forms:
            forms[member.form] = encoded(model.encoder_, rows, member.form)
        f = score(member.predict.score, forms[member.form]) + constant(member.predict.intercept)
    return two_columns(sigmoid(f), f) if f.width == 1 else couple(sigmoid(f), f)


def encoded(encoder: Any, rows: Rows, form: str) -> Formula:
    """The features that an encoder makes of a table, in one of its forms."""
    if not hasattr(encoder, "texts") or not hasattr(encoder, "medians"):
        return _sparse(encoder, rows, form)
    _refuse_texts(encoder)
    numbers = encoder._of("number")
    blocks: list[Formula] = []
    if numbers:
        given = rows.take(numbers).matrix
        filled = where(is_missing(given), constant(encoder.medians), given)
        blocks.append(_numeric(encoder, filled, form))
        if len(encoder.gappy):
            blocks.append(as_number(is_missing(given[encoder.gappy])))
    if encoder.onehot is not None:
        columns = [_read(rows.columns[j]) for j in encoder._of("category")]
        blocks.append(as_number(one_hot(encoder.onehot, columns, _level)))
    return concat(blocks)


def _read(column: Formula) -> Formula:
    """A category as the encoder reads it: a missing one is the empty text."""
    return Filled(column, "") if kind_of(column) == "text" else column


def _level(kind: str, text: str) -> Any:
    """A level, which the encoder has as a text, as what it was in a column of some kind."""
    if kind == "text":
        return text
    if text == "":
        return None
    return text == "True" if kind == "boolean" else float(text)


def _refuse_texts(encoder: Any) -> None:
    if encoder.texts:
        name = encoder.names[encoder.texts[0][0]]
        raise NotExportable(
            f"Column {name!r} was read as text, whose words no formula splits; use softmargin.save, or fit without it."
        )


def _numeric(encoder: Any, filled: Formula, form: str) -> Formula:
    if form in ("plain", "words"):
        scaled = (filled - constant(encoder.means)) / constant(encoder.scales)
        return smaller(larger(scaled, -_FAR), _FAR)
    scores = concat([_interpolated(rank, filled[[j]]) for j, rank in enumerate(encoder.ranks)])
    if form == "ranks" or encoder.splines is None:
        return scores
    return concat([scores, splines(encoder.splines, scores)])


def _interpolated(rank: Any, x: Formula) -> Formula:
    """Linear between the knots, constant beyond."""
    at, value = rank.values, rank.scores
    if len(at) == 1:
        return where(is_missing(x), np.nan, float(value[0]))
    slopes = np.diff(value) / np.diff(at)
    coefficients = np.column_stack(
        [np.concatenate([value[:1], value[:-1], value[-1:]]), np.concatenate([[0.0], slopes, [0.0]])]
    )
    centres = np.concatenate([at[:1], at[:-1], at[-1:]])
    return Piecewise(x, at, centres, np.ones(len(centres)), coefficients[:, :, None])


def _sparse(encoder: Any, rows: Rows, form: str) -> Formula:
    scaled = rows.matrix / constant(encoder.scales)
    if form == "words" or encoder.svd is None:
        return scaled
    return Affine(scaled, encoder.svd.components_.T)


def category_kind(model: Any, j: int, place: int) -> str:
    """Whether the categories of column ``j`` are texts, truth values or numbers.

    The encoder has all of them as texts; trees and rules know what they were.
    """
    encoder = model.encoder_
    own = sorted(encoder._of("number") + encoder._of("category")).index(j)
    listed = [value for member in model._members for value in _values(member.predict, own)]
    if listed:
        return kind_of_levels(listed)
    levels = {str(level) for level in encoder.onehot.categories_[place]} - {""}
    return "boolean" if levels and levels <= {"True", "False"} else "text"


def _values(predict: Any, j: int) -> list[Any]:
    """The values that trees or rules compare a column with."""
    score = getattr(predict, "score", None) or getattr(getattr(predict, "model", None), "_score", None)
    if isinstance(score, TreeScore):
        return list(score.categories.get(j, ((), False))[0])
    if isinstance(score, RuleScore):
        literals = [literal for rule in score.rules for literal in rule.literals]
        return [one.value for one in literals if one.feature == j and one.op in (EQUAL, UNEQUAL)]
    return []
